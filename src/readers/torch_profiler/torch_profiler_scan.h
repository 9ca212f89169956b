/* Reads one event of traceEvents. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_SCAN_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_SCAN_H

#include "readers/torch_profiler/torch_profiler_event.h"
#include "readers/torch_profiler/torch_profiler_layout.h"

/* Reads the event that begins with the '{' at `at`; see json_scan.h for what comes back. */
const char *torch_event_scan(struct json_scan *scan, const char *at, struct torch_event *event);

/* The same for one of many events that a profiler laid out alike, by what is known of them: NULL
 * where that tells nothing of this one. White space may stand at `at`. Not for a tolerant scan. */
const char *torch_event_scan_known(struct json_scan *scan, const char *at,
                                   struct torch_event *event, struct event_layouts *layouts);

/* By what the processor has; torch_event_scan_known chooses. */
const char *torch_event_scan_known_portable(struct json_scan *scan, const char *at,
                                            struct torch_event *event,
                                            struct event_layouts *layouts);

/* By what is known, else letter by letter: then it is known from here on. */
const char *torch_event_scan_alike(struct json_scan *scan, const char *at,
                                   struct torch_event *event, struct event_layouts *layouts);

/* Which of enum event_arg the key in `args` is; ARG_COUNT: none of them. */
enum event_arg torch_event_arg(const char *key, size_t length);

#endif
