/* Many whole numbers of one group, and what is told of them. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_VALUES_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_VALUES_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed one is empty. */
struct stats_values {
    int64_t *values;
    size_t count;
};

struct stats_summary {
    int64_t total;
    size_t count;
    double mean;
    double median;
    int64_t least;
    int64_t largest;
    double deviation; /* of the sample, n - 1 in the denominator; 0 for one value */
};

void stats_values_add(struct stats_values *values, int64_t value);
/* Reorders the values. All 0 where there are none. */
struct stats_summary stats_values_summary(struct stats_values *values);
void stats_values_clear(struct stats_values *values);

#endif
