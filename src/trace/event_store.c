/* Events on their way into a trace: appended one by one, taken away chunk by chunk. */
#include "trace/event_store.h"

#include "base/core/array.h"
#include "base/core/large_array.h"

#include <stdlib.h>

/* The first chunk is small, because most traces are; the others fill one large page. */
static size_t chunk_events(size_t index)
{
    return index == 0 ? EVENT_CHUNK_FIRST : EVENT_CHUNK;
}

void event_store_grow(struct event_store *store)
{
    size_t events = chunk_events(store->chunk_count);
    struct event *chunk = large_array_in_memory(events * sizeof *chunk);

    if (store->chunk_count)
        store->chunks[store->chunk_count - 1] =
            large_array_put_aside(store->chunks[store->chunk_count - 1]);
    ARRAY_ADD(store->chunks, store->chunk_count, chunk);
    store->next = chunk;
    store->end = chunk + events;
}

size_t event_store_chunk_events(const struct event_store *store, size_t index)
{
    return index + 1 < store->chunk_count ? chunk_events(index)
                                          : (size_t)(store->next - store->chunks[index]);
}

size_t event_store_count(const struct event_store *store)
{
    size_t count = 0;

    for (size_t i = 0; i < store->chunk_count; i++)
        count += event_store_chunk_events(store, i);
    return count;
}

void event_store_free_chunk(struct event_store *store, size_t index)
{
    large_array_free(store->chunks[index]);
    store->chunks[index] = NULL;
}

void event_store_clear(struct event_store *store)
{
    for (size_t i = 0; i < store->chunk_count; i++)
        large_array_free(store->chunks[i]);
    free(store->chunks);
    *store = (struct event_store){0};
}
