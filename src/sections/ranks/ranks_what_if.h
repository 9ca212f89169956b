/* Changes replayed for all ranks of a run together. */
#ifndef FLOPLEDGER_SECTIONS_RANKS_RANKS_WHAT_IF_H
#define FLOPLEDGER_SECTIONS_RANKS_RANKS_WHAT_IF_H

#include "output/results/results.h"
#include "ranks/all_ranks.h"
#include "replay/joint_replay.h"
#include "replay/rank_replay_input.h"
#include "replay/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_refusal {
    const char *why;
    const char *try_this;
};

/* Zeroed: there is nothing to replay. */
struct ranks_replay {
    const struct all_ranks *run;              /* not owned; NULL: nothing */
    const struct rank_replay_input **courses; /* [run->count] */
    int64_t *starts_ns;                       /* [run->count] */
    int64_t *offsets_ns;                      /* [run->count]: of the clocks */
    struct meeting_call *calls;               /* of joint */
    struct joint_run joint;
    struct joint_replay replay;
    struct joint_outcome unchanged;
    int64_t recorded_ns;                  /* length of the slowest rank */
    int64_t step_ns;                      /* mean step of the slowest rank */
    double length_error;                  /* of the replay without a change */
    double start_error;                   /* mean error of the devices' starts, of a step */
    bool is_measured;                     /* the errors are known */
    const struct replay_refusal *refusal; /* NULL: changes can be tried */
};

/* `courses`: of the traces that were read, in any order. All must outlive the study, which must be
 * zeroed. */
void ranks_replay_begin(struct ranks_replay *simulation, const struct all_ranks *run,
                        const struct rank_replay_inputs *courses);

struct ranks_estimate {
    int64_t step_ns;  /* mean, of the slowest rank */
    double speedup;   /* how many times as fast; 0: nothing is left */
    uint32_t slowest; /* index in run->ranks */
};

void ranks_replay_clear(struct ranks_replay *simulation);

/* What the ranks do, to be replayed with each of `scenarios`. */
struct ranks_changes {
    const struct rank_replay_inputs *courses; /* taken with `scenarios`; NULL: none, nothing is
                                               * replayed
                                               */
    const struct scenario *scenarios;         /* [scenario_count] */
    size_t scenario_count;
};

/* Adds to `section`. Nothing where there are no scenarios, or nothing to replay. */
void add_ranks_what_if(struct results *results, struct section *section,
                       const struct ranks_replay *simulation, const struct ranks_changes *changes);

/* What a step would take with waiting@RANK=0; false where that can't be told. `rank`: index in the
 * run. */
MUST_USE bool replay_without_waiting(const struct ranks_replay *simulation, size_t rank,
                                     struct ranks_estimate *estimate);

#endif
