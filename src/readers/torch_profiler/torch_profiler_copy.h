/* The text of a trace of torch.profiler, piece by piece as it stands in the file: for a copy of it
 * with something added. In bounded memory. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_COPY_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_COPY_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stddef.h>
#include <stdint.h>

/* Takes the pieces in the order of the file; texts are gone when a function returns. */
struct trace_text_sink {
    void *context;
    /* A member of the outermost object beside the events: its key and its value as written. */
    void (*read_member)(void *context, const char *key, const char *value);
    /* An event, from '{' to '}'. */
    void (*parse_event)(void *context, const char *text, size_t length);
};

/* What was left out: pieces that are no JSON, and an event in whose middle the file ends. */
struct trace_text_loss {
    int64_t damaged_events;
    bool is_cut;
};

/* Errors (ERROR_INPUT): the file cannot be read, or holds no array of events. */
MUST_USE bool copy_trace_text(const char *path, const struct trace_text_sink *sink,
                              struct trace_text_loss *loss, struct error *error);

/* A place in the text of an event: its key's value, as written. */
struct event_member {
    const char *key;
    size_t key_length;
    const char *value; /* of a string the quote that opens it */
    size_t value_length;
};

/* Calls `take` for each member of the object that `text` begins with; false where it is no JSON.
 * The text must be one that parse_event was given, or the value of a member of it. */
bool walk_event_members(const char *text, size_t length,
                        void (*take)(void *context, const struct event_member *member),
                        void *context);

#endif
