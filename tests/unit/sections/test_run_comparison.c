/* What changed between two runs that are made by hand. */
#include "sections/comparison/comparison_sections.h"
#include "support_profile.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two runs, their comparison, and what is printed of it. */
struct fixture {
    struct run_profile a;
    struct run_profile b;
    struct run_comparison comparison;
    struct results results;
    struct rank_results *rank;
};

static void compare(struct fixture *made)
{
    static const struct comparison_view all = {.top = UINT32_MAX};

    match_renamed_kernels(&made->a, &made->b);
    compare_runs(&made->comparison, &made->a, &made->b, &default_comparison_options);
    results_init(&made->results);
    made->rank = describe_comparison(&made->results, &made->comparison, &all);
}

static void clear(struct fixture *made)
{
    results_clear(&made->results);
    run_comparison_clear(&made->comparison);
    run_profile_clear(&made->a);
    run_profile_clear(&made->b);
}

static const struct section *section_of(const struct fixture *made, const char *key)
{
    for (size_t i = 0; i < made->rank->section_count; i++)
        if (strcmp(made->rank->sections[i]->key, key) == 0)
            return made->rank->sections[i];
    return NULL;
}

static void the_parts_add_up_to_the_step(void **state)
{
    struct fixture made = {0};
    const struct table *table;
    int64_t sum = 0;

    made_profile(&made.a, 7); /* a seventh of each account is left over */
    made_profile(&made.b, 3);
    made_step(&made.a, 1000001, 500000, 777);
    made_step(&made.b, 900000, 100003, 500);
    compare(&made);
    table = section_table(section_of(&made, "difference"), "waterfall");
    for (size_t row = 1; row + 1 < table->row_count; row++) {
        sum += table_cell_at(table, row, "change").integer;
        assert_int_equal(table_cell_at(table, row, "from").integer,
                         table_cell_at(table, row - 1, "to").integer);
    }
    assert_int_equal(sum, table_cell(table, "step of B", "to").integer -
                              table_cell(table, "step of A", "to").integer);
    assert_int_equal(table_cell(table, "step of B", "to").integer,
                     section_value(section_of(&made, "difference"), "step_time_b").integer);
    clear(&made);
}

static void a_change_beyond_noise_is_named(void **state)
{
    struct fixture made = {0};

    made_profile(&made.a, 6);
    made_profile(&made.b, 6);
    made_step(&made.a, 1000000, 500000, 10000);
    made_step(&made.b, 1000000, 100000, 10000);
    compare(&made);
    assert_non_null(strstr(made.rank->headline, "B is 1.36x as fast as A: 1.100 ms a step instead "
                                                "of 1.500 ms (-26.7 %); waiting for data 100 µs "
                                                "instead of 500 µs explains 100 % of it"));
    assert_int_equal(find_change(&made.comparison, MEASURE_ACCOUNT, "idle_data")->verdict,
                     CHANGE_LESS);
    assert_int_equal(find_change(&made.comparison, MEASURE_ACCOUNT, "matrix")->verdict,
                     CHANGE_NOISE);
    clear(&made);
}

static void noise_is_no_change(void **state)
{
    struct fixture made = {0};

    made_profile(&made.a, 6);
    made_profile(&made.b, 6);
    made_step(&made.a, 1000000, 500000, 50000);
    made_step(&made.b, 1020000, 500000, 50000);
    compare(&made);
    assert_non_null(strstr(made.rank->headline, "No significant change"));
    clear(&made);
}

static void a_sure_change_may_be_small(void **state)
{
    struct fixture made = {0};

    made_profile(&made.a, 6);
    made_profile(&made.b, 6);
    made_step(&made.a, 1000000, 500000, 10);
    made_step(&made.b, 1001000, 500000, 10);
    compare(&made);
    assert_int_equal(find_change(&made.comparison, MEASURE_STEP, "step_time")->verdict,
                     CHANGE_SMALL);
    assert_non_null(strstr(made.rank->headline, "No change that counts"));
    clear(&made);
}

static void one_step_is_never_significant(void **state)
{
    struct fixture made = {0};

    made_profile(&made.a, 1);
    made_profile(&made.b, 6);
    made_step(&made.a, 1000000, 500000, 0);
    made_step(&made.b, 5000000, 500000, 0);
    compare(&made);
    assert_int_equal(find_change(&made.comparison, MEASURE_STEP, "step_time")->verdict,
                     CHANGE_NOT_KNOWN);
    assert_non_null(strstr(made.rank->headline, "is not known"));
    assert_int_equal(count_findings(section_of(&made, "runs"), "one step tells nothing"), 1);
    assert_int_equal(section_value(section_of(&made, "difference"), "p").unit, UNIT_NOT_KNOWN);
    clear(&made);
}

static struct measure *made_kernel_of(struct run_profile *profile, const char *name,
                                      const char *owner, int64_t mean_ns)
{
    struct measure *measure = made_measure(profile, MEASURE_KERNEL, name, mean_ns, mean_ns / 100);

    measure->owner = owner;
    measure_has_calls(profile, measure);
    for (uint32_t i = 0; i < profile->step_count; i++)
        measure->calls[i] = 2;
    return measure;
}

static void renamed_kernels_stand_together(void **state)
{
    struct fixture made = {0};
    const struct table *table;

    made_profile(&made.a, 6);
    made_profile(&made.b, 6);
    made_step(&made.a, 1000000, 0, 1000);
    made_step(&made.b, 1000000, 0, 1000);
    (void)made_kernel_of(&made.a, "volta_gemm", "aten::mm", 400000);
    (void)made_kernel_of(&made.b, "ampere_gemm", "aten::mm", 200000);
    (void)made_kernel_of(&made.a, "softmax", "aten::softmax", 50000);
    (void)made_kernel_of(&made.b, "softmax", "aten::softmax", 50000);
    (void)made_kernel_of(&made.b, "dropout", "aten::dropout", 30000);
    compare(&made);
    table = section_table(section_of(&made, "kernel_changes"), "by_name");
    assert_int_equal(table->row_count, 5);
    assert_string_equal(table_cell_at(table, 0, "kernel").text,
                        "aten::mm: other kernels (matmuls)");
    assert_int_equal(table_cell_at(table, 0, "change").integer, -200000);
    assert_string_equal(table_cell_at(table, 0, "verdict").text, "less");
    assert_int_equal(table->depths[1], 1);
    assert_string_equal(table_cell(table, "volta_gemm", "verdict").text, "gone");
    assert_string_equal(table_cell(table, "ampere_gemm", "verdict").text, "new");
    assert_int_equal(table->depths[3], 0);
    assert_string_equal(table_cell(table, "dropout", "verdict").text, "new");
    assert_true(table_cell(table, "dropout", "calls_b").real == 2);
    clear(&made);
}

/* Two kernels; in B the first takes `factor` per cent as long, the second `other` per cent. */
static size_t findings_of_kernels(int64_t factor, int64_t other)
{
    struct fixture made = {0};
    size_t found;

    made_profile(&made.a, 6);
    made_profile(&made.b, 6);
    made_step(&made.a, 1000000, 0, 1000);
    made_step(&made.b, 6000 * factor + 4000 * other, 0, 1000);
    (void)made_kernel_of(&made.a, "gemm", "aten::mm", 600000);
    (void)made_kernel_of(&made.b, "gemm", "aten::mm", 6000 * factor);
    (void)made_kernel_of(&made.a, "softmax", "aten::softmax", 400000);
    (void)made_kernel_of(&made.b, "softmax", "aten::softmax", 4000 * other);
    compare(&made);
    found = count_findings(section_of(&made, "difference"), "changed alike");
    clear(&made);
    return found;
}

static void a_slower_machine_is_suspected(void **state)
{
    assert_int_equal(findings_of_kernels(120, 115), 1);
    assert_int_equal(findings_of_kernels(80, 90), 1);
    assert_int_equal(findings_of_kernels(140, 100), 0);
    assert_int_equal(findings_of_kernels(102, 102), 0);
}

static void what_differs_is_said_first(void **state)
{
    struct fixture made = {0};

    made_profile(&made.a, 6);
    made_profile(&made.b, 5);
    made.a.device_name = "NVIDIA A100";
    made.b.device_name = "NVIDIA H100";
    made.b.rank_count = 2;
    made.a.needs_modules = made.b.needs_modules = NULL;
    made_step(&made.a, 1000000, 0, 1000);
    made_step(&made.b, 1000000, 0, 1000);
    (void)made_measure(&made.a, MEASURE_MODULE, "model.old", 1000, 0);
    compare(&made);
    assert_int_equal(count_findings(section_of(&made, "runs"), "different devices"), 1);
    assert_int_equal(count_findings(section_of(&made, "runs"), "different numbers of ranks"), 1);
    assert_int_equal(count_findings(section_of(&made, "runs"), "different numbers of steps"), 1);
    assert_int_equal(count_findings(section_of(&made, "runs"), "different models"), 1);
    clear(&made);
}

/* The same model; B's modules are inside of compiled code. `parameters`: of B. */
static void compile_one(struct fixture *made, int64_t parameters)
{
    made_profile(&made->a, 6);
    made_profile(&made->b, 6);
    made->a.needs_modules = made->b.needs_modules = NULL;
    made->a.parameters = 1000;
    made->b.parameters = parameters;
    made->b.is_compiled = true;
    made_step(&made->a, 1000000, 0, 1000);
    made_step(&made->b, 500000, 0, 1000);
    (void)made_measure(&made->a, MEASURE_MODULE, "model", 900000, 1000);
    (void)made_measure(&made->b, MEASURE_MODULE, "model", 400000, 1000);
    (void)made_measure(&made->a, MEASURE_MODULE, "model.layer", 900000, 1000);
    (void)made_measure(&made->a, MEASURE_MATMUL, "[2, 3] by [3, 4]", 800000, 1000);
    (void)made_measure(&made->b, MEASURE_MATMUL, "[2, 3] by [3, 4]", 300000, 1000);
    (void)made_kernel_of(&made->a, "gemm", "aten::mm", 800000);
    (void)made_kernel_of(&made->b, "gemm", "aten::mm", 400000);
    compare(made);
}

static void a_compiled_run_is_no_other_model(void **state)
{
    struct fixture made = {0};
    const struct section *runs;

    compile_one(&made, 1000);
    runs = section_of(&made, "runs");
    assert_int_equal(count_findings(runs, "B is compiled"), 1);
    assert_int_equal(count_findings(runs, "different models"), 0);
    assert_int_equal(count_findings(section_of(&made, "difference"), "changed alike"), 0);
    assert_null(find_change(&made.comparison, MEASURE_MODULE, "model.layer"));
    assert_int_equal(find_change(&made.comparison, MEASURE_MATMUL, "[2, 3] by [3, 4]")->verdict,
                     CHANGE_LESS);
    clear(&made);

    made = (struct fixture){0};
    compile_one(&made, 2000);
    runs = section_of(&made, "runs");
    assert_int_equal(count_findings(runs, "B is compiled"), 0);
    assert_int_equal(count_findings(runs, "different models"), 1);
    clear(&made);
}

static void more_steps_are_asked_for_where_they_would_tell(void **state)
{
    struct fixture made = {0};

    made_profile(&made.a, 3);
    made_profile(&made.b, 3);
    made_step(&made.a, 2290000, 500000, 1200000);
    made_step(&made.b, 1000000, 500000, 600000);
    compare(&made);
    assert_int_equal(find_change(&made.comparison, MEASURE_STEP, "step_time")->verdict,
                     CHANGE_NOISE);
    assert_non_null(strstr(made.rank->headline, "so few steps (3 and 3): record more steps, 7 or "
                                                "more of each run"));
    clear(&made);
}

static void ranks_are_joined_by_the_numbers_of_steps(void **state)
{
    struct run_profile first = {0}, second = {0}, run = {0};
    struct run_profile *ranks[] = {&first, &second};
    const struct measure *step;

    made_profile(&first, 3);
    made_profile(&second, 3);
    for (uint32_t i = 0; i < 3; i++)
        second.numbers[i] = i + 2; /* 2, 3, 4 */
    made_step(&first, 1000, 0, 0);
    made_step(&second, 3000, 0, 0);
    profile_of_ranks(&run, ranks, 2);
    assert_int_equal(run.step_count, 2);
    assert_int_equal(run.numbers[0], 2);
    assert_int_equal(run.rank_count, 2);
    assert_int_equal(run.steps_left_out, 2);
    step = profile_find(&run, MEASURE_STEP, "step_time", "");
    assert_true(measure_mean(&run, step) == 2000);
    assert_true(measure_at(&run, step, 1) == 2000);
    run_profile_clear(&run);
    run_profile_clear(&first);
    run_profile_clear(&second);
}

static void ranks_without_a_common_number_are_joined_by_order(void **state)
{
    struct run_profile first = {0}, second = {0}, run = {0};
    struct run_profile *ranks[] = {&first, &second};

    made_profile(&first, 3);
    made_profile(&second, 2);
    second.numbers[0] = 11;
    second.numbers[1] = 12;
    made_step(&first, 1000, 0, 0);
    made_step(&second, 3000, 0, 0);
    profile_of_ranks(&run, ranks, 2);
    assert_int_equal(run.step_count, 2);
    assert_true(measure_mean(&run, profile_find(&run, MEASURE_STEP, "step_time", "")) == 2000);
    run_profile_clear(&run);
    run_profile_clear(&first);
    run_profile_clear(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_add_up_to_the_step),
        cmocka_unit_test(a_change_beyond_noise_is_named),
        cmocka_unit_test(noise_is_no_change),
        cmocka_unit_test(a_sure_change_may_be_small),
        cmocka_unit_test(one_step_is_never_significant),
        cmocka_unit_test(renamed_kernels_stand_together),
        cmocka_unit_test(a_slower_machine_is_suspected),
        cmocka_unit_test(what_differs_is_said_first),
        cmocka_unit_test(a_compiled_run_is_no_other_model),
        cmocka_unit_test(more_steps_are_asked_for_where_they_would_tell),
        cmocka_unit_test(ranks_are_joined_by_the_numbers_of_steps),
        cmocka_unit_test(ranks_without_a_common_number_are_joined_by_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
