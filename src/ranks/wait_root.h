/* Where a wait began: the rank that came last to a collective may itself have been held up by
 * another. */
#ifndef FLOPLEDGER_RANKS_WAIT_ROOT_H
#define FLOPLEDGER_RANKS_WAIT_ROOT_H

#include "ranks/call_join.h"
#include "ranks/rank_digest.h"

#include <stdint.h>

/* The rank (index in `digests`) with which the waiting of a joined call began: the one that came
 * last, or whom that one had waited for before. See wait_root.c. */
uint32_t find_wait_root(const struct rank_digest *const *digests, const struct call_joins *joins,
                        struct join_member call);

#endif
