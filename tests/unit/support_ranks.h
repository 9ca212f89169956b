/* Digests of ranks made in memory, for the tests of what joins them. Times are in nanoseconds. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_RANKS_H
#define FLOPLEDGER_TESTS_SUPPORT_RANKS_H

#include "ledger/collective_call.h"
#include "ranks/digest_set.h"
#include "ranks/rank_digest.h"

#include <stdint.h>

/* A rank with one step from 0 to `step_ns`, all of it idle until something is added. */
void made_digest_init(struct rank_digest *digest, int64_t rank, int64_t step_ns);

/* A group; its index for made_call_add. */
uint32_t made_group(struct rank_digest *digest, const char *name, const char *ranks, int64_t size);

/* Adds a call in the step, all of it exposed; calls must be added in order and not overlap. The
 * call that comes back may be changed. `sequence`: -1 for none. */
struct digest_call *made_call_add(struct rank_digest *digest, uint32_t group, int64_t start_ns,
                                  int64_t end_ns, int64_t sequence);

/* Moves all times of the rank: its clock is ahead by so much. */
void made_digest_shift(struct rank_digest *digest, int64_t ns);

#endif
