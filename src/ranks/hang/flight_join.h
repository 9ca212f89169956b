/* The collectives of all ranks side by side: those of one number of one group are one call. */
#ifndef FLOPLEDGER_RANKS_HANG_FLIGHT_JOIN_H
#define FLOPLEDGER_RANKS_HANG_FLIGHT_JOIN_H

#include "trace/flight_dumps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flight_member {
    uint32_t dump;  /* index in flight_dumps.dumps */
    uint32_t entry; /* index in its entries */
};

struct flight_call {
    uint32_t group;
    uint32_t sequence;
    uint32_t ordinal;
    size_t first; /* its members: flight_join.members[first...first + count), by rank */
    size_t count;
};

/* A zeroed one is empty. */
struct flight_join {
    const struct flight_dumps *dumps;
    struct flight_member *members;
    struct flight_call *calls; /* [call_count], by group, number and ordinal */
    size_t call_count;
};

enum flight_absence {
    FLIGHT_CALLED,      /* there is an entry */
    FLIGHT_NOT_REACHED, /* the rank has not called it yet */
    FLIGHT_OVERWRITTEN, /* the ring has lost it, or it can't be told */
    FLIGHT_NO_DUMP,
};

/* `dumps` must outlive it and be finished. Point-to-point operations and the marks of coalesced
 * calls are left out. */
void flight_join_calls(struct flight_join *join, const struct flight_dumps *dumps);

/* What became of a rank of the call's group in it. */
enum flight_absence flight_absence_of(const struct flight_join *join,
                                      const struct flight_call *call, uint32_t rank);

const struct flight_entry *flight_entry_of(const struct flight_join *join,
                                           const struct flight_member *member);
uint32_t flight_rank_of(const struct flight_join *join, const struct flight_member *member);

/* The call's member of that rank; NULL where it has none. */
const struct flight_member *flight_member_of(const struct flight_join *join,
                                             const struct flight_call *call, uint32_t rank);

/* The call of that group, number and ordinal; NULL where no rank has it. */
const struct flight_call *flight_find_call(const struct flight_join *join, uint32_t group,
                                           uint32_t sequence, uint32_t ordinal);

void flight_join_clear(struct flight_join *join);

#endif
