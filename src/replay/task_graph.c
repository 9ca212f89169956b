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
#include "base/core/large_array.h"

#include <string.h>

uint32_t task_graph_add(struct task_graph *graph)
{
    LARGE_ARRAY_RESERVE(graph->groups, graph->task_count + (size_t)1);
    graph->groups[graph->task_count] = NO_GROUP;
    return (uint32_t)graph->task_count++;
}

uint32_t task_graph_add_group(struct task_graph *graph)
{
    return (uint32_t)graph->group_count++;
}

void task_graph_join(struct task_graph *graph, uint32_t task, uint32_t group)
{
    graph->groups[task] = group;
}

void task_graph_need(struct task_graph *graph, uint32_t task, uint32_t needed)
{
    LARGE_ARRAY_ADD(graph->edges, graph->edge_count,
                    (struct task_edge){.before = needed, .after = task});
}

/* ---- the order ---- */

/* Groups and single tasks are knots: what begins together. */
struct knots {
    size_t count;
    uint32_t *of_task;       /* [tasks] */
    uint32_t *tasks;         /* [tasks], by knot */
    size_t *first_task;      /* [count + 1] */
    uint32_t *successors;    /* [edges]: knots, by knot */
    size_t *first_successor; /* [count + 1] */
    uint32_t *open_needs;    /* [count]: edges whose earlier end has not come yet */
};

/* From counts behind each place to where each begins; counts[n] becomes the sum. */
static void counts_to_places(size_t *counts, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i <= count; i++) {
        size_t here = i < count ? counts[i] : 0;

        counts[i] = sum;
        sum += here;
    }
}

static void order_edges(struct task_graph *graph)
{
    struct task_edge *ordered = large_array_new((graph->edge_count + 1) * sizeof *ordered);
    size_t *next = large_array_new((graph->task_count + 1) * sizeof *next);

    /* A counting sort by the later end: edges come in any order, but each replay walks over
     * those of a task, and must find them side by side. */
    graph->first_edge = large_array_new((graph->task_count + 1) * sizeof *graph->first_edge);
    for (size_t i = 0; i < graph->edge_count; i++)
        graph->first_edge[graph->edges[i].after]++;
    counts_to_places(graph->first_edge, graph->task_count);
    memcpy(next, graph->first_edge, (graph->task_count + 1) * sizeof *next);
    for (size_t i = 0; i < graph->edge_count; i++)
        ordered[next[graph->edges[i].after]++] = graph->edges[i];
    large_array_free(next);
    large_array_free(graph->edges);
    graph->edges = ordered;
}

/* Groups have the first numbers of knots, single tasks those behind them. */
static void tie_tasks(struct knots *knots, const struct task_graph *graph)
{
    size_t *next;

    knots->of_task = large_array_new((graph->task_count + 1) * sizeof *knots->of_task);
    knots->count = graph->group_count;
    for (size_t i = 0; i < graph->task_count; i++)
        knots->of_task[i] =
            graph->groups[i] == NO_GROUP ? (uint32_t)knots->count++ : graph->groups[i];
    knots->first_task = large_array_new((knots->count + 1) * sizeof *knots->first_task);
    knots->tasks = large_array_new((graph->task_count + 1) * sizeof *knots->tasks);
    /* Without groups each task is its own knot, and nothing has to be sorted. */
    for (size_t i = 0; i <= graph->task_count && graph->group_count == 0; i++)
        knots->first_task[i] = knots->tasks[i] = (uint32_t)i;
    if (graph->group_count == 0)
        return;
    for (size_t i = 0; i < graph->task_count; i++)
        knots->first_task[knots->of_task[i]]++;
    counts_to_places(knots->first_task, knots->count);
    next = large_array_new((knots->count + 1) * sizeof *next);
    memcpy(next, knots->first_task, (knots->count + 1) * sizeof *next);
    for (size_t i = 0; i < graph->task_count; i++)
        knots->tasks[next[knots->of_task[i]]++] = (uint32_t)i;
    large_array_free(next);
}

/* Two edges between the same knots count twice, in open_needs and among the successors alike,
 * so they cancel. */
static void link_knots(struct knots *knots, const struct task_graph *graph)
{
    size_t *next;

    knots->first_successor = large_array_new((knots->count + 1) * sizeof *knots->first_successor);
    knots->successors = large_array_new((graph->edge_count + 1) * sizeof *knots->successors);
    knots->open_needs = large_array_new((knots->count + 1) * sizeof *knots->open_needs);
    for (size_t i = 0; i < graph->edge_count; i++)
        knots->first_successor[knots->of_task[graph->edges[i].before]]++;
    counts_to_places(knots->first_successor, knots->count);
    next = large_array_new((knots->count + 1) * sizeof *next);
    memcpy(next, knots->first_successor, (knots->count + 1) * sizeof *next);
    for (size_t i = 0; i < graph->edge_count; i++) {
        uint32_t after = knots->of_task[graph->edges[i].after];

        knots->successors[next[knots->of_task[graph->edges[i].before]]++] = after;
        knots->open_needs[after]++;
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

static void task_graph_put_in_order(struct task_graph *graph, const struct knots *knots,
                                    size_t knot, size_t *used)
{
    for (size_t i = knots->first_task[knot]; i < knots->first_task[knot + 1]; i++)
        graph->order[(*used)++] = knots->tasks[i];
    graph->order_ends[graph->order_count++] = *used;
}

/* Kahn's way: a knot comes when all its needs have come. */
static void find_order(struct task_graph *graph, struct knots *knots)
{
    uint32_t *queue = large_array_new((knots->count + 1) * sizeof *queue);
    size_t queued = 0;
    size_t used = 0;

    graph->order = large_array_new((graph->task_count + 1) * sizeof *graph->order);
    graph->order_ends = large_array_new((knots->count + 1) * sizeof *graph->order_ends);
    for (size_t i = 0; i < knots->count; i++)
        if (knots->open_needs[i] == 0)
            queue[queued++] = (uint32_t)i;
    for (size_t next = 0; next < queued; next++) {
        size_t knot = queue[next];

        task_graph_put_in_order(graph, knots, knot, &used);
        for (size_t i = knots->first_successor[knot]; i < knots->first_successor[knot + 1]; i++)
            if (--knots->open_needs[knots->successors[i]] == 0)
                queue[queued++] = knots->successors[i];
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
    for (size_t i = 0; i < graph->task_count && !is_complete; i++)
        if (knots.open_needs[knots.of_task[i]] > 0) {
            *stuck = (uint32_t)i;
            break;
        }
    knots_clear(&knots);
    return is_complete;
}

/* ---- replays ---- */

int64_t task_ready_ns(const struct task_graph *graph, uint32_t task, const int64_t *ends_ns,
                      int64_t floor_ns)
{
    const struct task_edge *edge = graph->edges + graph->first_edge[task];
    const struct task_edge *end = graph->edges + graph->first_edge[task + 1];
    int64_t ready = floor_ns;

    for (; edge < end; edge++)
        if (ends_ns[edge->before] > ready)
            ready = ends_ns[edge->before];
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
        size_t end = graph->order_ends[run];

        if (end - at == 1) { /* as most are */
            uint32_t task = graph->order[at];
            int64_t start = task_own_start_ns(graph, &replay, task);

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
    large_array_free(graph->first_edge);
    large_array_free(graph->order);
    large_array_free(graph->order_ends);
    memset(graph, 0, sizeof *graph);
}
