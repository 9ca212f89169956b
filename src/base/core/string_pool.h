/* Keeps each distinct string once and names it by a small number. */
#ifndef FLOPLEDGER_BASE_CORE_STRING_POOL_H
#define FLOPLEDGER_BASE_CORE_STRING_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Id 0 is always the empty string; a zeroed pool is an empty pool. */
struct string_pool {
    struct string_pool_entry *entries; /* [count] */
    uint32_t *slots;                   /* open addressing: [slot_count], id + 1, 0 = free */
    size_t count;
    size_t slot_count;                /* a power of two, or 0 */
    uint64_t secret;                  /* 0 until strings lie too near each other */
    struct string_pool_block *blocks; /* the bytes; they never move */
};

struct string_pool_entry {
    const char *text; /* NUL after its end; may hold NUL bytes inside */
    uint32_t length;
    uint32_t hash;
};

/* The id of the string, which is copied into the pool when it is new. Ids count up from 0 in the
 * order of first sight. Ends the program when memory is out. */
uint32_t string_pool_add(struct string_pool *pool, const char *text, size_t length);

/* The id, or UINT32_MAX where the pool does not hold it. */
uint32_t string_pool_find(const struct string_pool *pool, const char *text, size_t length);

/* NUL-terminated, owned by the pool and valid until string_pool_clear. `id` must be in the pool (0
 * always is). */
static inline const char *string_pool_text(const struct string_pool *pool, uint32_t id)
{
    return id < pool->count ? pool->entries[id].text : "";
}

size_t string_pool_length(const struct string_pool *pool, uint32_t id);

/* Number of strings, the empty one included: ids are below it. */
size_t string_pool_count(const struct string_pool *pool);

void string_pool_clear(struct string_pool *pool);

#endif
