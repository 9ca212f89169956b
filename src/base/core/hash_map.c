/* From 64-bit keys to 32-bit values: open addressing with linear probing, at most half full. */
#include "base/core/hash_map.h"

#include "base/core/large_array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Keys are correlations, addresses and packed pairs: near each other, rarely hostile, and never
 * taken out again. That is why there are no tombstones, why a multiplication is hash enough, and
 * why linear probing pays: at most half full, a search ends after 1.5 slots on average where the
 * key is there and 2.5 where it is not, mostly in one cache line. A free slot is marked by its
 * value, so that every key, 0 too, can stand in the map. */
enum { FIRST_SLOTS = 64 };

static size_t first_slot(const struct hash_map *map, uint64_t key)
{
    uint64_t mixed = key * 0x9E3779B97F4A7C15u; /* 2^64 / golden ratio: spreads neighbouring keys */

    return (size_t)(mixed ^ (mixed >> 32)) & (map->slot_count - 1);
}

/* The slot that holds `key`, or the free one where it belongs. */
static struct hash_map_slot *slot_of(const struct hash_map *map, uint64_t key)
{
    size_t i = first_slot(map, key);

    while (map->slots[i].value != NO_VALUE && map->slots[i].key != key)
        i = (i + 1) & (map->slot_count - 1);
    return &map->slots[i];
}

/* All slots are put in anew: with another mask the place of each key is another. Doubling makes
 * this a constant cost of each key that is added. */
static void grow_to(struct hash_map *map, size_t slot_count)
{
    struct hash_map bigger = {.slot_count = slot_count, .count = map->count};

    bigger.slots = large_array_new(bigger.slot_count * sizeof *bigger.slots);
    for (size_t i = 0; i < bigger.slot_count; i++)
        bigger.slots[i] = (struct hash_map_slot){.value = NO_VALUE};
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].value != NO_VALUE)
            *slot_of(&bigger, map->slots[i].key) = map->slots[i];
    large_array_free(map->slots);
    *map = bigger;
}

/* The slot of `key`, which is put into the map with `value_if_new` where it was not in it. */
static struct hash_map_slot *add(struct hash_map *map, uint64_t key, uint32_t value_if_new)
{
    struct hash_map_slot *slot;

    assert(value_if_new != NO_VALUE);
    if (2 * (map->count + 1) > map->slot_count)
        grow_to(map, map->slot_count ? 2 * map->slot_count : FIRST_SLOTS);
    slot = slot_of(map, key);
    if (slot->value == NO_VALUE) {
        *slot = (struct hash_map_slot){.key = key, .value = value_if_new};
        map->count++;
    }
    return slot;
}

void hash_map_reserve(struct hash_map *map, size_t count)
{
    size_t slot_count = FIRST_SLOTS;

    while (slot_count < 2 * count)
        slot_count *= 2;
    if (slot_count > map->slot_count)
        grow_to(map, slot_count);
}

uint32_t hash_map_add(struct hash_map *map, uint64_t key, uint32_t value_if_new)
{
    return add(map, key, value_if_new)->value;
}

uint32_t hash_map_set(struct hash_map *map, uint64_t key, uint32_t value)
{
    size_t count = map->count;
    struct hash_map_slot *slot = add(map, key, value);
    uint32_t before = map->count > count ? NO_VALUE : slot->value;

    slot->value = value;
    return before;
}

uint32_t hash_map_find(const struct hash_map *map, uint64_t key)
{
    return map->slot_count ? slot_of(map, key)->value : NO_VALUE;
}

void hash_map_clear(struct hash_map *map)
{
    large_array_free(map->slots);
    memset(map, 0, sizeof *map);
}
