/* Files of measured rates: the fastest matmul of each format, and what is no such file. */
#include "cost/devices/measured_rates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD \
    "{\"schema\": \"flopledger-rates-1\", \"kind\": \"cpu\", \"device\": \"P\", \"threads\": 4, "
#define MATMUL(dtype, n, rate) \
    "{\"dtype\": \"" dtype "\", \"m\": " n ", \"n\": 8, \"k\": 8, \"flops_per_second\": " rate "}"

static bool read_text(struct measured_rates *rates, const char *text, struct error *error)
{
    char path[] = "/tmp/flopledger-rates-XXXXXX";
    int file = mkstemp(path);
    bool is_read;

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    is_read = measured_rates_read(rates, path, error);
    unlink(path);
    return is_read;
}

static void the_fastest_of_each_format_is_its_peak(void **state)
{
    struct measured_rates rates = {0};
    struct error error = {0};

    assert_true(read_text(
        &rates,
        HEAD "\"memory_bytes_per_second\": 1.5e10, \"matmuls\": [" MATMUL(
            "fp32", "8", "2e9") "," MATMUL("fp32", "16", "3e9") "," MATMUL("fp64", "8", "1e9") "]}",
        &error));
    assert_int_equal(rates.count, 3);
    assert_true(rates.is_processor);
    assert_true(rates.peaks[PEAK_FP32] > 2.9e9 && rates.peaks[PEAK_FP32] < 3.1e9);
    assert_true(rates.peaks[PEAK_FP64] > 0.9e9 && rates.peaks[PEAK_FP64] < 1.1e9);
    assert_true(rates.peaks[PEAK_BF16] <= 0);
    assert_true(rates.memory_bytes_per_second > 1.4e10);
    assert_non_null(strstr(rates.how, "measured: "));
    assert_non_null(strstr(rates.how, "4 threads"));
    measured_rates_clear(&rates);
}

/* Of eight devices each sends 14 / 8 of 800 MB in 4 ms: 350 GB/s; the smallest took 50 us. */
static void all_reduces_tell_links_and_latency(void **state)
{
    static const char *const bad[] = {
        "{\"devices\": 1, \"bytes\": 4096, \"seconds\": 5e-5}",
        "{\"devices\": 8, \"bytes\": 0, \"seconds\": 5e-5}",
        "{\"devices\": 8, \"bytes\": 4096, \"seconds\": 0}",
        "{\"devices\": 8, \"bytes\": 4096, \"seconds\": 1e-30}",
        "{\"devices\": 8, \"bytes\": 4096, \"seconds\": 5e-5}",
        ("{\"devices\": 8, \"bytes\": 4096, \"seconds\": 5e-5}, {\"devices\": 8, \"bytes\": 8192, "
         "\"seconds\": 5e-5}"),
        ("{\"devices\": 8, \"bytes\": 9, \"seconds\": 1}, {\"devices\": 4, \"bytes\": 9, "
         "\"seconds\": 1}")};
    struct measured_rates rates = {0};
    struct error error = {0};

    assert_true(read_text(
        &rates,
        HEAD "\"matmuls\": [" MATMUL(
            "fp32", "8", "2e9") "], \"all_reduces\": ["
                                "{\"devices\": 8, \"bytes\": 800000000, \"seconds\": 4e-3},"
                                "{\"devices\": 8, \"bytes\": 4096, \"seconds\": 5e-5}]}",
        &error));
    assert_int_equal(rates.reduced_devices, 8);
    assert_true(rates.reduced_bytes_per_second > 3.499e11 &&
                rates.reduced_bytes_per_second < 3.501e11);
    assert_true(rates.reduced_seconds > 4.9e-5 && rates.reduced_seconds < 5.1e-5);
    measured_rates_clear(&rates);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[512];

        snprintf(text, sizeof text, HEAD "\"matmuls\": [%s], \"all_reduces\": [%s]}",
                 MATMUL("fp32", "8", "2e9"), bad[i]);
        assert_false(read_text(&rates, text, &error));
        assert_non_null(strstr(error.message, "measure again"));
        measured_rates_clear(&rates);
    }
}

/* A format of a later version is passed over; where nothing else is there, the file has no rates.
 */
static void unknown_formats_are_passed_over(void **state)
{
    struct measured_rates rates = {0};
    struct error error = {0};

    assert_true(read_text(
        &rates, HEAD "\"matmuls\": [" MATMUL("fp2", "8", "2e9") "," MATMUL("fp32", "8", "1e9") "]}",
        &error));
    assert_int_equal(rates.count, 1);
    measured_rates_clear(&rates);
    assert_false(read_text(&rates, HEAD "\"matmuls\": [" MATMUL("fp2", "8", "2e9") "]}", &error));
    measured_rates_clear(&rates);
}

static void what_is_no_file_of_rates_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"schema\": \"another\"}",
        HEAD "\"matmuls\": []}",
        HEAD "\"matmuls\": {}}",
        HEAD "\"matmuls\": [1]}",
        HEAD "\"matmuls\": [" MATMUL("fp32", "0", "2e9") "]}",
        HEAD "\"matmuls\": [" MATMUL("fp32", "-8", "2e9") "]}",
        HEAD "\"matmuls\": [" MATMUL("fp32", "99999999999", "2e9") "]}",
        HEAD "\"matmuls\": [" MATMUL("fp32", "8", "0") "]}",
        HEAD "\"matmuls\": [" MATMUL("fp32", "8", "-1") "]}",
        HEAD "\"matmuls\": [" MATMUL("fp32", "8", "1e300") "]}",
        HEAD "\"matmuls\": [" MATMUL("fp32", "8", "NaN") "]}",
        HEAD "\"matmuls\": [" MATMUL("fp32", "8", "5") "]}",
        HEAD "\"memory_bytes_per_second\": 0, \"matmuls\": [" MATMUL("fp32", "8", "1e9") "]}",
        HEAD "\"memory_bytes_per_second\": 7, \"matmuls\": [" MATMUL("fp32", "8", "1e9") "]}",
        HEAD "\"memory_bytes_per_second\": 1e30, \"matmuls\": [" MATMUL("fp32", "8", "1e9") "]}",
        HEAD
        "\"memory_bytes_per_second\": \"fast\", \"matmuls\": [" MATMUL("fp32", "8", "1e9") "]}",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct measured_rates rates = {0};
        struct error error = {0};

        if (read_text(&rates, texts[i], &error))
            fail_msg("text %zu was read", i);
        assert_true(error.message[0] != '\0');
        measured_rates_clear(&rates);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_of_each_format_is_its_peak),
        cmocka_unit_test(all_reduces_tell_links_and_latency),
        cmocka_unit_test(unknown_formats_are_passed_over),
        cmocka_unit_test(what_is_no_file_of_rates_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
