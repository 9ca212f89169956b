/* How far the clocks of the ranks are apart, from collectives that end on all ranks at one moment.
 */
#ifndef FLOPLEDGER_RANKS_RANK_CLOCKS_H
#define FLOPLEDGER_RANKS_RANK_CLOCKS_H

#include "ranks/call_join.h"
#include "ranks/rank_digest.h"

#include <stdbool.h>
#include <stdint.h>

struct rank_clock {
    bool is_known;       /* joins tie it to the clock of the first rank */
    int64_t offset_ns;   /* its clock less that of the first rank */
    int64_t residual_ns; /* what is left between its ends and the common ones: the median, as a size
                          */
    int64_t residual_max_ns;
    uint32_t call_count; /* collectives that tell */
};

/* Between the first and the last end of one collective. */
struct end_skew {
    uint32_t count; /* collectives */
    int64_t least_ns;
    int64_t median_ns;
    int64_t most_ns;
};

struct rank_clocks {
    struct rank_clock *clocks; /* [digest_count] */
    struct end_skew as_recorded;
    struct end_skew aligned; /* only collectives whose members all are known */
};

/* `clocks` must be zeroed. */
void align_clocks(struct rank_clocks *clocks, const struct rank_digest *const *digests,
                  const struct call_joins *joins);
void rank_clocks_clear(struct rank_clocks *clocks);

#endif
