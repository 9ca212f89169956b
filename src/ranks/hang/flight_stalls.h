/* Operations that ranks are in and that are not complete, and the ranks they wait for. */
#ifndef FLOPLEDGER_RANKS_HANG_FLIGHT_STALLS_H
#define FLOPLEDGER_RANKS_HANG_FLIGHT_STALLS_H

#include "ranks/hang/flight_join.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rank that a stalled operation lacks. */
struct flight_missing {
    uint32_t rank;
    bool has_dump; /* without one it is not known whether it has called it */
};

struct flight_stall {
    uint32_t group;
    size_t call;                   /* index in flight_join.calls; SIZE_MAX: point-to-point */
    struct flight_member *waiting; /* [waiting_count]: those for which it is the first one of the
                                      group that is not complete, by rank */
    size_t waiting_count;
    struct flight_missing *missing; /* [missing_count], by rank */
    size_t missing_count;
    size_t unknown_count;   /* ranks that may have called it: their rings have lost it */
    size_t completed_count; /* ranks that have completed it */
};

struct flight_stalls {
    struct flight_stall *stalls; /* [count]: by group and number, then point-to-point */
    size_t count;
};

/* `found` must be zeroed. */
void flight_find_stalls(struct flight_stalls *found, const struct flight_join *join);

void flight_stalls_clear(struct flight_stalls *found);

#endif
