/* A set of intervals of time, of which those that touch are one. Intervals that are added nearly in
 * order take some bytes each: what lies far enough behind is packed. */
#ifndef FLOPLEDGER_BASE_CORE_TIME_SET_H
#define FLOPLEDGER_BASE_CORE_TIME_SET_H

#include "base/core/packed_numbers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    int64_t start_ns;
    int64_t end_ns; /* not before start_ns */
};

enum { TIME_SET_RECENT = 16 };

/* Zeroed is empty. */
struct time_set {
    struct packed_numbers packed; /* how far behind the one before, and how long, in turns */
    int64_t packed_end_ns;        /* of the last of them */
    int64_t packed_ns;            /* the sum of their lengths */
    struct interval recent[TIME_SET_RECENT]; /* behind all those, in order */
    uint32_t recent_count;
    struct interval *late; /* large array, in any order: they belong between those that are packed
                            */
    size_t late_count;
    struct interval longest; /* of those that were packed when late ones were last sorted in */
};

/* As time_set_add, of any. */
void time_set_add_slowly(struct time_set *set, int64_t start_ns, int64_t end_ns);

static inline void time_set_add(struct time_set *set, int64_t start_ns, int64_t end_ns)
{
    struct interval *last = &set->recent[(set->recent_count - 1) % TIME_SET_RECENT];

    if (set->recent_count % TIME_SET_RECENT == 0 || start_ns < last->start_ns)
        time_set_add_slowly(set, start_ns, end_ns);
    else if (start_ns > last->end_ns)
        set->recent[set->recent_count++] = (struct interval){start_ns, end_ns};
    else if (end_ns > last->end_ns)
        last->end_ns = end_ns;
}

/* To be called behind the last that is added, and before it is asked for any. */
void time_set_complete(struct time_set *set);

/* From the start of the first to the end of the last; false where there are none. */
bool time_set_span(const struct time_set *set, struct interval *span);

/* The sum of their lengths. */
int64_t time_set_covered_ns(const struct time_set *set);

/* A walk over them in order. */
struct time_set_walk {
    const struct time_set *set;
    const unsigned char *at;
    int64_t end_ns;
    uint32_t recent;
};
struct time_set_walk time_set_walk_of(const struct time_set *set);
/* False at the end. */
bool time_set_next(struct time_set_walk *walk, struct interval *interval);

/* A walk over several sets by start. Zeroed is over none. */
struct time_sets_walk {
    struct time_set_head {
        struct interval interval; /* the next of the set */
        struct time_set_walk walk;
    } * heads; /* [count], a heap */
    size_t count;
};
void time_sets_walk_add(struct time_sets_walk *walk, const struct time_set *set);
/* False at the end, and nothing is to be freed then. */
bool time_sets_next(struct time_sets_walk *walk, struct interval *interval);

void time_set_clear(struct time_set *set);

#endif
