/* The array of events of a trace, or a piece of it: one after the other, past what is damaged. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_EVENTS_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_EVENTS_H

#include "base/json/json_window.h"
#include "readers/torch_profiler/torch_profiler_store.h"

enum torch_events_end {
    EVENTS_CLOSED,  /* behind the ']' */
    EVENTS_STOPPED, /* at the first event that begins at or behind the byte to stop at */
    EVENTS_CUT,     /* the input ends before the array does */
};

/* The window stands behind the '[' or behind an event; torch_events_read moves it on. Events begin
 * to be left to somebody else at `stop_byte` (INT64_MAX: never). */
enum torch_events_end torch_events_read(struct json_window *window, struct torch_store *store,
                                        int64_t stop_byte);

/* The place of the first byte from the window's place on where an event seems to begin behind
 * another: "}, {" and a usual key; -1 where there is none before `stop_byte`. Moves the window. */
int64_t torch_events_find(struct json_window *window, int64_t stop_byte);

#endif
