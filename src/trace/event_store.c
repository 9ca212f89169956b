/* Events on their way into a trace: appended one by one, taken away chunk by chunk. */
#include "trace/event_store.h"

#include "base/invariant.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The size stands in front of the array, on a line of its own. */
enum { SIZE_BYTES = 64 };

void *large_array_new(size_t bytes)
{
    char *memory;

    require_invariant(bytes <= SIZE_MAX - SIZE_BYTES, "that an array fits into memory");
    bytes += SIZE_BYTES;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require_memory(memory == MAP_FAILED ? NULL : memory);
    memcpy(memory, &bytes, sizeof bytes);
    return memory + SIZE_BYTES;
}

void large_array_free(void *array)
{
    size_t bytes;
    char *memory;

    if (!array)
        return;
    memory = (char *)array - SIZE_BYTES;
    memcpy(&bytes, memory, sizeof bytes);
    munmap(memory, bytes);
}

void event_store_grow(struct event_store *store)
{
    struct event *chunk = large_array_new(EVENT_CHUNK * sizeof *chunk);

    if (store->chunk_count == store->chunk_capacity) {
        store->chunk_capacity = store->chunk_capacity ? store->chunk_capacity * 2 : 16;
        store->chunks =
            require_memory(realloc(store->chunks, store->chunk_capacity * sizeof *store->chunks));
    }
    store->chunks[store->chunk_count++] = chunk;
    store->next = chunk;
    store->end = chunk + EVENT_CHUNK;
}

size_t event_store_chunk_events(const struct event_store *store, size_t index)
{
    return index + 1 < store->chunk_count ? (size_t)EVENT_CHUNK
                                          : (size_t)(store->next - store->chunks[index]);
}

size_t event_store_count(const struct event_store *store)
{
    if (!store->chunk_count)
        return 0;
    return (store->chunk_count - 1) * EVENT_CHUNK +
           event_store_chunk_events(store, store->chunk_count - 1);
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
