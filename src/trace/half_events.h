/* Phases B and E become timed events. Part of trace_finish. */
#ifndef FLOPLEDGER_TRACE_HALF_EVENTS_H
#define FLOPLEDGER_TRACE_HALF_EVENTS_H

#include "trace/trace_builder.h"

/* Matches each E with the latest open B of its track (of its own name, where it has one and such a
 * B is open), adds the timed events to the builder and counts what has no partner. The order in the
 * file does not matter. */
void half_events_match(struct trace_builder *builder);

#endif
