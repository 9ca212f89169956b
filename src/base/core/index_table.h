/* Finds which element of an array equals another, by its hash: for things that are kept once, where
 * a 64-bit key (base/core/hash_map.h) or a text (base/core/string_pool.h) does not say all of them.
 *
 * The array is the caller's; the table holds indices, each with its hash, so that few elements are
 * compared and none is hashed again when it grows. Open addressing, at most half full; nothing is
 * ever removed singly. Adding n elements takes O(n), if their hashes (base/core/hash_mix.h) have a
 * secret in them: a file could plant equal ones otherwise. */
#ifndef FLOPLEDGER_BASE_CORE_INDEX_TABLE_H
#define FLOPLEDGER_BASE_CORE_INDEX_TABLE_H

#include "base/core/invariant.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define NO_INDEX UINT32_MAX

struct index_slot {
    uint32_t hash;
    uint32_t next_index; /* 1 + the index; 0: the slot is free */
};

/* Zeroed is empty. */
struct index_table {
    struct index_slot *slots; /* [slot_count] */
    size_t slot_count;        /* a power of two, or 0 */
    size_t count;
};

static inline void index_table_put(struct index_table *table, struct index_slot slot)
{
    size_t at = slot.hash & (table->slot_count - 1);

    while (table->slots[at].next_index)
        at = (at + 1) & (table->slot_count - 1);
    table->slots[at] = slot;
}

/* The element at `index` has the hash. Ends the program when memory is out. */
static inline void index_table_add(struct index_table *table, uint32_t hash, uint32_t index)
{
    if (2 * (table->count + 1) > table->slot_count) {
        struct index_table bigger = {.slot_count = table->slot_count ? 2 * table->slot_count : 256,
                                     .count = table->count};

        bigger.slots = require_memory(calloc(bigger.slot_count, sizeof *bigger.slots));
        for (size_t i = 0; i < table->slot_count; i++)
            if (table->slots[i].next_index)
                index_table_put(&bigger, table->slots[i]);
        free(table->slots);
        *table = bigger;
    }
    require_invariant(index < NO_INDEX - 1, "that there are fewer than 2^32 elements");
    index_table_put(table, (struct index_slot){.hash = hash, .next_index = index + 1});
    table->count++;
}

/* The first `index` of the hash for which `is_it`, an expression of it, holds; NO_INDEX where none
 * is.
 *
 *     uint32_t known = INDEX_TABLE_FIND(&table, hash, i, is_same(&things[i], &thing)); */
#define INDEX_TABLE_FIND(table, wanted_hash, index, is_it)                        \
    __extension__({                                                               \
        const struct index_table *index_of = (table);                             \
        const uint32_t index_hash = (wanted_hash);                                \
        uint32_t index_found = NO_INDEX;                                          \
                                                                                  \
        for (size_t index_at = index_hash;                                        \
             index_of->slot_count > 0 &&                                          \
             index_of->slots[index_at & (index_of->slot_count - 1)].next_index && \
             index_found == NO_INDEX;                                             \
             index_at++) {                                                        \
            const struct index_slot *index_slot =                                 \
                &index_of->slots[index_at & (index_of->slot_count - 1)];          \
            uint32_t index = index_slot->next_index - 1;                          \
                                                                                  \
            if (index_slot->hash == index_hash && (is_it))                        \
                index_found = index;                                              \
        }                                                                         \
        index_found;                                                              \
    })

static inline void index_table_clear(struct index_table *table)
{
    free(table->slots);
    *table = (struct index_table){0};
}

#endif
