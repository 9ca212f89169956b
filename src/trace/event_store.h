/* Events on their way into a trace: appended one by one, taken away chunk by chunk, so that memory
 * is given back while the final arrays grow. */
#ifndef FLOPLEDGER_TRACE_EVENT_STORE_H
#define FLOPLEDGER_TRACE_EVENT_STORE_H

#include "trace/event.h"

#include <stddef.h>

/* A zeroed store is empty. */
struct event_store {
    struct event **chunks; /* [chunk_count] */
    size_t chunk_count;
    struct event *next; /* where the next event goes */
    struct event *end;  /* of the newest chunk */
};

/* Events of the first chunk, and of each other: they fill 2 MiB with what large_array_new needs for
 * itself. */
enum { EVENT_CHUNK_FIRST = 2048, EVENT_CHUNK = (2 * 1024 * 1024 - 64) / sizeof(struct event) };

/* Room for a new chunk; called by event_store_add. */
void event_store_grow(struct event_store *store);

static inline void event_store_add(struct event_store *store, const struct event *event)
{
    if (store->next == store->end)
        event_store_grow(store);
    *store->next++ = *event;
}

size_t event_store_count(const struct event_store *store);

/* Number of events in chunk `index`. */
size_t event_store_chunk_events(const struct event_store *store, size_t index);

/* Gives the memory of one chunk back; its events are gone. */
void event_store_free_chunk(struct event_store *store, size_t index);

void event_store_clear(struct event_store *store);

#endif
