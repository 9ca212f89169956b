/* Summaries of NVTX ranges by name. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_RANGE_SUM_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_RANGE_SUM_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys_stats/stats_table.h"

#include <stdbool.h>

/* Which ranges count, and what shares a row. */
enum range_sum_kind {
    RANGES_BY_STYLE,    /* all, by style and name */
    RANGES_PUSH_POPPED, /* those that were pushed and popped, by name */
};

/* A row for each name with how long its ranges took. Errors: a database without NVTX ranges. */
MUST_USE bool fill_range_sum(struct stats_table *table, struct nsys_database *database,
                             enum range_sum_kind kind, struct error *error);

#endif
