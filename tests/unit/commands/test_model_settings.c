/* Times and peaks as people write them. */
#include "commands/attribution_options.h"
#include "pipeline/model_settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void times_have_units(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {{"1.23s", 1230000000},
                 {"850ms", 850000000},
                 {"1.5", 1500000000},
                 {"7us", 7000},
                 {"2min", 120000000000}};

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        int64_t ns = 0;

        assert_true(parse_step_time(times[i].text, &ns));
        assert_int_equal(ns, times[i].ns);
    }
}

static void other_texts_are_no_times(void **state)
{
    static const char *const texts[] = {"",    "s",   "0",    "-1s", "1h",
                                        "1 s", "nan", "1e30", "inf", "1s2"};
    int64_t ns = 77;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(parse_step_time(texts[i], &ns));
    assert_int_equal(ns, 77);
}

static void peaks_are_taken_in_tera_and_plain(void **state)
{
    struct peak_settings peaks = {.peak_of_all = 0.0};

    assert_true(parse_peak("989.5", &peaks));
    assert_true(peaks.peak_of_all == 989.5e12);
    peaks.peak_of_all = 0.0;
    assert_true(parse_peak("989.5e12", &peaks));
    assert_true(peaks.peak_of_all > 989.4999e12 && peaks.peak_of_all < 989.5001e12);
    assert_true(parse_peak("1979e12:fp8", &peaks));
    assert_true(peaks.peaks[PEAK_FP8] > 1978.9e12 && peaks.peaks[PEAK_FP8] < 1979.1e12);
    assert_false(parse_peak("5e7", &peaks));
    assert_false(parse_peak("1e30", &peaks));
    assert_false(parse_peak("-3e12", &peaks));
}

static void options_of_a_model_are_named(void **state)
{
    struct model_settings settings = {.config = "config.json"};

    assert_null(option_of_model(&settings));
    settings.zero = 1;
    assert_string_equal(option_of_model(&settings), "--zero");
    settings.peaks.peaks[PEAK_FP8] = 1e12;
    settings.zero = 0;
    assert_string_equal(option_of_model(&settings), "--peak");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(other_texts_are_no_times),
        cmocka_unit_test(peaks_are_taken_in_tera_and_plain),
        cmocka_unit_test(options_of_a_model_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
