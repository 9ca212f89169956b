/* From 64-bit keys to 32-bit values: open addressing with linear probing, at most half full. */
#include "base/core/hash_map.h"

#include "base/core/hash_mix.h"
#include "base/core/large_array.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Keys are correlations, addresses and packed pairs: near each other, and never taken out again.
 * That is why there are no tombstones, why a multiplication is hash enough, and why linear probing
 * pays: at most half full, a search ends after 1.5 slots on average where the key is there and 2.5
 * where it is not, mostly in one cache line. A free slot is marked by its value, so that every key,
 * 0 too, can stand in the map.
 *
 * A file from a stranger may hold keys that fall on one place, n of them n^2 / 2 steps. A key that
 * comes to lie far from its place tells of it: then the map takes a multiplier that no file can
 * know, and puts all keys in anew. Every search thus ends after few slots, whoever wrote the keys;
 * and where nobody planted any, the same file always costs the same. */
enum { FIRST_SLOTS = 64 };

/* Never 0, which stands for "no secret", and even, so that HASH_MULTIPLIER, which is odd,
 * stays odd with it. */
uint64_t hash_secret(void)
{
    uint64_t secret = 0;

    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) != (ssize_t)sizeof secret) {
        struct timespec now = {0}; /* a kernel that has no random bytes yet */

        clock_gettime(CLOCK_MONOTONIC, &now);
        secret = hash_mix((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&secret, HASH_MULTIPLIER);
    }
    return (secret | 2) & ~(uint64_t)1;
}

/* The mask works since slots are a power of two. */
static size_t first_slot(const struct hash_map *map, uint64_t key)
{
    return (size_t)hash_mix(key, HASH_MULTIPLIER ^ map->secret) & (map->slot_count - 1);
}

/* The slot that holds `key`, or the free one where it belongs. */
static struct hash_map_slot *hash_map_slot_of(const struct hash_map *map, uint64_t key)
{
    size_t i = first_slot(map, key);

    while (map->slots[i].value != NO_VALUE && map->slots[i].key != key)
        i = (i + 1) & (map->slot_count - 1);
    return &map->slots[i];
}

/* All slots are put in anew: with another mask or secret the place of each key is another. Doubling
 * makes this a constant cost of each key that is added. */
static void hash_map_put_anew(struct hash_map *map, size_t slot_count, uint64_t secret)
{
    struct hash_map bigger = {.slot_count = slot_count, .count = map->count, .secret = secret};

    bigger.slots = large_array_new(bigger.slot_count * sizeof *bigger.slots);
    for (size_t i = 0; i < bigger.slot_count; i++)
        bigger.slots[i] = (struct hash_map_slot){.value = NO_VALUE};
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].value != NO_VALUE)
            *hash_map_slot_of(&bigger, map->slots[i].key) = map->slots[i];
    large_array_free(map->slots);
    *map = bigger;
}

/* The distance with wrap-around, by the mask again. */
static bool is_far_from_its_place(const struct hash_map *map, uint64_t key,
                                  const struct hash_map_slot *slot)
{
    size_t distance = (size_t)(slot - map->slots) - first_slot(map, key);

    return (distance & (map->slot_count - 1)) >= FAR_FROM_ITS_PLACE;
}

/* The slot of `key`, which is put into the map with `value_if_new` where it was not in it. The
 * size is doubled before the search, so that a slot found stays valid. A key that lands far from
 * its place is put in after all keys moved with a secret; what it finds then cannot be planned
 * by a file. */
static struct hash_map_slot *add(struct hash_map *map, uint64_t key, uint32_t value_if_new)
{
    struct hash_map_slot *slot;

    assert(value_if_new != NO_VALUE);
    if (2 * (map->count + 1) > map->slot_count)
        hash_map_put_anew(map, map->slot_count ? 2 * map->slot_count : FIRST_SLOTS, map->secret);
    slot = hash_map_slot_of(map, key);
    if (slot->value == NO_VALUE) {
        if (is_far_from_its_place(map, key, slot)) {
            hash_map_put_anew(map, map->slot_count, hash_secret());
            slot = hash_map_slot_of(map, key);
        }
        *slot = (struct hash_map_slot){.key = key, .value = value_if_new};
        map->count++;
    }
    return slot;
}

/* Twice the count at least: the same bound as when it grows by itself. */
static size_t slots_for(size_t count)
{
    size_t slot_count = FIRST_SLOTS;

    while (slot_count < 2 * count)
        slot_count *= 2;
    return slot_count;
}

bool hash_map_is_larger(size_t count, uint64_t span, size_t entry_bytes)
{
    return span < (slots_for(count) * sizeof(struct hash_map_slot) + 4096) / entry_bytes;
}

void hash_map_reserve(struct hash_map *map, size_t count)
{
    size_t slot_count = slots_for(count);

    if (slot_count > map->slot_count)
        hash_map_put_anew(map, slot_count, map->secret);
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
    return map->slot_count ? hash_map_slot_of(map, key)->value : NO_VALUE;
}

void hash_map_clear(struct hash_map *map)
{
    large_array_free(map->slots);
    memset(map, 0, sizeof *map);
}
