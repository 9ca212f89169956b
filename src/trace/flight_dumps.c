/* The dumps of all ranks, and the groups they name. */
#include "trace/flight_dumps.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/text/owned_text.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *copy_ranks(const uint32_t *ranks, size_t count)
{
    uint32_t *copy = require_memory(calloc(count + 1, sizeof *copy));

    if (count > 0)
        memcpy(copy, ranks, count * sizeof *copy);
    return copy;
}

/* A number for all that makes a group: equal groups have equal ones. The bytes of name,
 * description and ranks as one text: the string pool then compares groups. */
static uint32_t key_of_group(struct flight_dumps *dumps, const uint32_t facts[3],
                             const uint32_t *ranks, size_t rank_count)
{
    size_t bytes = (3 + rank_count) * sizeof *ranks;
    uint32_t *all = require_memory(malloc(bytes));
    uint32_t key;

    memcpy(all, facts, 3 * sizeof *all);
    if (rank_count > 0)
        memcpy(all + 3, ranks, rank_count * sizeof *all);
    key = string_pool_add(&dumps->group_keys, (const char *)all, bytes);
    free(all);
    return key;
}

/* A group that is named without its ranks is another than one with them, until its members are
 * found. */
uint32_t flight_group_add(struct flight_dumps *dumps, uint32_t name, uint32_t description,
                          const uint32_t *ranks, size_t rank_count)
{
    uint32_t key = key_of_group(dumps, (uint32_t[3]){name, description, ranks != NULL}, ranks,
                                ranks ? rank_count : 0);
    uint32_t known = hash_map_add(&dumps->group_of_key, key, (uint32_t)dumps->group_count);

    if (known < dumps->group_count)
        return known;
    ARRAY_ROOM(dumps->groups, dumps->group_count);
    dumps->groups[dumps->group_count] = (struct flight_group){
        .name = name,
        .description = description,
        .ranks = copy_ranks(ranks, ranks ? rank_count : 0),
        .rank_count = ranks ? rank_count : 0,
        .are_ranks_known = ranks != NULL,
    };
    return (uint32_t)dumps->group_count++;
}

struct flight_dump *flight_dump_add(struct flight_dumps *dumps, const char *path, uint32_t rank)
{
    ARRAY_ROOM(dumps->dumps, dumps->dump_count);
    dumps->dumps[dumps->dump_count] = (struct flight_dump){.path = text_copy(path), .rank = rank};
    return &dumps->dumps[dumps->dump_count++];
}

static void dump_clear(struct flight_dump *dump)
{
    free(dump->path);
    free(dump->entries);
    free(dump->statuses);
}

void flight_dump_drop(struct flight_dumps *dumps)
{
    dump_clear(&dumps->dumps[--dumps->dump_count]);
}

/* ---- once all are read ---- */

static int compare_dumps(const void *one, const void *other)
{
    const struct flight_dump *a = one;
    const struct flight_dump *b = other;

    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int compare_dumps_by_rank(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one;
    uint32_t b = *(const uint32_t *)other;

    return (a > b) - (a < b);
}

/* Groups name their ranks in any order, and some twice. */
size_t flight_sort_ranks(uint32_t *ranks, size_t count)
{
    size_t kept = 0;

    if (count > 0)
        qsort(ranks, count, sizeof *ranks, compare_dumps_by_rank);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ranks[kept - 1] != ranks[i])
            ranks[kept++] = ranks[i];
    return kept;
}

static void add_rank(struct flight_group *group, uint32_t rank)
{
    if (group->rank_count > 0 && group->ranks[group->rank_count - 1] == rank)
        return;
    ARRAY_ADD(group->ranks, group->rank_count, rank);
}

/* The dumps are in order of their ranks, so the members come in order, too. */
static void find_members(struct flight_dumps *dumps)
{
    for (size_t i = 0; i < dumps->dump_count; i++) {
        const struct flight_dump *dump = &dumps->dumps[i];

        for (size_t k = 0; k < dump->entry_count; k++) {
            struct flight_group *group = &dumps->groups[dump->entries[k].group];

            if (!group->are_ranks_known)
                add_rank(group, dump->rank);
        }
    }
}

/* Ranks that wrote a dump, and those that any group names: a rank that wrote none is known
 * from its groups only, and it is the one to look at. */
static void find_world(struct flight_dumps *dumps)
{
    size_t count = dumps->dump_count;
    uint32_t *world;
    size_t used = 0;

    for (size_t i = 0; i < dumps->group_count; i++)
        count += dumps->groups[i].rank_count;
    world = require_memory(calloc(count + 1, sizeof *world));
    for (size_t i = 0; i < dumps->dump_count; i++)
        world[used++] = dumps->dumps[i].rank;
    for (size_t i = 0; i < dumps->group_count; i++)
        for (size_t k = 0; k < dumps->groups[i].rank_count; k++)
            world[used++] = dumps->groups[i].ranks[k];
    dumps->world = world;
    dumps->world_count = flight_sort_ranks(world, used);
}

/* In this order: members of groups come from dumps in order, the world from both. */
void flight_dumps_finish(struct flight_dumps *dumps)
{
    if (dumps->dump_count > 0)
        qsort(dumps->dumps, dumps->dump_count, sizeof *dumps->dumps, compare_dumps);
    find_members(dumps);
    find_world(dumps);
}

/* ---- questions ---- */

const struct flight_dump *flight_dump_of(const struct flight_dumps *dumps, uint32_t rank)
{
    struct flight_dump wanted = {.rank = rank};

    if (dumps->dump_count == 0)
        return NULL;
    return bsearch(&wanted, dumps->dumps, dumps->dump_count, sizeof wanted, compare_dumps);
}

const char *flight_text(const struct flight_dumps *dumps, uint32_t id)
{
    return string_pool_text(&dumps->strings, id);
}

void flight_dumps_clear(struct flight_dumps *dumps)
{
    for (size_t i = 0; i < dumps->dump_count; i++)
        dump_clear(&dumps->dumps[i]);
    for (size_t i = 0; i < dumps->group_count; i++)
        free(dumps->groups[i].ranks);
    free(dumps->dumps);
    free(dumps->groups);
    free(dumps->world);
    string_pool_clear(&dumps->strings);
    string_pool_clear(&dumps->group_keys);
    hash_map_clear(&dumps->group_of_key);
    memset(dumps, 0, sizeof *dumps);
}
