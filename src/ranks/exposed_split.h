/* Exposed communication of a rank, split into waiting for ranks that come late and transfer. */
#ifndef FLOPLEDGER_RANKS_EXPOSED_SPLIT_H
#define FLOPLEDGER_RANKS_EXPOSED_SPLIT_H

#include "ranks/call_join.h"
#include "ranks/rank_digest.h"

#include <stdint.h>

/* They sum to the account of exposed communication. */
struct exposed_parts {
    int64_t waiting_ns;  /* no open call is past the moment at which the last rank came */
    int64_t bubble_ns;   /* of it: in a send or receive */
    int64_t transfer_ns; /* at least one is */
    int64_t unknown_ns;  /* calls that no other rank's trace shows */
};

/* Splits the exposed communication of a rank, adding to steps[step_count]. What of its waiting is
 * for which of its calls is added to waits_ns[call_count]. */
void split_exposed(struct exposed_parts *steps, int64_t *waits_ns, const struct rank_digest *digest,
                   uint32_t rank, const struct call_joins *joins);

#endif
