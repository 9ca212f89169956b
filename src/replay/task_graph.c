/* Pieces of work that wait for each other, run again with other durations.
 *
 * A task begins when all that it needs have ended, plus a delay of its own, and not before a floor;
 * the tasks of a group (the calls of one collective) begin together, when the last of them is
 * ready. So a group, or a task of none, is one knot of a graph without circles, and one walk over
 * the knots in an order in which each stands behind all that it needs gives every start and end.
 * The order is found once, by Kahn's algorithm (A. B. Kahn, "Topological sorting of large
 * networks", 1962), which also finds what waits for itself: knots that never come. A replay with
 * other durations is a walk over the same order.
 *
 * What holds: with the recorded durations, delays and floors the recorded times come out again; a
 * longer duration ends nothing earlier. O(tasks + edges), for the order and for each replay. */
#include "replay/task_graph.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"

#include <string.h>

uint32_t task_graph_add(struct task_graph *graph)
{
    return (uint32_t)graph->task_count++;
}

uint32_t task_graph_add_group(struct task_graph *graph)
{
    return (uint32_t)graph->group_count++;
}

void task_graph_join(struct task_graph *graph, uint32_t task, uint32_t group)
{
    LARGE_ARRAY_RESERVE(graph->groups, graph->task_count);
    graph->groups[task] = group + 1;
}

void task_graph_need(struct task_graph *graph, uint32_t task, uint32_t needed)
{
    LARGE_ARRAY_ADD(graph->edges, graph->edge_count,
                    (struct task_edge){.before = needed, .after = task});
}

/* ---- the order ---- */

/* Groups and single tasks are knots: what begins together. Of a graph without groups each task is
 * its own knot, and the first three lists are NULL. */
struct knots {
    size_t count;
    uint32_t *of_task;         /* [tasks] */
    uint32_t *tasks;           /* [tasks], by knot */
    uint32_t *first_task;      /* [count + 1] */
    uint32_t *successors;      /* [edges]: knots, by knot */
    uint32_t *first_successor; /* [count + 1] */
    uint32_t *open_needs;      /* [count]: edges whose earlier end has not come yet */
};

static uint32_t *task_numbers(size_t count)
{
    return large_array_new((count + 1) * sizeof(uint32_t));
}

static uint32_t knot_of(const struct knots *knots, uint32_t task)
{
    return knots->of_task ? knots->of_task[task] : task;
}

/* From counts behind each place to where each begins; counts[n] becomes the sum. */
static void counts_to_places(uint32_t *counts, size_t count)
{
    uint32_t sum = 0;

    for (size_t i = 0; i <= count; i++) {
        uint32_t here = i < count ? counts[i] : 0;

        counts[i] = sum;
        sum += here;
    }
}

/* A list of places that is used up while what belongs there is put there. */
static uint32_t *places_to_fill(const uint32_t *first, size_t count)
{
    uint32_t *next = task_numbers(count);

    memcpy(next, first, (count + 1) * sizeof *next);
    return next;
}

/* A counting sort by the later end: edges come in any order, but each replay walks over those of a
 * task, and must find them side by side. The later end is then told by the place. */
static void order_edges(struct task_graph *graph)
{
    uint32_t *next;

    require_invariant(graph->task_count < UINT32_MAX && graph->edge_count < UINT32_MAX,
                      "that tasks and edges can be numbered");
    graph->needs = task_numbers(graph->edge_count);
    graph->first_need = task_numbers(graph->task_count);
    for (size_t i = 0; i < graph->edge_count; i++)
        graph->first_need[graph->edges[i].after]++;
    counts_to_places(graph->first_need, graph->task_count);
    next = places_to_fill(graph->first_need, graph->task_count);
    for (size_t i = 0; i < graph->edge_count; i++)
        graph->needs[next[graph->edges[i].after]++] = graph->edges[i].before;
    large_array_free(next);
    large_array_free(graph->edges);
    graph->edges = NULL;
}

/* Groups have the first numbers of knots, single tasks those behind them. */
static void tie_tasks(struct knots *knots, struct task_graph *graph)
{
    uint32_t *next;

    knots->count = graph->group_count > 0 ? graph->group_count : graph->task_count;
    if (graph->group_count == 0)
        return;
    LARGE_ARRAY_RESERVE(graph->groups, graph->task_count);
    knots->of_task = task_numbers(graph->task_count);
    for (size_t i = 0; i < graph->task_count; i++)
        knots->of_task[i] = graph->groups[i] == 0 ? (uint32_t)knots->count++ : graph->groups[i] - 1;
    knots->first_task = task_numbers(knots->count);
    knots->tasks = task_numbers(graph->task_count);
    for (size_t i = 0; i < graph->task_count; i++)
        knots->first_task[knots->of_task[i]]++;
    counts_to_places(knots->first_task, knots->count);
    next = places_to_fill(knots->first_task, knots->count);
    for (size_t i = 0; i < graph->task_count; i++)
        knots->tasks[next[knots->of_task[i]]++] = (uint32_t)i;
    large_array_free(next);
}

/* Two edges between the same knots count twice, in open_needs and among the successors alike,
 * so they cancel. */
static void link_knots(struct knots *knots, const struct task_graph *graph)
{
    uint32_t *next;

    knots->first_successor = task_numbers(knots->count);
    knots->successors = task_numbers(graph->edge_count);
    knots->open_needs = task_numbers(knots->count);
    for (size_t i = 0; i < graph->edge_count; i++)
        knots->first_successor[knot_of(knots, graph->needs[i])]++;
    counts_to_places(knots->first_successor, knots->count);
    next = places_to_fill(knots->first_successor, knots->count);
    for (uint32_t task = 0; task < graph->task_count; task++) {
        uint32_t after = knot_of(knots, task);
        uint32_t end = graph->first_need[task + 1];

        for (uint32_t i = graph->first_need[task]; i < end; i++)
            knots->successors[next[knot_of(knots, graph->needs[i])]++] = after;
        knots->open_needs[after] += end - graph->first_need[task];
    }
    large_array_free(next);
}

static void knots_clear(struct knots *knots)
{
    large_array_free(knots->of_task);
    large_array_free(knots->tasks);
    large_array_free(knots->first_task);
    large_array_free(knots->successors);
    large_array_free(knots->first_successor);
    large_array_free(knots->open_needs);
}

/* Kahn's way: a knot comes when all its needs have come. Returns the knots as they come, of which
 * there are graph->order_count. */
static uint32_t *queue_knots(struct task_graph *graph, struct knots *knots)
{
    uint32_t *queue = task_numbers(knots->count);
    size_t queued = 0;

    for (size_t i = 0; i < knots->count; i++)
        if (knots->open_needs[i] == 0)
            queue[queued++] = (uint32_t)i;
    for (size_t next = 0; next < queued; next++)
        for (size_t i = knots->first_successor[queue[next]];
             i < knots->first_successor[queue[next] + 1]; i++)
            if (--knots->open_needs[knots->successors[i]] == 0)
                queue[queued++] = knots->successors[i];
    graph->order_count = queued;
    return queue;
}

/* Without groups the knots are the tasks. */
static void find_order(struct task_graph *graph, struct knots *knots)
{
    uint32_t *queue = queue_knots(graph, knots);
    uint32_t used = 0;

    if (graph->group_count == 0) {
        graph->order = queue;
        return;
    }
    graph->order = task_numbers(graph->task_count);
    graph->order_ends = task_numbers(knots->count);
    for (size_t run = 0; run < graph->order_count; run++) {
        for (size_t i = knots->first_task[queue[run]]; i < knots->first_task[queue[run] + 1]; i++)
            graph->order[used++] = knots->tasks[i];
        graph->order_ends[run] = used;
    }
    large_array_free(queue);
}

/* Knots that never come are in a circle or behind one; the first task of such is named, to say
 * where to look. */
bool task_graph_finish(struct task_graph *graph, uint32_t *stuck)
{
    struct knots knots = {0};
    bool is_complete;

    order_edges(graph);
    tie_tasks(&knots, graph);
    link_knots(&knots, graph);
    find_order(graph, &knots);
    is_complete = graph->order_count == knots.count;
    for (uint32_t i = 0; i < graph->task_count && !is_complete; i++)
        if (knots.open_needs[knot_of(&knots, i)] > 0) {
            *stuck = i;
            break;
        }
    knots_clear(&knots);
    return is_complete;
}

/* ---- replays ---- */

int64_t task_ready_ns(const struct task_graph *graph, uint32_t task, const int64_t *ends_ns,
                      int64_t floor_ns)
{
    const uint32_t *need = graph->needs + graph->first_need[task];
    const uint32_t *end = graph->needs + graph->first_need[task + 1];
    int64_t ready = floor_ns;

    for (; need < end; need++)
        if (ends_ns[*need] > ready)
            ready = ends_ns[*need];
    return ready;
}

/* When a task could start, if it were alone. */
static inline int64_t task_own_start_ns(const struct task_graph *graph, const struct replay *replay,
                                        uint32_t task)
{
    int64_t floor_ns = replay->floors_ns ? replay->floors_ns[task] : 0;
    int64_t delay_ns = replay->delays_ns ? replay->delays_ns[task] : 0;

    return task_ready_ns(graph, task, replay->ends_ns, floor_ns) + delay_ns;
}

/* Tasks order[first] to order[end - 1], which start together. Who is not awaited starts when it
 * would, the others when the last awaited one is ready: no one starts before all it needs has
 * ended. */
static void replay_together(const struct task_graph *graph, const struct replay *replay,
                            size_t first, size_t end)
{
    int64_t together = INT64_MIN;

    for (size_t i = first; i < end; i++) {
        uint32_t task = graph->order[i];
        int64_t start = task_own_start_ns(graph, replay, task);

        replay->starts_ns[task] = start;
        if (start > together && !(replay->is_not_awaited && replay->is_not_awaited[task]))
            together = start;
    }
    for (size_t i = first; i < end; i++) {
        uint32_t task = graph->order[i];
        int64_t start = replay->starts_ns[task] > together ? replay->starts_ns[task] : together;

        replay->ends_ns[task] = start + replay->durations_ns[task];
    }
}

void task_graph_replay(const struct task_graph *graph, struct replay *given)
{
    const struct replay replay = *given; /* so that no store can change where its arrays are */
    size_t at = 0;

    for (size_t run = 0; run < graph->order_count; run++) {
        size_t end = task_graph_run_end(graph, run);

        if (end - at == 1) { /* as most are */
            uint32_t task = graph->order[at];
            int64_t start = task_own_start_ns(graph, &replay, task);

            if (replay.starts_ns)
                replay.starts_ns[task] = start;
            replay.ends_ns[task] = start + replay.durations_ns[task];
        } else {
            replay_together(graph, &replay, at, end);
        }
        at = end;
    }
}

void task_graph_clear(struct task_graph *graph)
{
    large_array_free(graph->groups);
    large_array_free(graph->edges);
    large_array_free(graph->needs);
    large_array_free(graph->first_need);
    large_array_free(graph->order);
    large_array_free(graph->order_ends);
    memset(graph, 0, sizeof *graph);
}
