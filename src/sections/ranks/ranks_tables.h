/* The tables of the overview of all ranks. Each adds nothing where it has nothing to say. */
#ifndef FLOPLEDGER_SECTIONS_RANKS_RANKS_TABLES_H
#define FLOPLEDGER_SECTIONS_RANKS_RANKS_TABLES_H

#include "output/results/results.h"
#include "ranks/all_ranks.h"

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

#endif
