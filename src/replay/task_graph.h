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

#define NO_GROUP UINT32_MAX

/* "The task of that number, then this one." */
struct task_edge {
    uint32_t before;
    uint32_t after;
};

/* A zeroed graph is empty. */
struct task_graph {
    size_t task_count;
    uint32_t *groups; /* [task_count]: NO_GROUP, or a number below group_count */
    size_t group_count;
    struct task_edge *edges; /* [edge_count]; after task_graph_finish ordered by `after` */
    size_t edge_count;
    size_t *first_edge; /* [task_count + 1]: the edges to a task; after task_graph_finish */
    uint32_t *order;    /* [task_count]: tasks of a group side by side, none before what it needs */
    size_t *order_ends; /* [order_count]: ends of the runs of tasks that begin together */
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
    int64_t *starts_ns; /* filled: when it is ready; of a group its own, not the last one's */
    int64_t *ends_ns;   /* filled */
};

void task_graph_replay(const struct task_graph *graph, struct replay *replay);

/* When all that the task needs has ended, in a replay or as recorded; `floor_ns` where it needs
 * nothing. */
int64_t task_ready_ns(const struct task_graph *graph, uint32_t task, const int64_t *ends_ns,
                      int64_t floor_ns);

void task_graph_clear(struct task_graph *graph);

#endif
