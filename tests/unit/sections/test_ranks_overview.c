/* All ranks side by side. */
#include "ranks/rank_digest.h"
#include "sections/analysis.h"
#include "sections/ranks/ranks_overview.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A rank that computes for `compute_ns` of a step of 10 µs and then communicates to its end. */
static void add_rank(struct digest_set *set, int64_t rank, int64_t compute_ns)
{
    static const struct analysis_options options = {.top = 10};
    struct made_trace made;
    struct rank_digest digest = {0};
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
    make_digest(&digest, input.trace, input.ledger, input.efficiency, NULL);
    made_trace_clear(&made); /* the overview needs the digests alone */
    digest_set_add(set, &digest);
    rank_digest_clear(&digest);
}

static struct section *overview_of(struct results *results, struct digest_set *set)
{
    struct all_ranks run = {0};
    struct section *section;

    results_init(results);
    all_ranks_init(&run, set, NULL);
    digest_set_clear(set);
    section = compare_ranks(results, &run, 10, &(struct ranks_changes){.courses = NULL});
    all_ranks_clear(&run); /* the section does not need them any more */
    return section;
}

static void the_rank_the_others_wait_for_is_named(void **state)
{
    struct results results = {0};
    struct digest_set set = {0};
    const struct section *section;
    const struct table *table;

    add_rank(&set, 0, 6000);
    add_rank(&set, 1, 9000);
    add_rank(&set, 2, 6100);
    section = overview_of(&results, &set);
    assert_int_equal(section_value(section, "ranks").integer, 3);
    assert_int_equal(section_value(section, "communication").integer, 4000 + 1000 + 3900);
    assert_int_equal(section_value(section, "communication_waiting").integer, 3000 + 2900);
    assert_int_equal(section_value(section, "communication_transfer").integer, 3000);
    table = section_table(section, "ranks");
    assert_int_equal(table->row_count, 3);
    assert_int_equal(table_cell(table, "rank 1", "step_time_mean").integer, 10000);
    assert_true(is_close(table_cell(table, "rank 1", "matrix_share").real, 0.9));
    assert_true(is_close(table_cell(table, "rank 0", "communication_share").real, 0.4));
    assert_true(is_close(table_cell(table, "rank 0", "waiting_share").real, 0.3));
    assert_true(is_close(table_cell(table, "rank 0", "idle_share").real, 0));
    assert_int_equal(table_cell(table, "rank 1", "waited_for").integer, 5900);
    assert_string_equal(table_cell(table, "rank 1", "remark").text, "others wait for it");
    assert_string_equal(table_cell(table, "rank 2", "remark").text, "");
    assert_int_equal(count_findings(section, "the others wait for rank 1"), 1);
    assert_true(is_close(section->findings[0].estimate->share, 2950.0 / 10000));
    assert_true(is_close(section->findings[0].estimate->ceiling_speedup, 10000.0 / 7050));
    table = section_table(section, "job_ledger");
    assert_int_equal(table_cell(table, "steps of all ranks", "total").integer, 30000);
    assert_int_equal(table_cell(table, "waiting for stragglers", "total").integer, 5900);
    table = section_table(section, "rank_steps");
    assert_int_equal(table->row_count, 3);
    assert_int_equal(table_cell(table, "rank 2", "waiting").integer, 2900);
    results_clear(&results);
}

/* One rank of a run: nothing joins, and nothing is guessed. */
static void waiting_is_not_known_of_one_rank(void **state)
{
    struct results results = {0};
    struct digest_set set = {0};
    const struct section *section;

    add_rank(&set, 0, 6000);
    section = overview_of(&results, &set);
    assert_int_equal(section_value(section, "communication_waiting").unit, UNIT_NOT_KNOWN);
    assert_int_equal(table_cell(section_table(section, "ranks"), "rank 0", "waiting_share").unit,
                     UNIT_NOT_KNOWN);
    assert_int_equal(
        table_cell(section_table(section, "job_ledger"), "waiting or transfer: not known", "total")
            .integer,
        4000);
    results_clear(&results);
}

static void every_analysis_has_a_name_of_its_own(void **state)
{
    for (const struct analysis *const *a = all_analyses(); *a; a++) {
        assert_non_null((*a)->summary);
        for (const struct analysis *const *b = a + 1; *b; b++)
            assert_string_not_equal((*a)->name, (*b)->name);
    }
}

/* The other of two ranks is what one of them is compared with, not the mean of both. */
static void of_two_ranks_the_late_one_is_told_with_its_cause(void **state)
{
    struct results results = {0};
    struct digest_set set = {0};
    const struct section *section;

    add_rank(&set, 0, 5000);
    add_rank(&set, 1, 9000);
    section = overview_of(&results, &set);
    assert_string_equal(
        results.headline,
        "The job waits for rank 1 (4.00 µs of each step): it spends 9.00 µs per step on matmul "
        "time, the other rank 5.00 µs.");
    assert_string_equal(section->findings[0].what, "the other rank waits for rank 1");
    assert_non_null(strstr(section->findings[0].evidence,
                           "it spends 9.00 µs per step on matmul time, the other rank 5.00 µs"));
    assert_string_equal(section->findings[0].estimate->confidence, "high");
    assert_int_equal(
        table_cell(section_table(section, "job_ledger"), "steps of all ranks", "step_mean").integer,
        10000);
    assert_int_equal(section->findings[0].cost_ns, 4000);
    assert_non_null(strstr(section->findings[0].evidence,
                           "last to come in 1 of 1 collectives; 4 µs of all 4 µs of waiting"));
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_the_others_wait_for_is_named),
        cmocka_unit_test(waiting_is_not_known_of_one_rank),
        cmocka_unit_test(of_two_ranks_the_late_one_is_told_with_its_cause),
        cmocka_unit_test(every_analysis_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
