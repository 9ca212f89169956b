/* The summary of calls that have a nameId: of the CUDA API, of the operating system. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_CALLS_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_CALLS_H

#include "readers/nsys/nsys_database.h"
#include "readers/nsys_stats/stats_table.h"

#include <stdbool.h>
#include <stdint.h>

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
