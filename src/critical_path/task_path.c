/* The chain of tasks that decides when a replay ends, and how much later the others could.
 *
 * The path is walked backwards: from the end of the task that ends last to its start; from there,
 * of the tasks that began together with it, to the one that was ready last; from there to the need
 * whose end made that one ready, the time between being its delay. Where nothing made it ready its
 * floor did, and the path ends. Each piece begins where the one before it ends, so that the pieces
 * fill the time from the first moment to the last end exactly: none is counted twice or left out.
 * Of several needs that end at that moment the first is taken: the path is one of several that are
 * as long.
 *
 * Slack is the other pass of the critical-path method (J. E. Kelley, M. R. Walker, 1959): in the
 * order of the replay turned round, the latest end of a task is the earliest of the latest starts
 * of all that need it; less its own end, that is what it could take longer and nothing measured
 * would end later. O(tasks + edges) each. */
#include "critical_path/task_path.h"

#include "base/core/array.h"
#include "base/core/large_array.h"

#include <stdlib.h>
#include <string.h>

static int64_t delay_ns(const struct timed_tasks *tasks, uint32_t task)
{
    return tasks->delays_ns ? tasks->delays_ns[task] : 0;
}

/* When it was ready to begin, whatever the others of its group. */
static int64_t own_start_ns(const struct timed_tasks *tasks, uint32_t task)
{
    return tasks->starts_ns ? tasks->starts_ns[task]
                            : tasks->ends_ns[task] - tasks->durations_ns[task];
}

static int64_t task_path_earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of tasks that end together the first: any of them has a path of the same length. */
uint32_t timed_tasks_last(const struct timed_tasks *tasks)
{
    uint32_t last = NO_TASK;

    for (size_t i = 0; i < tasks->measured_count; i++)
        if (last == NO_TASK || tasks->ends_ns[tasks->measured[i]] > tasks->ends_ns[last])
            last = tasks->measured[i];
    return last;
}

int64_t timed_tasks_end_ns(const struct timed_tasks *tasks)
{
    uint32_t last = timed_tasks_last(tasks);

    return last == NO_TASK ? 0 : tasks->ends_ns[last];
}

/* ---- the path ---- */

static void task_path_add_piece(struct task_path *path, struct path_piece piece)
{
    if (piece.start_ns >= piece.end_ns)
        return;
    LARGE_ARRAY_ADD(path->pieces, path->count, piece);
}

/* Exact equality is right here: ready_ns was computed as the largest of these very ends, so
 * one of them is equal to the nanosecond unless the floor decided. */
uint32_t task_waited_for(const struct timed_tasks *tasks, uint32_t task)
{
    const struct task_graph *graph = tasks->graph;
    int64_t ready_ns = own_start_ns(tasks, task) - delay_ns(tasks, task);

    for (size_t i = graph->first_need[task]; i < graph->first_need[task + 1]; i++)
        if (tasks->ends_ns[graph->needs[i]] == ready_ns)
            return graph->needs[i];
    return NO_TASK;
}

/* In which run of `graph->order` each task stands; NULL where each begins alone.
 * large_array_free() it. */
static size_t *task_path_find_runs(const struct task_graph *graph)
{
    size_t *runs;
    size_t at = 0;

    if (graph->group_count == 0)
        return NULL;
    runs = large_array_new((graph->task_count + 1) * sizeof *runs);
    for (size_t run = 0; run < graph->order_count; run++)
        for (; at < graph->order_ends[run]; at++)
            runs[graph->order[at]] = run;
    return runs;
}

/* Of the tasks that begin together with `task`, the one that was ready last. A group (one
 * collective of all its ranks) begins when the last of its tasks is ready: from there the path
 * goes on, in that rank. */
static uint32_t last_to_come(const struct timed_tasks *tasks, const size_t *runs, uint32_t task)
{
    const struct task_graph *graph = tasks->graph;
    uint32_t last = task;
    size_t run;

    if (!runs)
        return task;
    run = runs[task];
    for (size_t i = run ? graph->order_ends[run - 1] : 0; i < graph->order_ends[run]; i++)
        if (tasks->starts_ns[graph->order[i]] > tasks->starts_ns[last])
            last = graph->order[i];
    return last;
}

static void reverse(struct task_path *path)
{
    for (size_t i = 0; i < path->count / 2; i++) {
        struct path_piece kept = path->pieces[i];

        path->pieces[i] = path->pieces[path->count - 1 - i];
        path->pieces[path->count - 1 - i] = kept;
    }
}

void find_task_path(struct task_path *path, const struct timed_tasks *tasks)
{
    size_t *runs = task_path_find_runs(tasks->graph);
    uint32_t task = timed_tasks_last(tasks);
    uint32_t waiting = NO_TASK;
    int64_t at_ns = task == NO_TASK ? 0 : tasks->ends_ns[task];

    while (task != NO_TASK && at_ns > 0) {
        int64_t begin_ns =
            task_path_earlier_of(tasks->ends_ns[task] - tasks->durations_ns[task], at_ns);
        uint32_t before;

        /* Pinned delays may be negative, and times before the first moment are not of the
         * graph: each piece is clipped so that the pieces still join. */
        begin_ns = later_of(begin_ns, 0);
        task_path_add_piece(path,
                            (struct path_piece){begin_ns, at_ns, task, waiting, PIECE_WORK, 0});
        at_ns = begin_ns;
        task = last_to_come(tasks, runs, task);
        before = task_waited_for(tasks, task);
        begin_ns = before == NO_TASK
                       ? 0
                       : later_of(task_path_earlier_of(tasks->ends_ns[before], at_ns), 0);
        task_path_add_piece(path,
                            (struct path_piece){begin_ns, at_ns, task, before,
                                                before == NO_TASK ? PIECE_FLOOR : PIECE_DELAY, 0});
        at_ns = begin_ns;
        waiting = task;
        task = before;
    }
    large_array_free(runs);
    reverse(path);
}

void task_path_clear(struct task_path *path)
{
    large_array_free(path->pieces);
    *path = (struct task_path){0};
}

/* ---- slack ---- */

/* What `task` needs must have ended by then. */
static void bound_needs(const struct timed_tasks *tasks, uint32_t task, int64_t ready_ns,
                        int64_t *latest_ns)
{
    const struct task_graph *graph = tasks->graph;

    for (size_t i = graph->first_need[task]; i < graph->first_need[task + 1]; i++) {
        uint32_t before = graph->needs[i];

        latest_ns[before] = task_path_earlier_of(latest_ns[before], ready_ns);
    }
}

/* Backward over runs of the order: all of what a run's tasks hand over must be known before,
 * which the reverse of a topological order gives. The tasks of one run begin together, so the
 * earliest of their latest starts binds them all. */
void find_task_slack(int64_t *slacks_ns, const struct timed_tasks *tasks)
{
    const struct task_graph *graph = tasks->graph;
    int64_t end_ns = timed_tasks_end_ns(tasks);
    int64_t *latest_ns = slacks_ns; /* until the end: the latest end of each */

    for (size_t i = 0; i < graph->task_count; i++)
        latest_ns[i] =
            later_of(tasks->deadlines_ns ? tasks->deadlines_ns[i] : end_ns, tasks->ends_ns[i]);
    for (size_t run = graph->order_count; run-- > 0;) {
        size_t first = run ? task_graph_run_end(graph, run - 1) : 0;
        size_t end = task_graph_run_end(graph, run);
        int64_t together_ns = INT64_MAX;

        for (size_t i = first; i < end; i++) {
            uint32_t task = graph->order[i];

            together_ns =
                task_path_earlier_of(together_ns, latest_ns[task] - tasks->durations_ns[task]);
        }
        for (size_t i = first; i < end; i++)
            bound_needs(tasks, graph->order[i], together_ns - delay_ns(tasks, graph->order[i]),
                        latest_ns);
    }
    for (size_t i = 0; i < graph->task_count; i++)
        slacks_ns[i] = latest_ns[i] - tasks->ends_ns[i];
}
