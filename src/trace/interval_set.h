/* Sets of time: sorted half-open intervals that neither touch nor overlap. */
#ifndef FLOPLEDGER_TRACE_INTERVAL_SET_H
#define FLOPLEDGER_TRACE_INTERVAL_SET_H

#include <stddef.h>
#include <stdint.h>

struct interval {
    int64_t start_ns;
    int64_t end_ns;
};

/* Zeroed is empty. Owns its intervals. */
struct interval_set {
    struct interval *intervals;
    size_t count;
    size_t capacity;
};

void interval_set_clear(struct interval_set *set);

/* Adds [start_ns, end_ns) to a set built in order: `start_ns` must not lie before the last start added. Joins it with the
 * last interval where they touch. Empty or negative intervals are left out. */
void interval_set_append(struct interval_set *set, int64_t start_ns, int64_t end_ns);

/* `result` must be empty and none of the operands. */
void interval_set_union(struct interval_set *result, const struct interval_set *a, const struct interval_set *b);
void interval_set_intersection(struct interval_set *result, const struct interval_set *a, const struct interval_set *b);
void interval_set_difference(struct interval_set *result, const struct interval_set *a, const struct interval_set *b);

int64_t interval_set_total_ns(const struct interval_set *set);
/* The part of the set inside [start_ns, end_ns). O(log n + intervals inside). */
int64_t interval_set_total_within_ns(const struct interval_set *set, int64_t start_ns, int64_t end_ns);
/* Index of the first interval that ends after `time_ns`; set->count where none does. */
size_t interval_set_find(const struct interval_set *set, int64_t time_ns);

#endif
