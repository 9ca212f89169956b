/* Work that all-to-all calls move between ranks in unequal parts: with a mixture of experts, what a
 * rank's experts get. */
#ifndef FLOPLEDGER_RANKS_ROUTED_WORK_H
#define FLOPLEDGER_RANKS_ROUTED_WORK_H

#include "ranks/all_ranks.h"

#include <stdbool.h>
#include <stdint.h>

/* Fills bytes[run->count] with what was routed to each rank in its steps; -1 where no all-to-all of
 * the rank tells what it sends and receives, on all ranks that are here. Of a collective that
 * brings the ranks unequal parts, what a rank receives is routed to it; of one to which they
 * contribute unequal parts, what it sends back. */
void sum_routed_bytes(int64_t *bytes, const struct all_ranks *run);

/* Is there any all-to-all in the run? */
bool has_all_to_all(const struct all_ranks *run);

#endif
