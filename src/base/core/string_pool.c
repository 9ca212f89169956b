/* Keeps each distinct string once and names it by a small number. */
#include "base/core/string_pool.h"

#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024, FIRST_SLOTS = 1024 };

struct string_pool_block {
    struct string_pool_block *next;
    size_t used;
    size_t size;
    char bytes[];
};

static inline uint64_t load_8(const char *text)
{
    uint64_t value;

    memcpy(&value, text, sizeof value);
    return value;
}

static inline uint64_t load_4(const char *text)
{
    uint32_t value;

    memcpy(&value, text, sizeof value);
    return value;
}

/* All bytes count; reads nothing outside the text. `secret` as in base/core/hash_map.c: 0 until
 * strings lie too near each other. */
static uint32_t hash_text(const char *text, size_t length, uint64_t secret)
{
    const uint64_t first = HASH_MULTIPLIER;
    const uint64_t second = 0xd6e8feb86659fd93u ^ secret;
    uint64_t hash = (uint64_t)length * first;
    const char *end = text + length;

    if (length >= 8) {
        for (; end - text > 16; text += 16)
            hash = hash_mix(load_8(text) ^ first ^ hash, load_8(text + 8) ^ second);
        if (end - text > 8)
            hash = hash_mix(load_8(text) ^ first ^ hash, second);
        hash = hash_mix(load_8(end - 8) ^ first ^ hash, second);
    } else if (length >= 4) {
        hash = hash_mix((load_4(text) << 32 | load_4(end - 4)) ^ hash, second);
    } else if (length) {
        uint64_t bytes = (uint64_t)(unsigned char)text[0] << 16 |
                         (uint64_t)(unsigned char)text[length / 2] << 8 | (unsigned char)end[-1];

        hash = hash_mix(bytes ^ hash, second);
    }
    return (uint32_t)(hash ^ hash >> 32);
}

/* Long strings have a block of their own behind the newest, so that the usual block goes on
 * being filled. */
static char *keep_text(struct string_pool *pool, const char *text, size_t length)
{
    struct string_pool_block *block = pool->blocks;
    char *copy;

    if (!block || block->size - block->used <= length) {
        size_t size = length >= BLOCK_BYTES / 4 ? length + 1 : BLOCK_BYTES;

        require_invariant(length < UINT32_MAX, "that a string is shorter than 4 GiB");
        block = require_memory(malloc(sizeof *block + size));
        *block = (struct string_pool_block){.size = size};
        if (pool->blocks && size != BLOCK_BYTES) { /* keep filling the newest usual block */
            block->next = pool->blocks->next;
            pool->blocks->next = block;
        } else {
            block->next = pool->blocks;
            pool->blocks = block;
        }
    }
    copy = block->bytes + block->used;
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    block->used += length + 1;
    return copy;
}

/* Hashes are kept with the entries: growing does not read the texts again. */
static void string_pool_put_anew(struct string_pool *pool, size_t slot_count)
{
    uint32_t *slots = require_memory(calloc(slot_count, sizeof *slots));

    for (size_t id = 0; id < pool->count; id++) {
        size_t at = pool->entries[id].hash & (slot_count - 1);

        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = (uint32_t)id + 1;
    }
    free(pool->slots);
    pool->slots = slots;
    pool->slot_count = slot_count;
}

/* Strings that were made to fall on one place fall apart: see base/core/hash_map.c. */
static void put_anew_with_secret(struct string_pool *pool)
{
    pool->secret = hash_secret();
    for (size_t id = 0; id < pool->count; id++) {
        struct string_pool_entry *entry = &pool->entries[id];

        entry->hash = hash_text(entry->text, entry->length, pool->secret);
    }
    string_pool_put_anew(pool, pool->slot_count);
}

/* 2^32 - 1 is "no string", hence fewer than that. */
static uint32_t add_entry(struct string_pool *pool, const char *text, size_t length, uint32_t hash)
{
    ARRAY_ROOM(pool->entries, pool->count);
    require_invariant(pool->count < UINT32_MAX - 1, "that there are fewer than 2^32 strings");
    pool->entries[pool->count] = (struct string_pool_entry){
        .text = keep_text(pool, text, length),
        .length = (uint32_t)length,
        .hash = hash,
    };
    return (uint32_t)pool->count++;
}

/* Hash and length first: memcmp is asked only of what is nearly certainly equal. */
static bool is_entry(const struct string_pool_entry *entry, const char *text, size_t length,
                     uint32_t hash)
{
    return entry->hash == hash && entry->length == length &&
           (length == 0 || memcmp(entry->text, text, length) == 0);
}

/* The slot that holds the string, or the free one where it belongs. The pool must have slots. */
static size_t find_slot(const struct string_pool *pool, const char *text, size_t length,
                        uint32_t hash)
{
    size_t at = hash & (pool->slot_count - 1);

    while (pool->slots[at] && !is_entry(&pool->entries[pool->slots[at] - 1], text, length, hash))
        at = (at + 1) & (pool->slot_count - 1);
    return at;
}

/* Makes the empty string id 0. Id 0 is the empty string: a zeroed structure has no text. */
static void begin(struct string_pool *pool)
{
    string_pool_put_anew(pool, FIRST_SLOTS);
    pool->slots[find_slot(pool, "", 0, hash_text("", 0, 0))] = 1;
    add_entry(pool, "", 0, hash_text("", 0, 0));
}

/* The search comes before growing, since most strings are known: then nothing is moved. */
uint32_t string_pool_add(struct string_pool *pool, const char *text, size_t length)
{
    uint32_t hash = hash_text(text, length, pool->secret);
    size_t slot;

    if (!pool->slot_count)
        begin(pool);
    slot = find_slot(pool, text, length, hash);
    if (pool->slots[slot])
        return pool->slots[slot] - 1;
    if (((slot - hash) & (pool->slot_count - 1)) >= FAR_FROM_ITS_PLACE) {
        put_anew_with_secret(pool);
        hash = hash_text(text, length, pool->secret);
        slot = find_slot(pool, text, length, hash);
    }
    if (pool->count * 2 >= pool->slot_count) {
        string_pool_put_anew(pool, pool->slot_count * 2);
        slot = find_slot(pool, text, length, hash);
    }
    pool->slots[slot] = (uint32_t)pool->count + 1;
    return add_entry(pool, text, length, hash);
}

uint32_t string_pool_find(const struct string_pool *pool, const char *text, size_t length)
{
    size_t slot;

    if (!pool->slot_count)
        return length == 0 ? 0 : UINT32_MAX;
    slot = find_slot(pool, text, length, hash_text(text, length, pool->secret));
    return pool->slots[slot] ? pool->slots[slot] - 1 : UINT32_MAX;
}

size_t string_pool_length(const struct string_pool *pool, uint32_t id)
{
    return id < pool->count ? pool->entries[id].length : 0;
}

size_t string_pool_count(const struct string_pool *pool)
{
    return pool->count ? pool->count : 1;
}

void string_pool_clear(struct string_pool *pool)
{
    if (!pool)
        return;
    while (pool->blocks) {
        struct string_pool_block *next = pool->blocks->next;

        free(pool->blocks);
        pool->blocks = next;
    }
    free(pool->entries);
    free(pool->slots);
    *pool = (struct string_pool){0};
}
