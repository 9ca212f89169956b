/* All ranks side by side. */
#include "analyses/run_analyses.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A rank that computes for `compute_ns` of a step of 10 us and then communicates to its end. */
static void add_rank(struct results *results, int64_t rank, int64_t compute_ns)
{
    static const struct analysis_options options = {.top = 10};
    struct made_trace made;
    struct analysis_input input;
    uint32_t stream;

    made_trace_init(&made);
    stream = made_stream(&made, 0, 7);
    made.builder.facts.rank = rank;
    made_host_event(&made, made_thread(&made, "1"), EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#0", 0, 10000});
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"sgemm", 0, compute_ns}, NO_ID,
              NULL);
    made_work(&made, stream, EVENT_KERNEL,
              (struct made_event){"ncclKernel_AllReduce", compute_ns, 10000}, NO_ID, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    input = made_input(&made, &options);
    run_analyses(results, &input);
    made_trace_clear(&made); /* the overview needs the results alone */
}

static void the_rank_the_others_wait_for_is_named(void **state)
{
    struct results results = {0};
    const struct table *table;

    (void)state;
    results_init(&results);
    add_rank(&results, 0, 6000);
    add_rank(&results, 1, 9000);
    add_rank(&results, 2, 6100);
    add_overview(&results);
    assert_non_null(results.overview);
    assert_int_equal(section_value(results.overview, "ranks").integer, 3);
    table = section_table(results.overview, "ranks");
    assert_int_equal(table->row_count, 3);
    assert_int_equal(table_cell(table, "rank 1", "step_time_mean").integer, 10000);
    assert_true(is_close(table_cell(table, "rank 1", "matrix_share").real, 0.9));
    assert_true(is_close(table_cell(table, "rank 0", "communication_share").real, 0.4));
    assert_true(is_close(table_cell(table, "rank 0", "idle_share").real, 0));
    assert_string_equal(table_cell(table, "rank 1", "remark").text, "waits least");
    assert_string_equal(table_cell(table, "rank 2", "remark").text, "");
    assert_int_equal(count_findings(results.overview, "rank 1 waits least"), 1);
    results_clear(&results);
}

static void one_rank_has_no_overview(void **state)
{
    struct results results = {0};

    (void)state;
    results_init(&results);
    add_rank(&results, 0, 6000);
    add_overview(&results);
    assert_null(results.overview);
    results_clear(&results);
}

static void every_analysis_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (const struct analysis *const *a = all_analyses(); *a; a++) {
        assert_non_null((*a)->summary);
        for (const struct analysis *const *b = a + 1; *b; b++)
            assert_string_not_equal((*a)->name, (*b)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_the_others_wait_for_is_named),
        cmocka_unit_test(one_rank_has_no_overview),
        cmocka_unit_test(every_analysis_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
