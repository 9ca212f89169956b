/* Rows of a database put into groups, and a summary of each group as a row of a report. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_GROUPS_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_GROUPS_H

#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "readers/nsys_stats/stats_table.h"

#include <stdbool.h>
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

struct stats_group {
    struct stats_values values;
    int64_t order;     /* groups of equal totals stand in this order, then by name, then by style */
    const char *name;  /* NULL: none is known; lives in the pool or outside */
    const char *style; /* of a range; NULL: not a matter of style */
};

/* A zeroed one is empty. */
struct stats_groups {
    struct stats_group *groups; /* [count] */
    uint32_t count;
    struct hash_map by_key;
    struct string_pool names; /* for names that were put together */
};

/* The group of `key`; a new one has name NULL and order `key`. */
struct stats_group *stats_groups_get(struct stats_groups *groups, uint64_t key);

/* The group of this name, which is copied; NULL is a group of its own. Its order is 0. */
struct stats_group *stats_groups_named(struct stats_groups *groups, const char *name);
/* Likewise of a name and a style, which is static. */
struct stats_group *stats_groups_styled(struct stats_groups *groups, const char *name,
                                        const char *style);

/* The table of most summaries: share of the time, total, count, mean, median, least, largest,
 * deviation, (style,) name; the largest total first. `is_by_count`: equal totals stand by their
 * number of values. */
void stats_groups_fill(struct stats_groups *groups, struct stats_table *table, bool is_by_count);

void stats_groups_clear(struct stats_groups *groups);

/* As strcmp, with NULL before all. */
int compare_nullable(const char *a, const char *b);

#endif
