/* Sums that several reports show: of calls that have a nameId (of the CUDA API, of the operating
 * system), of NVTX ranges by name, of copies and memsets under the names that nsys gives them. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_SUMS_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_SUMS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Groups copies by their direction, memsets as one; the values are durations or bytes. False with
 * `error` set (ERROR_NO_DATA) where the file has neither. */
MUST_USE bool group_copies(struct stats_groups *groups, struct nsys_database *database,
                           bool is_by_bytes, struct error *error);

/* Which ranges count, and what shares a row. */
enum range_sum_kind {
    RANGES_BY_STYLE,    /* all, by style and name */
    RANGES_PUSH_POPPED, /* those that were pushed and popped, by name */
};

/* A row for each name with how long its ranges took. Errors: a database without NVTX ranges. */
MUST_USE bool fill_range_sum(struct stats_table *table, struct nsys_database *database,
                             enum range_sum_kind kind, struct error *error);

/* Groups by nameId. `event_class`: only rows with this eventClass; -1: all. `is_versioned`: names
 * have a version at their end, which is left out. */
struct call_selection {
    const char *table;
    int64_t event_class;
    bool is_versioned;
};

void fill_call_summary(struct stats_table *table, struct nsys_database *database,
                       const struct call_selection *selection);

#endif
