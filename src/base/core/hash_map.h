/* From 64-bit keys to 32-bit values: for counting by a pair of ids in one pass. */
#ifndef FLOPLEDGER_BASE_CORE_HASH_MAP_H
#define FLOPLEDGER_BASE_CORE_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "The map does not hold it"; no value may be this one. */
#define NO_VALUE UINT32_MAX

/* Zeroed is empty. Open addressing, nothing is ever removed singly. */
struct hash_map {
    struct hash_map_slot *slots; /* [slot_count] */
    size_t slot_count;           /* a power of two, or 0 */
    size_t count;
    uint64_t secret; /* 0 until keys lie too near each other */
};

struct hash_map_slot {
    uint64_t key;
    uint32_t value; /* NO_VALUE: the slot is free */
};

/* True where an array by number takes no more memory than a map of `count` numbers, in which most
 * lookups wait for memory. `span`: the last number less the first. */
bool hash_map_is_larger(size_t count, uint64_t span, size_t entry_bytes);

/* Makes room for `count` keys at once. */
void hash_map_reserve(struct hash_map *map, size_t count);

/* The value of `key`, which is `value_if_new` where the map did not hold the key before. Aborts
 * when memory ends. */
uint32_t hash_map_add(struct hash_map *map, uint64_t key, uint32_t value_if_new);

/* `value` is the value of `key` from now on; returns the one before, or NO_VALUE. */
uint32_t hash_map_set(struct hash_map *map, uint64_t key, uint32_t value);

/* The value of `key`, or NO_VALUE. */
uint32_t hash_map_find(const struct hash_map *map, uint64_t key);

void hash_map_clear(struct hash_map *map);

/* One key of two ids. */
static inline uint64_t pair_key(uint32_t high, uint32_t low)
{
    return ((uint64_t)high << 32) | low;
}

#endif
