/* Which host event lies inside which. */
#ifndef FLOPLEDGER_COST_MODULES_HOST_NESTING_H
#define FLOPLEDGER_COST_MODULES_HOST_NESTING_H

#include "trace/trace.h"

#include <stdint.h>

/* For each of trace->host: the innermost event of its thread that holds it wholly, or NO_EVENT. One
 * that overlaps another only in part is not inside it. A parent's index is lower than its
 * children's. [trace->host_count]; large_array_free() it. */
uint32_t *find_host_parents(const struct trace *trace);

/* Duration less the durations of the direct children, never negative. [trace->host_count];
 * large_array_free() it. */
int64_t *measure_own_times(const struct trace *trace, const uint32_t *parents);

#endif
