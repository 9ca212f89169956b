/* What trace_finish does one after the other, each in a file of its own. */
#ifndef FLOPLEDGER_TRACE_TRACE_FINISH_PARTS_H
#define FLOPLEDGER_TRACE_TRACE_FINISH_PARTS_H

#include "trace/trace.h"
#include "trace/trace_builder.h"

#include <stddef.h>

/* Joins kernels with the calls that launched them, and with the operators that did. Part of
 * trace_finish. */

/* Fills trace->launch and trace->launch_operator; host and device events must be sorted. */
void trace_link(struct trace *trace, unsigned threads, bool with_operators);

/* Of a file into which recordings of several processes were merged, keeps that number `part`, and
 * says in read.merged_processes how many there are; of all other files everything. `track_maps`:
 * for each builder its tracks as those of the first, whose names and tracks are those of all. */
void merged_processes_keep_one(struct trace_builder *builders, unsigned count,
                               uint32_t *const *track_maps, uint32_t part);

/* Phases B and E become timed events. Part of trace_finish. */

/* Matches each E with the latest open B of its track (of its own name, where it has one and such a
 * B is open), adds the timed events to the builder and counts what has no partner. The order in the
 * file does not matter. */
void half_events_match(struct trace_builder *builder);

/* The order of events in a trace: by time, and where times are equal by what the events say, never
 * by their place in the file. */

/* Of events on one host thread: start, longest first, kind, name, then all the rest. As strcmp:
 * negative, 0, positive. */
int compare_host_events(const struct trace *trace, const struct event *a, const struct event *b);

/* Of device events: start, end, kind, device, stream, correlation, name, then all the rest. */
int compare_device_events(const struct trace *trace, const struct event *a, const struct event *b);

/* Sorts in place. `compare` is one of the two above, and begins with start_ns. */
void sort_events(const struct trace *trace, struct event *events, size_t count,
                 int (*compare)(const struct trace *, const struct event *, const struct event *));

#endif
