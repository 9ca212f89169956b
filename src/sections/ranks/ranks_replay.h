/* All ranks of a run, replayed together: how well that explains the run, and what changes bring. */
#ifndef FLOPLEDGER_SECTIONS_RANKS_RANKS_REPLAY_H
#define FLOPLEDGER_SECTIONS_RANKS_RANKS_REPLAY_H

#include "base/core/attributes.h"
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

/* False where there is nothing to replay, or the study is refused. `durations`: as for
 * joint_replay_run. */
MUST_USE bool ranks_replay_try(const struct ranks_replay *simulation,
                               const struct scenario *scenario, size_t durations,
                               struct ranks_estimate *estimate);

void ranks_replay_clear(struct ranks_replay *simulation);

#endif
