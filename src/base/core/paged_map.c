/* Values by ids that lie close together. */
#include "base/core/paged_map.h"

#include "base/core/array.h"

#include <stdlib.h>
#include <string.h>

void paged_map_set(struct paged_map *map, uint64_t id, uint32_t value)
{
    uint32_t page = hash_map_add(&map->pages, id / PAGED_MAP_PAGE, map->count);

    if (page == map->count) {
        ARRAY_ROOM(map->values, map->count);
        memset(map->values[map->count++], 0xff, sizeof *map->values); /* NO_VALUE */
    }
    map->values[page][id % PAGED_MAP_PAGE] = value;
}

uint32_t paged_map_find(const struct paged_map *map, uint64_t id)
{
    uint32_t page = hash_map_find(&map->pages, id / PAGED_MAP_PAGE);

    return page == NO_VALUE ? NO_VALUE : map->values[page][id % PAGED_MAP_PAGE];
}

void paged_map_clear(struct paged_map *map)
{
    hash_map_clear(&map->pages);
    free(map->values);
    *map = (struct paged_map){.count = 0};
}
