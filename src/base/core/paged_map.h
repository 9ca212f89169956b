/* From 64-bit ids that lie close together, as those of a recorder's rows do, to 32-bit values: some
 * 5 bytes an id that is set and asked for in order, else 7, where a hash_map takes 24 to 48; of ids
 * far apart 110. */
#ifndef FLOPLEDGER_BASE_CORE_PAGED_MAP_H
#define FLOPLEDGER_BASE_CORE_PAGED_MAP_H

#include "base/core/hash_map.h"

#include <stdint.h>

enum { PAGED_MAP_PAGE = 16 };

/* Zeroed is empty; NO_VALUE stands for "not there", as in hash_map. */
struct paged_map {
    struct paged_map_page {
        uint64_t number; /* id / PAGED_MAP_PAGE */
        uint32_t values[PAGED_MAP_PAGE];
    } * page; /* [count], a large array */
    uint32_t count;
    struct hash_map places; /* of pages by their numbers ... */
    uint32_t placed;        /* ... of so many */
    uint32_t last;          /* the page that was found last */
    uint64_t greatest;      /* of their numbers */
};

/* `value` is that of the id from now on. */
void paged_map_set(struct paged_map *map, uint64_t id, uint32_t value);

/* The value of the id, or NO_VALUE. */
uint32_t paged_map_find(struct paged_map *map, uint64_t id);

void paged_map_clear(struct paged_map *map);

#endif
