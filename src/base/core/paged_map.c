/* Values by ids that lie close together. */
#include "base/core/paged_map.h"

#include "base/core/array.h"

#include <string.h>

/* Ids are mostly set and asked for in one order, or nearly: then it is the page of the one before,
 * or the next, and nothing is put into the map. Those that recorders give to what is beside the
 * others are below 0, which is behind all. NULL: there is none. */
static struct paged_map_page *paged_map_page(struct paged_map *map, uint64_t number)
{
    struct paged_map_page *page;
    uint32_t found = map->last + 1;

    if (map->count == 0 || number > map->greatest)
        return NULL;
    page = map->page + map->last;
    if (page->number == number)
        return page;
    if (found == map->count || page[1].number != number) {
        for (; map->placed < map->count; map->placed++)
            (void)hash_map_set(&map->places, map->page[map->placed].number, map->placed);
        found = hash_map_find(&map->places, number);
    }
    if (found == NO_VALUE)
        return NULL;
    map->last = found;
    return map->page + found;
}

/* Behind the others, whatever its number: values stay in the order in which they were set. */
static struct paged_map_page *paged_map_add(struct paged_map *map, uint64_t number)
{
    LARGE_ARRAY_RESERVE(map->page, map->count + (size_t)1);
    memset(map->page + map->count, 0xff, sizeof *map->page); /* NO_VALUE */
    map->page[map->count].number = number;
    if (map->count == 0 || number > map->greatest)
        map->greatest = number;
    map->last = map->count++;
    return map->page + map->last;
}

void paged_map_set(struct paged_map *map, uint64_t id, uint32_t value)
{
    struct paged_map_page *page = paged_map_page(map, id / PAGED_MAP_PAGE);

    if (!page)
        page = paged_map_add(map, id / PAGED_MAP_PAGE);
    page->values[id % PAGED_MAP_PAGE] = value;
}

uint32_t paged_map_find(struct paged_map *map, uint64_t id)
{
    const struct paged_map_page *page = paged_map_page(map, id / PAGED_MAP_PAGE);

    return page ? page->values[id % PAGED_MAP_PAGE] : NO_VALUE;
}

void paged_map_clear(struct paged_map *map)
{
    hash_map_clear(&map->places);
    large_array_free(map->page);
    *map = (struct paged_map){.count = 0};
}
