/* From 64-bit keys to 32-bit values: open addressing with linear probing, at most half full. */
#include "base/hash_map.h"

#include "base/out_of_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

static void grow(struct hash_map *map)
{
    struct hash_map bigger = {.slot_count = map->slot_count ? 2 * map->slot_count : 64,
                              .count = map->count};

    bigger.slots = malloc(bigger.slot_count * sizeof *bigger.slots);
    if (!bigger.slots)
        end_out_of_memory();
    for (size_t i = 0; i < bigger.slot_count; i++)
        bigger.slots[i] = (struct hash_map_slot){.value = NO_VALUE};
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].value != NO_VALUE)
            *slot_of(&bigger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = bigger;
}

/* The slot of `key`, which is put into the map with `value_if_new` where it was not in it. */
static struct hash_map_slot *add(struct hash_map *map, uint64_t key, uint32_t value_if_new)
{
    struct hash_map_slot *slot;

    assert(value_if_new != NO_VALUE);
    if (2 * (map->count + 1) > map->slot_count)
        grow(map);
    slot = slot_of(map, key);
    if (slot->value == NO_VALUE) {
        *slot = (struct hash_map_slot){.key = key, .value = value_if_new};
        map->count++;
    }
    return slot;
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
    free(map->slots);
    memset(map, 0, sizeof *map);
}
