/* Turns the text of events into events of a trace_builder. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_STORE_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_STORE_H

#include "readers/ascend/ascend_rows.h"
#include "readers/torch_profiler/torch_profiler_event.h"
#include "readers/torch_profiler/torch_profiler_layout.h"
#include "readers/torch_profiler/torch_profiler_memo.h"
#include "trace/trace_builder.h"

#include <stdbool.h>

/* Takes the text of events in place of the builder. The text is gone when it returns. */
struct torch_tap {
    void (*take)(void *context, const char *text, size_t length);
    void *context;
};

/* What is remembered from one event to the next; a zeroed one with `builder` set is ready. */
struct torch_store {
    struct trace_builder *builder;
    const struct torch_tap *tap; /* NULL: none. Events that are no JSON do not get there */
    bool keeps_memory;           /* see struct read_options */
    struct ascend_rows rows;     /* events without a category */
    char *scratch;               /* for texts with escapes */
    size_t scratch_size;
    struct string_pool arrays; /* texts of arrays as written */
    uint32_t *array_strings;   /* for each of them the string in the builder's pool, on one line */
    size_t array_string_capacity;
    uint8_t *name_facts; /* for each string of the builder's pool: bits, see torch_profiler_store.c
                          */
    size_t name_fact_count;
    struct event_layouts layouts;
    struct category_memo categories[CATEGORY_MEMOS];
    struct track_memo tracks[TRACK_MEMOS];
    struct name_memo names[NAME_MEMOS];
};

void torch_store_event(struct torch_store *store, const struct torch_event *event);

/* An event that another format tells in the same words: all of it but its times, and its category
 * in the builder's pool. False for what this program added to a trace itself. */
bool torch_store_convert(struct torch_store *store, const struct torch_event *text,
                         struct event *event, uint32_t *category);

/* The string in the builder's pool, its escapes resolved. */
uint32_t torch_store_string(struct torch_store *store, const struct json_slice *slice);

void torch_store_clear(struct torch_store *store);

#endif
