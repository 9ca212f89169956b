/* Memory that is handed out piece by piece and given back all at once. */
#include "base/core/arena.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Each block is twice the one before: many small arenas take little, a large one has few blocks. */
enum { BLOCK_BYTES_FIRST = 1024, BLOCK_BYTES_MAX = 64 * 1024 };

struct arena_block {
    struct arena_block *next;
    void *given; /* see arena_give: such a block has no room */
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

static size_t block_size(const struct arena_block *last)
{
    if (!last || last->size == 0)
        return BLOCK_BYTES_FIRST;
    return last->size < BLOCK_BYTES_MAX / 2 ? 2 * last->size : BLOCK_BYTES_MAX;
}

/* Zeroed: every structure in an arena begins as "not known" or empty. */
static struct arena_block *block_new(const struct arena_block *last, size_t bytes)
{
    size_t usual = block_size(last);
    size_t size = bytes > usual ? bytes : usual;
    struct arena_block *block = NULL;

    if (size <= SIZE_MAX - sizeof *block)
        block = calloc(1, sizeof *block + size);
    if (!block)
        end_out_of_memory();
    block->size = size;
    return block;
}

/* A piece that is larger than what is left begins a block of its own size; the rest of the
 * block before is lost, which is less than a piece. */
void *arena_allocate(struct arena *arena, size_t bytes)
{
    const size_t alignment = alignof(max_align_t);
    struct arena_block *block = arena->blocks;
    void *result;

    if (bytes > SIZE_MAX - alignment)
        end_out_of_memory();
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (!block || block->size - block->used < bytes) {
        block = block_new(arena->blocks, bytes);
        block->next = arena->blocks;
        arena->blocks = block;
    }
    result = block->bytes + block->used;
    block->used += bytes;
    return result;
}

/* A length of SIZE_MAX would make room for nothing when one is added. */
char *arena_copy_text(struct arena *arena, const char *text, size_t length)
{
    char *copy;

    if (length == SIZE_MAX)
        end_out_of_memory();
    copy = arena_allocate(arena, length + 1);
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* At the end of the list: the newest block of the first arena has room still. */
void arena_adopt(struct arena *arena, struct arena *from)
{
    struct arena_block **end = &arena->blocks;

    while (*end)
        end = &(*end)->next;
    *end = from->blocks;
    from->blocks = NULL;
}

/* Behind the newest block, which has room. */
void arena_give(struct arena *arena, void *allocated)
{
    struct arena_block **place = arena->blocks ? &arena->blocks->next : &arena->blocks;
    struct arena_block *block = require_memory(calloc(1, sizeof *block));

    block->given = allocated;
    block->next = *place;
    *place = block;
}

/* A list without a stored capacity: it is a power of two, and so the count tells when it is
 * full. The old one stays in the arena, which in the whole is less than the list itself. */
void *arena_list_with_room(struct arena *arena, void *list, size_t count, size_t element_bytes)
{
    enum { FIRST = 4 };
    size_t bytes;
    void *larger;

    if (count > 0 && (count < FIRST || (count & (count - 1)) != 0))
        return list;
    if (__builtin_mul_overflow(count ? 2 * count : FIRST, element_bytes, &bytes))
        end_out_of_memory();
    larger = arena_allocate(arena, bytes);
    if (count > 0)
        memcpy(larger, list, count * element_bytes);
    return larger;
}

void arena_clear(struct arena *arena)
{
    if (!arena)
        return;
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;

        free(arena->blocks->given);
        free(arena->blocks);
        arena->blocks = next;
    }
}
