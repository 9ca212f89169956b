/* Numbers as text. */
#include "base/text/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void times_choose_their_unit(void **state)
{
    assert_string_equal(format_time(0).text, "0 µs");
    assert_string_equal(format_time(1).text, "0.001 µs");
    assert_string_equal(format_time(999999).text, "999.999 µs");
    assert_string_equal(format_time(226000).text, "226 µs");
    assert_string_equal(format_time(1000000).text, "1.000 ms");
    assert_string_equal(format_time(1234567).text, "1.235 ms");
    assert_string_equal(format_time(999999499).text, "999.999 ms");
    assert_string_equal(format_time(1500000000).text, "1.500 s");
    assert_string_equal(format_time(-1234567).text, "-1.235 ms");
    assert_string_equal(format_time(INT64_MAX).text, "2,562,047.788 h");
    assert_string_equal(format_time(INT64_MIN).text, "-2,562,047.788 h");
}

static void durations_are_read_by_the_clock(void **state)
{
    const int64_t second = 1000000000;

    assert_string_equal(format_duration(50000000).text, "50.0 ms");
    assert_string_equal(format_duration(119 * second).text, "119 s");
    assert_string_equal(format_duration(120 * second - 1).text, "2 min 0 s");
    assert_string_equal(format_duration(765 * second).text, "12 min 45 s");
    assert_string_equal(format_duration(7199 * second).text, "119 min 59 s");
    assert_string_equal(format_duration(13560 * second).text, "3 h 46 min");
    assert_string_equal(format_duration(172800 * second).text, "2 days 0 h");
    assert_true(strlen(format_duration(INT64_MAX).text) > 0);
}

static void a_column_of_times_shares_a_unit(void **state)
{
    assert_string_equal(time_scale(9999999).unit, "µs");
    assert_string_equal(time_scale(10000000).unit, "ms");
    assert_string_equal(time_scale(9999999999).unit, "ms");
    assert_string_equal(time_scale(10000000000).unit, "s");
    assert_string_equal(time_scale(9999999999999).unit, "s");
    assert_string_equal(time_scale(10000000000000).unit, "h");
    assert_string_equal(time_scale(INT64_MIN).unit, "h");
    assert_string_equal(format_time(INT64_C(64358123456789)).text, "17.877 h");
    assert_string_equal(format_time(INT64_C(9999123456789)).text, "9,999.123 s");
    assert_string_equal(format_scaled_time(1, time_scale(10000000)).text, "0.000");
    assert_string_equal(format_scaled_time(500, time_scale(10000000)).text, "0.001");
    assert_string_equal(format_scaled_time(-400, time_scale(10000000)).text, "0.000");
    assert_string_equal(format_scaled_time(1499, (struct unit_scale){"µs", 1e3, 0}).text, "1");
    assert_string_equal(format_scaled_time(1500, (struct unit_scale){"µs", 1e3, 0}).text, "2");
    assert_string_equal(format_scaled_time(12345678901, time_scale(12345678901)).text, "12.346");
}

static void counts_have_groups(void **state)
{
    assert_string_equal(format_count(0).text, "0");
    assert_string_equal(format_count(999).text, "999");
    assert_string_equal(format_count(1000).text, "1,000");
    assert_string_equal(format_count(-1234567).text, "-1,234,567");
    assert_string_equal(format_count(INT64_MIN).text, "-9,223,372,036,854,775,808");
}

static void bytes_are_binary_and_rates_decimal(void **state)
{
    assert_string_equal(format_bytes(0).text, "0 B");
    assert_string_equal(format_bytes(1023).text, "1,023 B");
    assert_string_equal(format_bytes(1024).text, "1.0 KiB");
    assert_string_equal(format_bytes(1572864).text, "1.5 MiB");
    assert_string_equal(format_bytes(INT64_C(5) << 40).text, "5.0 TiB");
    assert_string_equal(format_bytes(INT64_C(5) << 50).text, "5,120.0 TiB");
    assert_string_equal(format_bytes_per_second(0).text, "0 B/s");
    assert_string_equal(format_bytes_per_second(12.34e9).text, "12.34 GB/s");
    assert_string_equal(format_flops(3.125e12).text, "3.12 TFLOP");
    assert_string_equal(format_flops_per_second(312e12).text, "312.0 TFLOP/s");
}

static void fractions_and_numbers(void **state)
{
    assert_string_equal(format_fraction(0.1234).text, "12.3 %");
    assert_string_equal(format_fraction(1).text, "100.0 %");
    assert_string_equal(format_fraction(0).text, "0.0 %");
    assert_string_equal(format_fraction(0.001).text, "0.10 %");
    assert_string_equal(format_fraction(0.0021).text, "0.21 %");
    assert_string_equal(format_fraction(0.00994).text, "0.99 %");
    assert_string_equal(format_fraction(0.00996).text, "1.0 %");
    assert_string_equal(format_fraction(0.000987).text, "0.099 %");
    assert_string_equal(format_fraction(0.00034).text, "0.034 %");
    assert_string_equal(format_fraction(-0.0001).text, "-0.010 %");
    assert_string_equal(format_fraction(0.0000015).text, "0.00015 %");
    assert_string_equal(format_number(40).text, "40");
    assert_string_equal(format_number(40.114).text, "40.11");
    assert_string_equal(format_number(0.25).text, "0.250");
    assert_string_equal(format_number(12345.678).text, "12,345.7");
    assert_string_equal(format_number((double)NAN).text, "nan");
    assert_string_equal(format_number(1e300).text, "1e+300");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_choose_their_unit),
        cmocka_unit_test(durations_are_read_by_the_clock),
        cmocka_unit_test(a_column_of_times_shares_a_unit),
        cmocka_unit_test(counts_have_groups),
        cmocka_unit_test(bytes_are_binary_and_rates_decimal),
        cmocka_unit_test(fractions_and_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
