/* From 64-bit ids that lie close together, as those of a recorder's rows do, to 32-bit values: some
 * 7 bytes an id, where a hash_map takes 24 to 48; of ids far apart 100. */
#ifndef FLOPLEDGER_BASE_CORE_PAGED_MAP_H
#define FLOPLEDGER_BASE_CORE_PAGED_MAP_H

#include "base/core/hash_map.h"

#include <stdint.h>

enum { PAGED_MAP_PAGE = 16 };

/* Zeroed is empty; NO_VALUE stands for "not there", as in hash_map. */
struct paged_map {
    struct hash_map pages;              /* id / PAGED_MAP_PAGE: index in `values` */
    uint32_t (*values)[PAGED_MAP_PAGE]; /* [count] */
    uint32_t count;
};

/* `value` is that of the id from now on. */
void paged_map_set(struct paged_map *map, uint64_t id, uint32_t value);

/* The value of the id, or NO_VALUE. */
uint32_t paged_map_find(const struct paged_map *map, uint64_t id);

void paged_map_clear(struct paged_map *map);

#endif
