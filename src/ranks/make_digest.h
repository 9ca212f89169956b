/* Reduces a trace and its ledger to the digest of its rank. */
#ifndef FLOPLEDGER_RANKS_MAKE_DIGEST_H
#define FLOPLEDGER_RANKS_MAKE_DIGEST_H

#include "cost/efficiency/efficiency.h"
#include "cost/modules/model_description.h"
#include "ledger/step_ledger.h"
#include "ranks/rank_digest.h"
#include "trace/trace.h"

/* `digest` must be zeroed; it needs none of the others afterwards. `efficiency` gives FLOPs and the
 * device, `description` (it may be NULL) the tokens of recorded steps. Memory is known where the
 * trace was read with it (read_options.keeps_memory). */
void make_digest(struct rank_digest *digest, const struct trace *trace, const struct ledger *ledger,
                 const struct efficiency *efficiency, const struct model_description *description);

#endif
