/* Replays of several ranks together: a collective, and a send and its receive, go on once the last
 * of their ranks has come. */
#ifndef FLOPLEDGER_REPLAY_JOINT_REPLAY_H
#define FLOPLEDGER_REPLAY_JOINT_REPLAY_H

#include "replay/rank_replay_input.h"
#include "replay/task_graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One call of a rank in what several ranks do together. */
struct meeting_call {
    uint32_t course;     /* index in joint_run.courses */
    uint32_t task;       /* of that course */
    uint32_t meeting;    /* below meeting_count: calls of one are done together */
    int64_t transfer_ns; /* how long it takes once the last rank has come */
};

struct joint_run {
    const struct rank_replay_input *const *courses; /* [count] */
    const int64_t *starts_ns; /* [count]: by one clock, when the times of the courses begin */
    uint32_t count;
    const struct meeting_call *calls; /* [call_count] */
    size_t call_count;
    uint32_t meeting_count;
};

struct joint_replay {
    const struct joint_run *run; /* not owned */
    struct task_graph graph;     /* all tasks of all ranks */
    size_t *first_task;          /* [run->count + 1] */
    uint32_t *call_of_task;      /* [graph.task_count]: index in run->calls, or NO_EVENT */
    bool is_circular;            /* ranks wait for each other: nothing can be replayed */
};

/* `replay` must be zeroed; `run` must outlive it. */
void joint_replay_begin(struct joint_replay *replay, const struct joint_run *run);

struct joint_outcome {
    int64_t length_ns;      /* of the steps of the slowest rank and their work */
    uint32_t slowest;       /* index in run->courses */
    int64_t start_error_ns; /* mean distance of the starts of the devices' work from the recorded */
};

/* `durations`: 0 as recorded, else 1 + the number of `scenario` among those that the courses were
 * taken with. `scenario` also tells who is waited for; NULL: everybody. Where it takes out the
 * waiting for a rank, that rank is as fast as the others, and not among those of which the slowest
 * is told, unless it is true of all. */
struct joint_outcome joint_replay_run(const struct joint_replay *replay,
                                      const struct scenario *scenario, size_t durations);

void joint_replay_clear(struct joint_replay *replay);

#endif
