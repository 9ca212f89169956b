/* The table of devices: every figure dense, and in proportion to the device's units and clock. */
#include "cost/devices/device_peak.h"
#include "cost/devices/find_device_peak.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct device_peak *row(const char *name)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(devices[i].name, name) == 0)
            return &devices[i];
    fail_msg("no row '%s'", name);
    return NULL;
}

static void names_and_figures_are_told_apart(void **state)
{
    const struct device_peak *h100 = row("NVIDIA H100 SXM5");
    const struct device_peak *v100 = row("NVIDIA V100 SXM2");

    assert_int_equal(device_peak_state(h100, PEAK_BF16), PEAK_KNOWN);
    assert_true(h100->peaks[PEAK_BF16] == 989.5e12);
    assert_int_equal(device_peak_state(h100, PEAK_FP4), PEAK_NO_UNIT);
    assert_int_equal(device_peak_state(v100, PEAK_BF16), PEAK_NO_UNIT);
    assert_int_equal(device_peak_state(row("NVIDIA T4"), PEAK_FP64), PEAK_NOT_KNOWN);
    assert_int_equal(h100->memory_bytes, (int64_t)80 << 30);
    assert_true(h100->memory_bytes_per_second == 3.35e12);
    assert_true(h100->link_bytes_per_second == 450e9);
    assert_int_equal(h100->compute_major, 9);
    assert_int_equal(row("NVIDIA GB300")->compute_minor, 3);
    assert_int_equal(row("NVIDIA GB300")->compute_major, 10);
}

static void every_row_is_whole(void **state)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);

    assert_true(count > 50);
    for (size_t i = 0; i < count; i++) {
        const struct device_peak *device = &devices[i];

        assert_non_null(device->name);
        assert_non_null(device->architecture);
        assert_non_null(device->one_is);
        assert_non_null(device->source);
        assert_true(device->memory_bytes >= 0);
        /* a device without its main figure must say why */
        if (device_peak_state(device, PEAK_BF16) == PEAK_NOT_KNOWN)
            assert_non_null(device->conflict);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(device->name, devices[j].name);
    }
}

/* FLOPs of one multiprocessor in one clock, 16-bit, dense. */
static double flops_per_clock(const struct device_peak *device)
{
    static const struct {
        const char *architecture;
        int minor;
        double flops;
    } known[] = {{"Volta", 0, 1024},     {"Turing", 5, 1024}, {"Ampere", 0, 2048},
                 {"Ampere", 6, 1024},    {"Ada", 9, 1024},    {"Hopper", 0, 4096},
                 {"Blackwell", 0, 1024}, {"CDNA 2", 0, 1024}, {"CDNA 3", 4, 2048},
                 {"CDNA 4", 5, 4096}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].architecture, device->architecture) == 0 &&
            known[i].minor == device->compute_minor)
            return known[i].flops;
    return 0.0;
}

/* A figure with sparsity would be twice what the units can do, and one of the vector units a
 * quarter. GeForce cards and some others sum in 32 bits at half the rate. */
static void peaks_follow_from_units_and_clock(void **state)
{
    size_t count;
    size_t checked = 0;
    const struct device_peak *devices = all_device_peaks(&count);

    for (size_t i = 0; i < count; i++) {
        const struct device_peak *device = &devices[i];
        double derived =
            flops_per_clock(device) * (double)device->multiprocessors * device->clock_hz;
        bool is_half = strstr(device->name, "GeForce") || !strcmp(device->name, "NVIDIA L20") ||
                       !strcmp(device->name, "NVIDIA A10G") || !strcmp(device->name, "NVIDIA L40");

        if (derived <= 0.0)
            continue;
        if (is_half)
            derived /= 2.0;
        if (fabs(device->peaks[PEAK_FP16] / derived - 1.0) > 0.015)
            fail_msg("%s: %.1f TFLOP/s in the table, %.1f from its units", device->name,
                     device->peaks[PEAK_FP16] / 1e12, derived / 1e12);
        checked++;
    }
    assert_true(checked >= 35);
}

static void narrower_types_are_as_much_faster(void **state)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);

    for (size_t i = 0; i < count; i++) {
        const double *peaks = devices[i].peaks;

        if (strncmp(devices[i].name, "NVIDIA", 6) != 0 || peaks[PEAK_FP16] <= 0.0)
            continue;
        if (peaks[PEAK_BF16] > 0.0)
            assert_true(peaks[PEAK_BF16] == peaks[PEAK_FP16]);
        if (peaks[PEAK_FP8] > 0.0 && strcmp(devices[i].name, "NVIDIA Rubin") != 0)
            assert_true(fabs(peaks[PEAK_FP8] / peaks[PEAK_FP16] - 2.0) < 0.03);
        if (peaks[PEAK_TF32] > 0.0)
            assert_true(peaks[PEAK_TF32] < 0.51 * peaks[PEAK_FP16]);
    }
}

static void types_have_names(void **state)
{
    for (int i = 0; i < PEAK_TYPE_COUNT; i++)
        assert_int_equal(peak_type_named(peak_type_name((enum peak_type)i)), i);
    assert_int_equal(peak_type_named("BFloat16"), PEAK_BF16);
    assert_int_equal(peak_type_named("c10::Half"), PEAK_FP16);
    assert_int_equal(peak_type_named("int4"), PEAK_TYPE_COUNT);
    assert_int_equal(peak_type_named(""), PEAK_TYPE_COUNT);
}

/* Of each row the board is in the table, and a name that begins another's is not taken for it. */
static void boards_draw_what_their_makers_say(void **state)
{
#define DEVICE_POWER(name, watts) {name, watts},
    static const struct {
        const char *name;
        double watts;
    } rows[] = {
#include "cost/devices/device_power_list.def"
    };
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    struct device_match match;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t known = 0;

        for (size_t j = 0; j < count; j++)
            known += strncmp(devices[j].name, rows[i].name, strlen(rows[i].name)) == 0 &&
                     fabs(device_board_watts(&devices[j]) - rows[i].watts) < 0.5;
        if (known == 0)
            fail_msg("'%s' is no device of the table", rows[i].name);
    }
    assert_true(fabs(device_board_watts(find_device_peak("L40", NULL, &match)) - 300.0) < 0.5);
    assert_true(fabs(device_board_watts(find_device_peak("L40S", NULL, &match)) - 350.0) < 0.5);
    assert_true(fabs(device_board_watts(find_device_peak("A100-SXM4-80GB", NULL, &match)) - 400.0) <
                0.5);
    assert_true(device_board_watts(find_device_peak("TPU v5p", NULL, &match)) <= 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_figures_are_told_apart),
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(peaks_follow_from_units_and_clock),
        cmocka_unit_test(narrower_types_are_as_much_faster),
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(boards_draw_what_their_makers_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
