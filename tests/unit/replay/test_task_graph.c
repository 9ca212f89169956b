#include "base/core/attributes.h"
#include "replay/task_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* a (3) -> b (5) and c (1); d (2) after both. */
static void add_diamond(struct task_graph *graph)
{
    for (int i = 0; i < 4; i++)
        (void)task_graph_add(graph);
    task_graph_need(graph, 3, 1);
    task_graph_need(graph, 3, 2);
    task_graph_need(graph, 2, 0);
    task_graph_need(graph, 1, 0);
    task_graph_need(graph, 1, 0);
}

static void a_task_starts_when_all_it_needs_has_ended(void **state)
{
    static const int64_t durations[] = {3, 5, 1, 2};
    static const int64_t delays[] = {0, 0, 10, 0};
    static const int64_t floors[] = {100, 0, 0, 0};
    SCOPED(task_graph) graph = {0};
    int64_t starts[4];
    int64_t ends[4];
    struct replay replay = {.durations_ns = durations, .starts_ns = starts, .ends_ns = ends};
    uint32_t stuck;

    add_diamond(&graph);
    assert_true(task_graph_finish(&graph, &stuck));
    task_graph_replay(&graph, &replay);
    assert_int_equal(ends[1], 8);
    assert_int_equal(starts[3], 8);
    assert_int_equal(ends[3], 10);
    replay.delays_ns = delays;
    replay.floors_ns = floors;
    task_graph_replay(&graph, &replay);
    assert_int_equal(starts[2], 113);
    assert_int_equal(ends[3], 116);
    assert_int_equal(task_ready_ns(&graph, 3, ends, 0), 114);
    assert_int_equal(task_ready_ns(&graph, 0, ends, 7), 7);
}

/* Two ranks: the second comes late, and both end from then on. */
static void a_group_begins_with_its_last_task(void **state)
{
    static const int64_t durations[] = {4, 9, 2, 3, 1};
    SCOPED(task_graph) graph = {0};
    int64_t starts[5];
    int64_t ends[5];
    struct replay replay = {.durations_ns = durations, .starts_ns = starts, .ends_ns = ends};
    uint32_t group;
    uint32_t stuck;

    for (int i = 0; i < 5; i++)
        (void)task_graph_add(&graph);
    group = task_graph_add_group(&graph);
    task_graph_need(&graph, 2, 0);
    task_graph_need(&graph, 3, 1);
    task_graph_need(&graph, 4, 2);
    task_graph_join(&graph, 2, group);
    task_graph_join(&graph, 3, group);
    assert_true(task_graph_finish(&graph, &stuck));
    task_graph_replay(&graph, &replay);
    assert_int_equal(starts[2], 4);
    assert_int_equal(starts[3], 9);
    assert_int_equal(ends[2], 11);
    assert_int_equal(ends[3], 12);
    assert_int_equal(ends[4], 12);
}

/* Likewise, but nobody waits for the second; then for nobody at all. */
static void a_group_begins_without_who_is_not_awaited(void **state)
{
    static const int64_t durations[] = {4, 9, 2, 3};
    uint8_t is_not_awaited[] = {0, 0, 0, 1};
    SCOPED(task_graph) graph = {0};
    int64_t starts[4];
    int64_t ends[4];
    struct replay replay = {.durations_ns = durations,
                            .is_not_awaited = is_not_awaited,
                            .starts_ns = starts,
                            .ends_ns = ends};
    uint32_t group;
    uint32_t stuck;

    for (int i = 0; i < 4; i++)
        (void)task_graph_add(&graph);
    group = task_graph_add_group(&graph);
    task_graph_need(&graph, 2, 0);
    task_graph_need(&graph, 3, 1);
    task_graph_join(&graph, 2, group);
    task_graph_join(&graph, 3, group);
    assert_true(task_graph_finish(&graph, &stuck));
    task_graph_replay(&graph, &replay);
    assert_int_equal(ends[2], 6);
    assert_int_equal(ends[3], 12);
    is_not_awaited[2] = 1;
    task_graph_replay(&graph, &replay);
    assert_int_equal(ends[2], 6);
    assert_int_equal(ends[3], 12);
    is_not_awaited[3] = 0;
    task_graph_replay(&graph, &replay);
    assert_int_equal(ends[2], 11);
    assert_int_equal(ends[3], 12);
}

static void a_circle_is_found(void **state)
{
    SCOPED(task_graph) graph = {0};
    SCOPED(task_graph) joined = {0};
    uint32_t group;
    uint32_t stuck = 77;

    add_diamond(&graph);
    task_graph_need(&graph, 1, 3);
    assert_false(task_graph_finish(&graph, &stuck));
    assert_int_equal(stuck, 1);

    add_diamond(&joined); /* b and d cannot begin together: d needs b */
    group = task_graph_add_group(&joined);
    task_graph_join(&joined, 1, group);
    task_graph_join(&joined, 3, group);
    assert_false(task_graph_finish(&joined, &stuck));
}

static void an_empty_graph_is_no_problem(void **state)
{
    SCOPED(task_graph) graph = {0};
    struct replay replay = {0};
    uint32_t stuck;

    assert_true(task_graph_finish(&graph, &stuck));
    task_graph_replay(&graph, &replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_starts_when_all_it_needs_has_ended),
        cmocka_unit_test(a_group_begins_with_its_last_task),
        cmocka_unit_test(a_group_begins_without_who_is_not_awaited),
        cmocka_unit_test(a_circle_is_found),
        cmocka_unit_test(an_empty_graph_is_no_problem),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
