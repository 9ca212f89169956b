/* Which steps stand out, and why. */
#include "ledger/step_outliers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STEPS_MAX = 8 };

struct made_ledger {
    struct ledger ledger;
    struct step_ledger steps[STEPS_MAX];
};

/* Steps of these durations: 100 of each in matrix work, the rest waiting for data. */
static void make_ledger(struct made_ledger *made, const int64_t *durations, uint32_t count)
{
    *made = (struct made_ledger){.ledger = {.step_count = count}};
    made->ledger.steps = made->steps;
    for (uint32_t i = 0; i < count; i++) {
        made->steps[i].window.start_ns = 10000 * (int64_t)i;
        made->steps[i].window.end_ns = 10000 * (int64_t)i + durations[i];
        made->steps[i].account_ns[ACCOUNT_MATRIX] = 100;
        made->steps[i].account_ns[ACCOUNT_IDLE_DATA] = durations[i] - 100;
    }
}

static void a_slow_step_stands_out_with_its_account(void **state)
{
    const int64_t durations[] = {1000, 1010, 1300, 990, 1000};
    struct made_ledger made;
    struct step_spread spread;

    (void)state;
    make_ledger(&made, durations, 5);
    spread = measure_step_spread(&made.ledger);
    assert_int_equal(spread.median_ns, 1000);
    assert_int_equal(spread.min_ns, 990);
    assert_int_equal(spread.max_ns, 1300);
    assert_int_equal(spread.outlier_count, 1);
    assert_true(spread.steps[2].is_outlier);
    assert_int_equal(spread.steps[2].deviation_ns, 300);
    assert_int_equal(spread.steps[2].account, ACCOUNT_IDLE_DATA);
    assert_int_equal(spread.steps[2].account_deviation_ns, 300);
    free(spread.steps);
}

static void a_fast_step_stands_out_too(void **state)
{
    const int64_t durations[] = {1000, 1000, 1000, 800};
    struct made_ledger made;
    struct step_spread spread;

    (void)state;
    make_ledger(&made, durations, 4);
    spread = measure_step_spread(&made.ledger);
    assert_true(spread.steps[3].is_outlier);
    assert_int_equal(spread.steps[3].account, ACCOUNT_IDLE_DATA);
    assert_int_equal(spread.steps[3].account_deviation_ns, -200);
    free(spread.steps);
}

static void steps_that_vary_anyway_have_no_outlier(void **state)
{
    /* median 1000, deviations 0 50 100 150 200: MAD 100, limit 3 * 148.26 */
    const int64_t durations[] = {1000, 1050, 900, 1150, 800};
    /* all within 5 % of the median, whatever the MAD */
    const int64_t close[] = {1000, 1000, 1000, 1000, 1050};
    struct made_ledger made;
    struct step_spread spread;

    (void)state;
    make_ledger(&made, durations, 5);
    spread = measure_step_spread(&made.ledger);
    assert_int_equal(spread.outlier_count, 0);
    free(spread.steps);
    make_ledger(&made, close, 5);
    spread = measure_step_spread(&made.ledger);
    assert_int_equal(spread.outlier_count, 0);
    free(spread.steps);
}

static void two_steps_are_too_few_to_judge(void **state)
{
    const int64_t durations[] = {1000, 2000};
    struct made_ledger made;
    struct step_spread spread;

    (void)state;
    make_ledger(&made, durations, 2);
    spread = measure_step_spread(&made.ledger);
    assert_int_equal(spread.median_ns, 1500);
    assert_int_equal(spread.outlier_count, 0);
    free(spread.steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_step_stands_out_with_its_account),
        cmocka_unit_test(a_fast_step_stands_out_too),
        cmocka_unit_test(steps_that_vary_anyway_have_no_outlier),
        cmocka_unit_test(two_steps_are_too_few_to_judge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
