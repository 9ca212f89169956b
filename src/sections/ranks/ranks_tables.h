/* The tables of the overview of all ranks. Each adds nothing where it has nothing to say. */
#ifndef FLOPLEDGER_SECTIONS_RANKS_RANKS_TABLES_H
#define FLOPLEDGER_SECTIONS_RANKS_RANKS_TABLES_H

#include "output/results/results.h"
#include "ranks/all_ranks.h"
#include "replay/joint_replay.h"
#include "replay/rank_replay_input.h"
#include "replay/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands out among the ranks; SIZE_MAX: none does. */
struct ranks_spread {
    size_t slowest;       /* the longest mean step, by more than 2 % of the median rank's */
    size_t least_waiting; /* where calls do not join: the least exposed communication, by more than
                             5 % of a step */
    size_t straggler;     /* others wait for it most: more than twice as much as for each other
                             rank, and more than a fifth of all waiting or ten times as much */
    /* Of two ranks, what the other one than the slowest or the least waiting has. */
    int64_t median_step_ns;
    int64_t median_exposed_ns;
    int64_t waiting_ns; /* of all ranks, for whom it is known */
};

struct ranks_spread measure_ranks_spread(const struct all_ranks *run);

int64_t rank_mean_step_ns(const struct rank_in_run *rank);
/* `total_ns` of the rank's steps, per step. */
int64_t rank_mean_ns(const struct rank_in_run *rank, int64_t total_ns);
const char *rank_text(struct results *results, const struct all_ranks *run, size_t rank);

/* One row a rank; of more than 64 the `top` that stand out most, in the order of their ranks. */
void add_ranks_table(struct results *results, struct section *section, const struct all_ranks *run,
                     const struct ranks_spread *spread, uint32_t top);

/* The accounts of all ranks together. */
void add_job_ledger_table(struct results *results, struct section *section,
                          const struct all_ranks *run);

/* Collectives by kind, size and what their groups divide: waiting, transfer and bandwidth. */
void add_joint_collectives_table(struct results *results, struct section *section,
                                 const struct all_ranks *run, uint32_t top);

/* The stages of a pipeline, where the layout has any: their bubble, beside the schedule's own. */
void add_pipeline_table(struct results *results, struct section *section,
                        const struct all_ranks *run);

/* How unequal the ranks are. */
void add_imbalance_table(struct results *results, struct section *section,
                         const struct all_ranks *run);

/* The critical path through all ranks; nothing for one rank. */
void add_ranks_path_table(struct results *results, struct section *section,
                          const struct all_ranks *run, uint32_t top);

void add_clocks_table(struct results *results, struct section *section, const struct all_ranks *run,
                      uint32_t top);

/* Each step of each rank, for programs: what a heat map is drawn from. */
void add_rank_steps_table(struct results *results, struct section *section,
                          const struct all_ranks *run);

/* ---- the rank that holds up the others, and what it spends that time on ---- */

/* The account of which the rank has most more than the others, per step. */
struct ranks_culprit {
    size_t rank; /* SIZE_MAX: none stands out */
    bool has_cause;
    enum account cause;
    int64_t own_ns;
    int64_t others_ns; /* the median of the others; of two ranks the other one */
};

struct ranks_culprit find_ranks_culprit(const struct all_ranks *run,
                                        const struct ranks_spread *spread);

/* "idles 22.8 ms per step with nothing recorded, the other rank 20.0 µs"; NULL where `rank` is not
 * the culprit or has no cause. */
const char *culprit_cause(struct results *results, const struct all_ranks *run,
                          const struct ranks_culprit *culprit, size_t rank);

/* Time of a step that each of the other ranks loses, on average, to the straggler. */
int64_t caused_exposed_ns_per_step(const struct all_ranks *run, size_t straggler);

/* What to do about `rank`: by its cause, where it is the culprit. */
const char *culprit_advice(const struct ranks_culprit *culprit, size_t rank);

/* What the report of the job comes to, in one sentence. */
const char *job_headline(struct results *results, const struct all_ranks *run,
                         const struct ranks_spread *spread, const struct ranks_culprit *culprit);

/* ---- changes replayed for all ranks of a run together ---- */

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
