/* Calls in which the ranks of a group do not do the same. */
#ifndef FLOPLEDGER_RANKS_HANG_FLIGHT_MISMATCH_H
#define FLOPLEDGER_RANKS_HANG_FLIGHT_MISMATCH_H

#include "ranks/hang/flight_join.h"

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

/* Whether the member differs from `usual` in that way. */
bool flight_members_differ(const struct flight_join *join, const struct flight_member *member,
                           const struct flight_member *usual, enum flight_difference *difference);

void flight_mismatches_clear(struct flight_mismatches *found);

#endif
