/* What `flopledger inspect` says of a trace. */
#ifndef FLOPLEDGER_SECTIONS_INSPECT_INSPECT_SECTIONS_H
#define FLOPLEDGER_SECTIONS_INSPECT_INSPECT_SECTIONS_H

#include "output/results/results.h"
#include "trace/event_sums.h"
#include "trace/trace.h"

#include <stdint.h>

/* From the first to the last nanosecond of which something is recorded; end < start where nothing
 * is. */
struct recorded_time {
    int64_t start_ns;
    int64_t end_ns;
};

/* Of each track, from its events; track_sums_free() them. */
struct track_sum *sums_of_tracks(const struct trace *trace);

struct recorded_time recorded_time_of(const struct track_sum *sums, uint32_t track_count);

/* Each gives a section of its own; `top` is the number of rows of long tables. */
struct section *describe_file(struct results *results, const struct trace *trace,
                              struct recorded_time time);
struct section *describe_events(struct results *results, const struct trace *trace,
                                struct recorded_time time);
struct section *describe_tracks(struct results *results, const struct trace *trace,
                                const struct track_sum *sums, struct recorded_time time,
                                uint32_t top);
struct section *describe_devices(struct results *results, const struct trace *trace);
struct section *describe_gaps(struct results *results, const struct trace *trace,
                              const struct track_sum *sums, struct recorded_time time,
                              uint32_t top);

#endif
