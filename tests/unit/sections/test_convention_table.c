/* The MFU of a run by convention: FLOPs of a token, tokens, time, devices and peak put together. */
#include "cost/architectures/read_architecture.h"
#include "sections/model/convention_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct architecture read_llama(void)
{
    struct architecture architecture;
    struct error error = {0};

    if (!architecture_read(&architecture, "tests/models/llama-3-8b.json", &error))
        fail_msg("%s", error.message);
    return architecture;
}

/* 8,192 tokens a second on each of 4 devices of 1 PFLOP/s. */
static struct convention_run run_of(const struct architecture *architecture)
{
    return (struct convention_run){.architecture = architecture,
                                   .setting = {.sequence = 8192},
                                   .tokens = 4 * 8192 * 2,
                                   .seconds = 2,
                                   .devices = 4,
                                   .peak = 1e15,
                                   .needs_seconds = "needs time",
                                   .needs_peak = "needs peak"};
}

static void utilisation_is_flops_by_time_and_peak(void **state)
{
    struct architecture llama = read_llama();
    struct convention_run run = run_of(&llama);
    struct value value = convention_utilisation(&run, 50e9);

    assert_int_equal(value.unit, UNIT_FRACTION);
    assert_true(fabs(value.real - 50e9 * 8192 / 1e15) < 1e-12);
    assert_true(fabs(convention_rate(&run, 50e9) - 50e9 * 8192) < 1.0);
}

static void what_is_missing_is_named(void **state)
{
    struct architecture llama = read_llama();
    struct convention_run run = run_of(&llama);

    assert_int_equal(convention_utilisation(&run, -1.0).unit, UNIT_NOT_KNOWN);
    run.peak = 0;
    assert_string_equal(convention_utilisation(&run, 50e9).text, "needs peak");
    run.seconds = 0;
    assert_string_equal(convention_utilisation(&run, 50e9).text, "needs time");
    assert_true(convention_rate(&run, 50e9) == 0.0);
}

static void each_convention_has_its_row(void **state)
{
    struct architecture llama = read_llama();
    struct convention_run run = run_of(&llama);
    struct results results = {0};
    struct section *section;
    size_t count;

    (void)all_conventions(&count);
    results_init(&results);
    section = section_new(&results, "conventions", "Conventions", NULL);
    add_convention_table(&results, section, &run);
    assert_int_equal(section->tables[0]->row_count, count);
    assert_int_equal(section->finding_count, 1);
    assert_non_null(strstr(section->findings[0].what, "NeMo, transformer()"));
    assert_non_null(strstr(section->findings[0].what, "SC'21"));
    assert_int_equal(describe_convention_rules(&results)->number_count, count);
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utilisation_is_flops_by_time_and_peak),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(each_convention_has_its_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
