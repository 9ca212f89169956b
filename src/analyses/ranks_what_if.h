/* Changes replayed for all ranks of a run together. */
#ifndef FLOPLEDGER_ANALYSES_RANKS_WHAT_IF_H
#define FLOPLEDGER_ANALYSES_RANKS_WHAT_IF_H

#include "ranks/all_ranks.h"
#include "replay/rank_course.h"
#include "replay/scenario.h"
#include "results/results.h"

#include <stddef.h>

/* What the ranks do, to be replayed with each of `scenarios`. */
struct ranks_changes {
    const struct rank_courses *courses; /* of the traces that were read, in any order; taken with
                                           `scenarios` */
    const struct scenario *scenarios;   /* [scenario_count] */
    size_t scenario_count;
};

/* Adds to `section`, which compare_ranks made of `run`. Nothing where there are no scenarios. */
void add_ranks_what_if(struct results *results, struct section *section,
                       const struct all_ranks *run, const struct ranks_changes *changes);

#endif
