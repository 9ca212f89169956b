/* Events on their way into a trace: appended one by one, taken away chunk by chunk. */
#include "trace/event_store.h"

#include "base/invariant.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The size stands in front of the array, on a line of its own. */
enum { SIZE_BYTES = 64 };

/* Large pages: the kernel hands out and zeroes 2 MiB at a time, and a fault costs as much as one of
 * 4 KiB. */
static const size_t large_page_bytes = (size_t)2 * 1024 * 1024;

static char *map_bytes(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return require_memory(memory == MAP_FAILED ? NULL : memory);
}

/* Memory that begins where a large page does. */
static char *map_large_pages(size_t bytes)
{
    char *memory = map_bytes(bytes + large_page_bytes);
    size_t in_front = (large_page_bytes - (uintptr_t)memory % large_page_bytes) % large_page_bytes;

    if (in_front)
        munmap(memory, in_front);
    if (in_front < large_page_bytes)
        munmap(memory + in_front + bytes, large_page_bytes - in_front);
    (void)madvise(memory + in_front, bytes, MADV_HUGEPAGE);
    return memory + in_front;
}

void *large_array_new(size_t bytes)
{
    const size_t page_bytes = 4096;
    char *memory;

    require_invariant(bytes <= SIZE_MAX / 2, "that an array fits into memory");
    bytes = (bytes + SIZE_BYTES + page_bytes - 1) / page_bytes * page_bytes;
    memory = bytes < large_page_bytes ? map_bytes(bytes) : map_large_pages(bytes);
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

/* The first chunk is small, because most traces are; the others fill one large page. */
static size_t chunk_events(size_t index)
{
    return index == 0 ? EVENT_CHUNK_FIRST : EVENT_CHUNK;
}

void event_store_grow(struct event_store *store)
{
    size_t events = chunk_events(store->chunk_count);
    struct event *chunk = large_array_new(events * sizeof *chunk);

    if (store->chunk_count == store->chunk_capacity) {
        store->chunk_capacity = store->chunk_capacity ? store->chunk_capacity * 2 : 16;
        store->chunks =
            require_memory(realloc(store->chunks, store->chunk_capacity * sizeof *store->chunks));
    }
    store->chunks[store->chunk_count++] = chunk;
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
