/* Turns the text of events into events of a trace_builder. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_STORE_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_STORE_H

#include "readers/torch_profiler_event.h"
#include "trace/trace_builder.h"

/* What is remembered from one event to the next; a zeroed one with `builder` set is ready. */
struct torch_store {
    struct trace_builder *builder;
    char *scratch; /* for texts with escapes */
    size_t scratch_size;
};

void torch_store_event(struct torch_store *store, const struct torch_event *event);

/* The string in the builder's pool, its escapes resolved. */
uint32_t torch_store_string(struct torch_store *store, const struct json_slice *slice);

void torch_store_clear(struct torch_store *store);

#endif
