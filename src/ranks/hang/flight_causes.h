/* Who holds up the job: from the ranks that wait to those they wait for, to the end of the chain;
 * and where ranks that came made different calls. */
#ifndef FLOPLEDGER_RANKS_HANG_FLIGHT_CAUSES_H
#define FLOPLEDGER_RANKS_HANG_FLIGHT_CAUSES_H

#include "ranks/hang/flight_join.h"
#include "ranks/hang/flight_stalls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flight_difference {
    FLIGHT_OTHER_OPERATION,
    FLIGHT_OTHER_TYPE,
    FLIGHT_OTHER_SIZE,
    FLIGHT_UNEVEN_EXCHANGE, /* of an all-to-all: more is sent than received, or less */
};

/* How the rank's later calls lie against the others'. */
enum flight_shift {
    FLIGHT_NO_SHIFT,
    FLIGHT_SKIPPED_ONE, /* its next calls are the others' one further on: it left this one out */
    FLIGHT_EXTRA_ONE,   /* its calls from the next on are the others' from here: it made one more */
    FLIGHT_SWAPPED,     /* this call and the next one the other way round */
};

/* The first call of a group in which a rank differs, with what the most ranks do. */
struct flight_mismatch {
    size_t call;      /* index in flight_join.calls */
    size_t odd;       /* index in flight_join.members: the first rank that differs */
    size_t usual;     /* likewise: the first of those that agree */
    size_t odd_count; /* ranks that differ in this call */
    size_t later;     /* calls of the group after it that differ, too */
    int64_t sent;     /* elements, of FLIGHT_UNEVEN_EXCHANGE */
    int64_t received;
    enum flight_difference difference;
    enum flight_shift shift;
};

struct flight_mismatches {
    struct flight_mismatch *mismatches; /* [count], one a group at most */
    size_t count;
};

/* `found` must be zeroed. */
void flight_find_mismatches(struct flight_mismatches *found, const struct flight_join *join);

void flight_mismatches_clear(struct flight_mismatches *found);

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
