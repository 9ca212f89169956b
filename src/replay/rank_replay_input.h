/* The work of one rank and what it waits for, kept once its trace is gone: for replays of several
 * ranks together. About 100 bytes for each launch and each piece of work, and 16 for each change.
 */
#ifndef FLOPLEDGER_REPLAY_RANK_REPLAY_INPUT_H
#define FLOPLEDGER_REPLAY_RANK_REPLAY_INPUT_H

#include "replay/scenario.h"
#include "replay/task_graph.h"
#include "replay/trace_graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* recorded_starts_ns of tasks that are not work of the device. */
#define NO_RECORDED_START INT64_MIN

struct rank_replay_input {
    int64_t rank;    /* -1: not known */
    char *file;      /* its name without the folder */
    int64_t step_ns; /* mean */
    int64_t span_ns; /* from the start of the first step to the end of the last */
    uint32_t step_count;
    int64_t lead_ns;     /* from the start of the first step to what all times count from */
    int64_t recorded_ns; /* from there to the end of the last step and of all its work */
    struct task_graph graph;
    int64_t **durations_ns; /* [scenario_count + 1][graph.task_count]; the first without a change */
    size_t scenario_count;
    int64_t *delays_ns;          /* [graph.task_count] */
    int64_t *floors_ns;          /* likewise */
    int64_t *recorded_starts_ns; /* likewise */
    uint32_t *calls; /* [call_count]: tasks of communication kernels on the device, by start;
                        NO_EVENT: not replayed */
    uint32_t call_count;
    uint32_t *measured; /* [measured_count]: tasks whose ends are the end */
    size_t measured_count;
};

/* `course` must be zeroed; it needs nothing of the others afterwards. Moves the tasks out of the
 * graph, which can only be cleared then. */
void rank_replay_input_collect(struct rank_replay_input *course, struct trace_graph *graph,
                               const struct scenario *scenarios, size_t scenario_count);

void rank_replay_input_clear(struct rank_replay_input *course);

/* Courses of several ranks, in any order. Zeroed is empty. */
struct rank_replay_inputs {
    struct rank_replay_input *courses; /* [count] */
    size_t count;
};

/* Moves the course there: it is empty afterwards. */
void rank_replay_inputs_add(struct rank_replay_inputs *courses, struct rank_replay_input *course);
void rank_replay_inputs_clear(struct rank_replay_inputs *courses);

#endif
