/* Conditions: how they are read, and when they hold. */
#include "sections/comparison/condition.h"
#include "support_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct condition parsed(const char *text)
{
    struct condition condition;
    struct error error = {0};

    if (!condition_parse(&condition, text, &error))
        fail_msg("%s", error.message);
    return condition;
}

static void conditions_are_read(void **state)
{
    struct condition condition = parsed("step_time>+3%");

    assert_string_equal(condition.subject, "step_time");
    assert_true(condition.is_above);
    assert_int_equal(condition.kind, LIMIT_RELATIVE);
    assert_true(condition.limit == 0.03);
    condition = parsed("mfu < -2points");
    assert_string_equal(condition.subject, "mfu");
    assert_false(condition.is_above);
    assert_int_equal(condition.kind, LIMIT_CHANGE);
    assert_true(condition.limit == -0.02);
    condition = parsed("mfu<40%");
    assert_int_equal(condition.kind, LIMIT_VALUE);
    assert_true(condition.limit == 0.4);
    condition = parsed("kernel:gemm<float, 2>>+1.5 ms");
    assert_string_equal(condition.subject, "kernel:gemm<float, 2>");
    assert_int_equal(condition.unit, UNIT_TIME_NS);
    assert_true(condition.limit == 1.5e6);
    condition = parsed("memory>80GiB");
    assert_int_equal(condition.unit, UNIT_BYTES);
    assert_true(condition.limit == 80.0 * 1073741824);
    condition = parsed("launches>+10");
    assert_int_equal(condition.unit, UNIT_COUNT);
}

static void refuses(const char *text, const char *said)
{
    struct condition condition;
    struct error error = {0};

    assert_false(condition_parse(&condition, text, &error));
    assert_int_equal(error.class, ERROR_USAGE);
    if (!strstr(error.message, said))
        fail_msg("'%s' says: %s", text, error.message);
}

static void mistakes_are_placed(void **state)
{
    char long_name[400];

    refuses("step_time", "at character 10");
    refuses(">+3%", "at character 1");
    refuses("step_time>", "at character 11");
    refuses("step_time>fast", "at character 11, 'fast'");
    refuses("step_time>+3kg", "at character 13, 'kg': expected %, points");
    refuses("step_time>-3%", "expected a rise");
    refuses("mfu<+3%", "expected a fall");
    refuses("step_time>+1e999%", "finite");
    refuses("step_time>=+3%", "a number");
    memset(long_name, 'x', sizeof long_name);
    memcpy(long_name + sizeof long_name - 5, ">+3%", 5);
    refuses(long_name, "255 bytes");
}

/* ---- deciding ---- */

struct fixture {
    struct run_profile a;
    struct run_profile b;
    struct run_comparison comparison;
    struct results results;
};

static void two_runs(struct fixture *made, uint32_t steps, int64_t data_b_ns)
{
    *made = (struct fixture){0};
    made_profile(&made->a, steps);
    made_profile(&made->b, steps);
    made_step(&made->a, 1000000, 500000, 10000);
    made_step(&made->b, 1000000, data_b_ns, 10000);
    (void)made_measure(&made->a, MEASURE_KERNEL, "gemm_1", 400000, 0);
    (void)made_measure(&made->b, MEASURE_KERNEL, "gemm_1", 500000, 0);
    (void)made_measure(&made->a, MEASURE_KERNEL, "gemm_2", 300000, 0);
    (void)made_measure(&made->b, MEASURE_KERNEL, "gemm_2", 200000, 0);
    compare_runs(&made->comparison, &made->a, &made->b, &default_comparison_options);
    results_init(&made->results);
}

static void clear(struct fixture *made)
{
    results_clear(&made->results);
    run_comparison_clear(&made->comparison);
    run_profile_clear(&made->a);
    run_profile_clear(&made->b);
}

static enum condition_state decided(struct fixture *made, const char *text)
{
    struct condition condition = parsed(text);
    struct condition_outcome outcome = {CONDITION_UNDECIDED, NULL};
    struct error error = {0};

    if (!condition_decide(&condition, &made->comparison, &made->results, &outcome, &error))
        fail_msg("%s", error.message);
    assert_non_null(outcome.said);
    return outcome.state;
}

static void conditions_are_decided(void **state)
{
    struct fixture made;

    two_runs(&made, 6, 650000); /* the step: 10 % longer */
    assert_int_equal(decided(&made, "step_time>+3%"), CONDITION_MET);
    assert_int_equal(decided(&made, "step_time>+12%"), CONDITION_NOT_MET);
    assert_int_equal(decided(&made, "step_time>+100us"), CONDITION_MET);
    assert_int_equal(decided(&made, "step_time<-3%"), CONDITION_NOT_MET);
    assert_int_equal(decided(&made, "step_time>1600us"), CONDITION_MET);
    assert_int_equal(decided(&made, "step_time>1.7ms"), CONDITION_NOT_MET);
    assert_int_equal(decided(&made, "idle_data>+100us"), CONDITION_MET);
    assert_int_equal(decided(&made, "matrix>+0%"), CONDITION_NOT_MET);
    assert_int_equal(decided(&made, "kernel:gemm_1>+20%"), CONDITION_MET);
    assert_int_equal(decided(&made, "kernel:gemm_*>+1%"), CONDITION_NOT_MET); /* their sum */
    clear(&made);
}

static void noise_and_ignorance_decide_nothing(void **state)
{
    struct fixture made;

    two_runs(&made, 6, 505000); /* 0.3 %, where steps differ by 1 % */
    assert_int_equal(decided(&made, "step_time>+0.1%"), CONDITION_UNDECIDED);
    assert_int_equal(decided(&made, "mfu<-2points"), CONDITION_UNDECIDED);
    assert_int_equal(decided(&made, "memory>+1GiB"), CONDITION_UNDECIDED);
    assert_int_equal(decided(&made, "memory:activations>1GiB"), CONDITION_UNDECIDED);
    assert_int_equal(decided(&made, "module:model.*>+5%"), CONDITION_UNDECIDED);
    clear(&made);
    two_runs(&made, 1, 650000);
    assert_int_equal(decided(&made, "step_time>+3%"), CONDITION_UNDECIDED);
    assert_int_equal(decided(&made, "step_time>+20%"), CONDITION_NOT_MET);
    clear(&made);
}

static void names_and_units_are_checked(void **state)
{
    struct fixture made;
    const char *const wrong[] = {"foo>+3%", "kernel:foo>+3%", "step_time>+3MiB", "step_time>40%"};

    two_runs(&made, 6, 500000);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct condition condition = parsed(wrong[i]);
        struct condition_outcome outcome;
        struct error error = {0};

        assert_false(
            condition_decide(&condition, &made.comparison, &made.results, &outcome, &error));
        assert_int_equal(error.class, ERROR_USAGE);
    }
    clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_read),
        cmocka_unit_test(mistakes_are_placed),
        cmocka_unit_test(conditions_are_decided),
        cmocka_unit_test(noise_and_ignorance_decide_nothing),
        cmocka_unit_test(names_and_units_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
