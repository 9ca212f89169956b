/* Pieces of work that wait for each other, run again with other durations.
 *
 * A task starts when all it depends on has ended, after a delay of its own. Tasks of one group
 * begin together, as the ranks of a collective do: each ends its duration after the last of them
 * started. All times are nanoseconds. */
#ifndef FLOPLEDGER_REPLAY_TASK_GRAPH_H
#define FLOPLEDGER_REPLAY_TASK_GRAPH_H

#include "base/core/attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "The task of that number, then this one." */
struct task_edge {
    uint32_t before;
    uint32_t after;
};

/* A zeroed graph is empty. Fewer than 2^32 tasks, and as many edges. */
struct task_graph {
    size_t task_count;
    size_t group_count;
    uint32_t *groups;        /* [task_count]: 1 + the group, 0: none; NULL: no groups */
    struct task_edge *edges; /* [edge_count]; until task_graph_finish, which makes of them: */
    size_t edge_count;
    uint32_t *needs;      /* [edge_count]: the tasks needed, by the task that needs them */
    uint32_t *first_need; /* [task_count + 1] */
    uint32_t *order; /* [task_count]: tasks of a group side by side, none before what it needs */
    uint32_t *order_ends; /* [order_count]: ends of the runs of tasks that begin together; NULL: of
                             one task each */
    size_t order_count;
};

/* Its number: counts up from 0. */
uint32_t task_graph_add(struct task_graph *graph);
uint32_t task_graph_add_group(struct task_graph *graph);
void task_graph_join(struct task_graph *graph, uint32_t task, uint32_t group);
/* Twice the same is once. */
void task_graph_need(struct task_graph *graph, uint32_t task, uint32_t needed);

/* To be called once all is there. False where tasks wait for each other in a circle: *stuck is one
 * of them. */
MUST_USE bool task_graph_finish(struct task_graph *graph, uint32_t *stuck);

/* What a replay is made with, and what comes of it; all [task_count]. */
struct replay {
    const int64_t *durations_ns;
    const int64_t *delays_ns;      /* between what it needs and its start; NULL: none */
    const int64_t *floors_ns;      /* not before; NULL: 0 */
    const uint8_t *is_not_awaited; /* the others of its group begin without it; NULL: all wait */
    int64_t *starts_ns; /* filled: when it is ready; of a group its own, not the last one's. NULL:
                           not asked for, of a graph without groups */
    int64_t *ends_ns;   /* filled; may be durations_ns, which are then gone */
};

/* Where a run of tasks that begin together ends in the order. */
static inline size_t task_graph_run_end(const struct task_graph *graph, size_t run)
{
    return graph->order_ends ? graph->order_ends[run] : run + 1;
}

void task_graph_replay(const struct task_graph *graph, struct replay *replay);

/* When all that the task needs has ended, in a replay or as recorded; `floor_ns` where it needs
 * nothing. */
int64_t task_ready_ns(const struct task_graph *graph, uint32_t task, const int64_t *ends_ns,
                      int64_t floor_ns);

void task_graph_clear(struct task_graph *graph);

#endif
