/* Changes replayed for all ranks of a run together. */
#ifndef FLOPLEDGER_SECTIONS_RANKS_RANKS_WHAT_IF_H
#define FLOPLEDGER_SECTIONS_RANKS_RANKS_WHAT_IF_H

#include "output/results/results.h"
#include "replay/rank_replay_input.h"
#include "replay/scenario.h"
#include "sections/ranks/ranks_replay.h"

#include <stddef.h>

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
