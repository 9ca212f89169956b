/* The numbers of each step, as a dashboard plots them. */
#include "output/exports/step_scalars.h"
#include "output/results/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double scalar(const struct step_scalars *scalars, size_t step, const char *tag)
{
    for (size_t i = 0; i < scalars->series_count; i++)
        if (strcmp(scalars->series[i].tag, tag) == 0)
            return scalars->steps[step].values[i];
    return -1;
}

static void add_ledger(struct results *results, struct rank_results *rank)
{
    static const struct column columns[] = {{METRIC_NAMES(STEP), UNIT_COUNT, 0, false},
                                            {METRIC_NAMES(STEP_START), UNIT_TIME_NS, 0, false},
                                            {METRIC_NAMES(STEP_DURATION), UNIT_TIME_NS, 0, false},
                                            {METRIC_NAMES(STEP_START_UNIX), UNIT_TIME_NS, 0, false},
                                            {METRIC_NAMES(STEP_TOKENS), UNIT_COUNT, 0, false},
                                            {"matrix", "matrix work", UNIT_TIME_NS, 0, false},
                                            {"idle_data", "waiting", UNIT_TIME_NS, 0, false},
                                            {METRIC_NAMES(STEP_BUSY), UNIT_TIME_NS, 0, false}};
    static const struct column key[] = {{METRIC_NAMES(LEDGER_ACCOUNT), UNIT_TEXT, 0, false}};
    struct section *section = section_new(results, "step_ledger", "", NULL);
    struct table *table = section_add_table(results, section, "steps", "", columns, 8);

    for (int i = 0; i < 2; i++) {
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_count(7 + i);
        cells[1] = value_time_ns(1000 + 3000000 * i);
        cells[2] = value_time_ns(2000000);
        cells[3] = i ? value_time_ns(INT64_C(1760000000000000000)) : value_not_known("needs it");
        cells[4] = i ? value_count(512) : value_not_known("needs it");
        cells[5] = value_time_ns(2000000);
        cells[6] = value_time_ns(0);
        cells[7] = value_time_ns(2000000);
    }
    table = section_add_table(results, section, "ledger", "", key, 1);
    table_add_row(results, table, 0)[0] = value_text("matrix");
    table_add_row(results, table, 0)[0] = value_text("idle_data");
    rank_add_section(results, rank, section);
}

static void steps_have_times_and_accounts(void **state)
{
    struct results results = {0};
    struct step_scalars scalars = {0};

    results_init(&results);
    add_ledger(&results, results_add_rank(&results, "rank 0", "file", 0, 0));
    find_step_scalars(&scalars, &results.ranks[0]);
    assert_int_equal(scalars.step_count, 2);
    assert_int_equal(scalars.steps[1].number, 8);
    assert_int_equal(scalars.steps[0].end_unix_ns, -1);
    assert_int_equal(scalars.steps[0].end_ns, 2001000);
    assert_int_equal(scalars.steps[1].end_unix_ns, INT64_C(1760000000002000000));
    assert_true(scalar(&scalars, 0, "step_time_ms") == 2.0);
    assert_true(scalar(&scalars, 0, "accounts_ms/matrix") == 2.0);
    assert_true(scalar(&scalars, 0, "accounts_share/matrix") == 1.0);
    assert_true(scalar(&scalars, 0, "accounts_ms/idle_data") == -1); /* no time: left out */
    assert_true(scalar(&scalars, 0, "accounts_ms/busy") == -1);      /* no account */
    assert_true(isnan(scalar(&scalars, 0, "tokens_per_second")));
    assert_true(scalar(&scalars, 1, "tokens_per_second") == 256000.0);
    assert_true(scalar(&scalars, 0, "mfu") == -1);
    step_scalars_clear(&scalars);
    results_clear(&results);
}

static void a_trace_without_steps_has_none(void **state)
{
    struct results results = {0};
    struct step_scalars scalars = {0};

    results_init(&results);
    results_add_rank(&results, "rank 0", "file", 0, 0);
    find_step_scalars(&scalars, &results.ranks[0]);
    assert_int_equal(scalars.step_count, 0);
    assert_int_equal(scalars.series_count, 0);
    step_scalars_clear(&scalars);
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_have_times_and_accounts),
        cmocka_unit_test(a_trace_without_steps_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
