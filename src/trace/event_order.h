/* The order of events in a trace: by time, and where times are equal by what the events say, never
 * by their place in the file. */
#ifndef FLOPLEDGER_TRACE_EVENT_ORDER_H
#define FLOPLEDGER_TRACE_EVENT_ORDER_H

#include "trace/trace.h"

#include <stddef.h>

/* Of events on one host thread: start, longest first, kind, name, then all the rest. As strcmp:
 * negative, 0, positive. */
int compare_host_events(const struct trace *trace, const struct event *a, const struct event *b);

/* Of device events: start, end, kind, device, stream, correlation, name, then all the rest. */
int compare_device_events(const struct trace *trace, const struct event *a, const struct event *b);

/* Sorts in place. `compare` is one of the two above, and begins with start_ns. */
void sort_events(const struct trace *trace, struct event *events, size_t count,
                 int (*compare)(const struct trace *, const struct event *, const struct event *));

#endif
