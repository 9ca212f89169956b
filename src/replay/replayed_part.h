/* Which steps of a long recording are replayed: its graph would need more memory than the trace. */
#ifndef FLOPLEDGER_REPLAY_REPLAYED_PART_H
#define FLOPLEDGER_REPLAY_REPLAYED_PART_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    REPLAYED_WORK_MAX = 100000,  /* kernels, copies and memsets; the graph has about 600 bytes each
                                  */
    REPLAYED_STEP_MAX = 1000000, /* a single step with more than that is not replayed */
};

struct replayed_part {
    struct ledger ledger; /* of these steps: borrows the whole ledger's arrays, not to be cleared */
    uint32_t first;       /* the first of them, in the whole ledger */
    bool is_all;          /* and may be replayed */
    bool is_too_large;    /* one step alone is more than REPLAYED_STEP_MAX */
};

/* Consecutive steps around the typical one that hold about `work_max` pieces of work on average, at
 * least one step; all of them where that is enough. The ledger must have a step. */
struct replayed_part choose_replayed_part(const struct trace *trace, const struct ledger *ledger,
                                          uint32_t work_max);

#endif
