/* Paths and slack of graphs: of a known one, and of many made at random, against replays. */
#include "base/core/attributes.h"
#include "critical_path/task_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TASKS_MAX = 40 };

struct case_of_tasks {
    struct task_graph graph;
    int64_t durations[TASKS_MAX];
    int64_t delays[TASKS_MAX];
    int64_t starts[TASKS_MAX];
    int64_t ends[TASKS_MAX];
    uint32_t measured[TASKS_MAX];
    size_t measured_count;
};

static struct timed_tasks tasks_of(const struct case_of_tasks *made)
{
    return (struct timed_tasks){.graph = &made->graph,
                                .durations_ns = made->durations,
                                .delays_ns = made->delays,
                                .starts_ns = made->starts,
                                .ends_ns = made->ends,
                                .measured = made->measured,
                                .measured_count = made->measured_count};
}

static int64_t replayed_end(struct case_of_tasks *made)
{
    struct replay replay = {.durations_ns = made->durations,
                            .delays_ns = made->delays,
                            .starts_ns = made->starts,
                            .ends_ns = made->ends};
    struct timed_tasks tasks = tasks_of(made);

    task_graph_replay(&made->graph, &replay);
    return timed_tasks_end_ns(&tasks);
}

/* a (3), then b (5) and c (1) side by side, then after both d (2), which comes 4 late. */
static void the_path_of_a_diamond_is_known(void **state)
{
    static const int64_t durations[] = {3, 5, 1, 2}, slacks[] = {0, 0, 4, 0};
    static const struct path_piece pieces[] = {{0, 3, 0, 1, PIECE_WORK, 0},
                                               {3, 8, 1, 3, PIECE_WORK, 0},
                                               {8, 12, 3, 1, PIECE_DELAY, 0},
                                               {12, 14, 3, NO_TASK, PIECE_WORK, 0}};
    struct case_of_tasks made = {.delays = {0, 0, 0, 4}, .measured = {3}, .measured_count = 1};
    SCOPED(task_path) path = {.count = 0};
    struct timed_tasks tasks;
    int64_t found[4];
    uint32_t stuck;

    for (int i = 0; i < 4; i++)
        made.durations[task_graph_add(&made.graph)] = durations[i];
    task_graph_need(&made.graph, 1, 0);
    task_graph_need(&made.graph, 2, 0);
    task_graph_need(&made.graph, 3, 2);
    task_graph_need(&made.graph, 3, 1);
    assert_true(task_graph_finish(&made.graph, &stuck));
    assert_int_equal(replayed_end(&made), 14);
    tasks = tasks_of(&made);
    find_task_path(&path, &tasks);
    assert_int_equal(path.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(path.pieces[i].start_ns, pieces[i].start_ns);
        assert_int_equal(path.pieces[i].end_ns, pieces[i].end_ns);
        assert_int_equal(path.pieces[i].task, pieces[i].task);
        assert_int_equal(path.pieces[i].other, pieces[i].other);
        assert_int_equal(path.pieces[i].part, pieces[i].part);
    }
    find_task_slack(found, &tasks);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(found[i], slacks[i]);
    task_graph_clear(&made.graph);
}

/* Two ranks: the second comes to the collective at 9, the first at 4; so the path is the second's.
 */
static void the_path_goes_to_the_last_to_come(void **state)
{
    static const int64_t durations[] = {4, 9, 2, 3}, slacks[] = {5, 0, 1, 0};
    struct case_of_tasks made = {.measured = {2, 3}, .measured_count = 2};
    SCOPED(task_path) path = {.count = 0};
    struct timed_tasks tasks;
    int64_t found[4];
    uint32_t group, stuck;

    group = task_graph_add_group(&made.graph);
    for (int i = 0; i < 4; i++)
        made.durations[task_graph_add(&made.graph)] = durations[i];
    task_graph_need(&made.graph, 2, 0);
    task_graph_need(&made.graph, 3, 1);
    task_graph_join(&made.graph, 2, group);
    task_graph_join(&made.graph, 3, group);
    assert_true(task_graph_finish(&made.graph, &stuck));
    assert_int_equal(replayed_end(&made), 12);
    tasks = tasks_of(&made);
    find_task_path(&path, &tasks);
    assert_int_equal(path.count, 2);
    assert_int_equal(path.pieces[0].task, 1);
    assert_int_equal(path.pieces[1].task, 3);
    assert_int_equal(path.pieces[1].start_ns, 9);
    find_task_slack(found, &tasks);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(found[i], slacks[i]);
    task_graph_clear(&made.graph);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void make_random(struct case_of_tasks *made, uint32_t seed)
{
    uint32_t count = 5 + next_random(&seed) % (TASKS_MAX - 5), stuck;

    *made = (struct case_of_tasks){.measured_count = 0};
    for (uint32_t task = 0; task < count; task++) {
        (void)task_graph_add(&made->graph);
        made->durations[task] = next_random(&seed) % 20;
        made->delays[task] = next_random(&seed) % 4 ? 0 : next_random(&seed) % 5;
        for (uint32_t needs = next_random(&seed) % 4; needs > 0 && task > 0; needs--)
            task_graph_need(&made->graph, task, next_random(&seed) % task);
        if (next_random(&seed) % 8 == 0 || task + 1 == count)
            made->measured[made->measured_count++] = task;
    }
    assert_true(task_graph_finish(&made->graph, &stuck));
}

static void check_pieces(const struct task_path *path, const int64_t *slacks, int64_t end)
{
    int64_t at = 0;

    for (size_t i = 0; i < path->count; i++) {
        assert_int_equal(path->pieces[i].start_ns, at);
        assert_true(path->pieces[i].end_ns > at);
        assert_int_equal(slacks[path->pieces[i].task], 0);
        at = path->pieces[i].end_ns;
    }
    assert_int_equal(at, end);
}

/* What a change of one task does must be what its slack says. */
static void check_changes(struct case_of_tasks *made, const int64_t *slacks, int64_t end)
{
    for (uint32_t task = 0; task < made->graph.task_count; task++) {
        int64_t kept = made->durations[task], without;

        assert_true(slacks[task] >= 0);
        made->durations[task] = kept + slacks[task];
        assert_int_equal(replayed_end(made), end);
        made->durations[task] = kept / 2;
        if (slacks[task] > 0)
            assert_int_equal(replayed_end(made), end);
        made->durations[task] = kept + slacks[task] + 1;
        assert_in_range(replayed_end(made) - end, 0, 1); /* 0: nothing measured waits for it */
        made->durations[task] = 0;
        without = replayed_end(made);
        made->durations[task] = kept - (end - without);
        assert_int_equal(replayed_end(made), without);
        made->durations[task] = kept;
    }
}

static void slack_is_what_a_replay_says(void **state)
{
    for (uint32_t seed = 1; seed <= 500; seed++) {
        struct case_of_tasks made;
        SCOPED(task_path) path = {.count = 0};
        struct timed_tasks tasks;
        int64_t slacks[TASKS_MAX], end;

        make_random(&made, seed);
        end = replayed_end(&made);
        tasks = tasks_of(&made);
        find_task_path(&path, &tasks);
        find_task_slack(slacks, &tasks);
        check_pieces(&path, slacks, end);
        check_changes(&made, slacks, end);
        task_graph_clear(&made.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_of_a_diamond_is_known),
        cmocka_unit_test(the_path_goes_to_the_last_to_come),
        cmocka_unit_test(slack_is_what_a_replay_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
