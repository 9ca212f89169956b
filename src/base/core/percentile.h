/* The n-th smallest of many numbers, without sorting them all. */
#ifndef FLOPLEDGER_BASE_CORE_PERCENTILE_H
#define FLOPLEDGER_BASE_CORE_PERCENTILE_H

#include <stddef.h>
#include <stdint.h>

/* The smallest value that at least `per_cent` of all values do not exceed ("nearest rank"); 50: the
 * median, 100: the largest. 0 where `count` is 0. Reorders `values`. O(count) on average. */
int64_t percentile_of(int64_t *values, size_t count, unsigned per_cent);

#endif
