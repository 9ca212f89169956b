/* The critical path through all ranks: which rank it runs through, and how long.
 *
 * It begins at the end of the rank that is done last, and goes back along that rank's own chain to
 * the end of the collective that the chain came after; there on to the rank that came to it last,
 * and along the chain of that one. Time is by the aligned clocks. */
#ifndef FLOPLEDGER_RANKS_RANKS_PATH_H
#define FLOPLEDGER_RANKS_RANKS_PATH_H

#include "ledger/chain_part.h"
#include "ranks/all_ranks.h"

#include <stdbool.h>
#include <stdint.h>

/* What of the path lies on one rank. */
struct rank_path_share {
    int64_t parts_ns[CHAIN_PART_COUNT];
    int64_t transfer_ns; /* collectives after this rank had come, as the last */
    int64_t unknown_ns;  /* communication that no other rank's trace shows: waiting and transfer */
    uint32_t late_count; /* collectives of the path that it came to last */
};

struct ranks_path {
    bool is_known;
    uint32_t lacking;    /* where not: the rank (index) whose chains are not known */
    int64_t length_ns;   /* what all shares sum to */
    int64_t recorded_ns; /* from the first rank's start to the last one's end, by aligned clocks */
    struct rank_path_share *shares; /* [run->count] */
};

int64_t rank_path_share_ns(const struct rank_path_share *share);

/* `path` must be zeroed. */
void find_ranks_path(struct ranks_path *path, const struct all_ranks *run);

void ranks_path_clear(struct ranks_path *path);

#endif
