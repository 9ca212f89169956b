/* Who holds up the job: from the ranks that wait to those they wait for, to the end of the chain.
 */
#ifndef FLOPLEDGER_RANKS_HANG_FLIGHT_CAUSES_H
#define FLOPLEDGER_RANKS_HANG_FLIGHT_CAUSES_H

#include "ranks/hang/flight_stalls.h"

#include <stddef.h>
#include <stdint.h>

enum flight_cause_kind {
    FLIGHT_STOPPED_RANK, /* ranks wait for it, and it waits in no collective */
    FLIGHT_SILENT_RANK,  /* ranks wait for it, and it left no dump */
    FLIGHT_CYCLE,        /* each waits for the next one, in different operations */
    FLIGHT_STUCK_CALL,   /* all ranks are in it, and it does not end */
};

struct flight_cause {
    enum flight_cause_kind kind;
    size_t stall;    /* index in flight_stalls.stalls: one that shows it */
    uint32_t *ranks; /* [rank_count]: the ranks it is about, ascending; of a cycle in its order */
    size_t *stalls;  /* [rank_count], of a cycle: in which each of them waits; else NULL */
    size_t rank_count;
    size_t held_count; /* ranks that wait for them, directly or through others */
};

struct flight_causes {
    struct flight_cause *causes; /* [count], those that hold the most ranks first */
    size_t count;
};

/* `found` must be zeroed. */
void flight_find_causes(struct flight_causes *found, const struct flight_stalls *stalls,
                        const struct flight_join *join);

void flight_causes_clear(struct flight_causes *found);

#endif
