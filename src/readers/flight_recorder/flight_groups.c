/* The groups of processes that a dump of a flight recorder tells of. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "readers/flight_recorder/flight_entry_reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "[0, 1, 4]", or a list of integers. Returns how many; SIZE_MAX: no ranks. */
static size_t parse_ranks(const struct pickle_tree *tree, struct pickle_value value,
                          uint32_t **ranks)
{
    struct pickle_items items = pickle_items(tree, value);
    const char *text = string_pool_text(&tree->strings, pickle_text_id(value));
    size_t capacity = items.count + strlen(text) / 2 + 1;
    size_t count = 0;

    *ranks = require_memory(calloc(capacity, sizeof **ranks));
    for (uint32_t i = 0; i < items.count; i++) {
        uint64_t rank;

        if (pickle_unsigned(tree, items.cells[i], &rank) && rank < UINT32_MAX)
            (*ranks)[count++] = (uint32_t)rank;
    }
    while (*text) {
        char *end;
        unsigned long rank;

        if (!isdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        rank = strtoul(text, &end, 10);
        if (rank < UINT32_MAX && count < capacity)
            (*ranks)[count++] = (uint32_t)rank;
        text = end;
    }
    return count;
}

/* Where the members of a dict are: of a text the last one of the name counts, of a number the first
 * (its key has the top bit). Looked up for each entry, so not by walking over the dict. */
static const uint64_t of_number = (uint64_t)1 << 63;

/* A key is a text or a number, by who wrote the dump. Numbers have a bit of their own, since
 * texts are numbers of the pool, too. */
void flight_place_members(struct hash_map *places, const struct pickle_tree *tree,
                          struct pickle_value dict)
{
    struct pickle_items items = pickle_items(tree, dict);
    int64_t number;

    for (uint32_t i = 0; pickle_kind(dict) == PICKLE_DICT && i < items.count; i++) {
        struct pickle_value key = items.cells[(size_t)2 * i];

        if (pickle_kind(key) == PICKLE_TEXT)
            (void)hash_map_set(places, pickle_text_id(key), i);
        else if (pickle_integer(tree, key, &number) && number >= 0)
            (void)hash_map_add(places, of_number | (uint64_t)number, i);
    }
}

static struct pickle_value placed(const struct hash_map *places, const struct pickle_tree *tree,
                                  struct pickle_value dict, uint64_t key)
{
    uint32_t place = hash_map_find(places, key);

    return place == NO_VALUE ? (struct pickle_value){0}
                             : pickle_items(tree, dict).cells[(size_t)2 * place + 1];
}

struct pickle_value flight_placed_name(const struct hash_map *places,
                                       const struct pickle_tree *tree, struct pickle_value dict,
                                       const char *name)
{
    uint32_t id = string_pool_find(&tree->strings, name, strlen(name));

    return id == UINT32_MAX ? (struct pickle_value){0} : placed(places, tree, dict, id);
}

/* The configuration of the group of that name, before version 2.0 a list of ranks behind its
 * number; where the recorder gave the default group another name there than in its entries, that of
 * the empty name. */
static struct pickle_value config_of(const struct flight_entry_reader *reader, const char *name,
                                     const char *description)
{
    const struct pickle_tree *tree = reader->tree;
    struct pickle_value configs = pickle_named(tree, tree->root, "pg_config");
    struct pickle_value config = flight_placed_name(&reader->configs, tree, configs, name);
    char *end;
    long number = strtol(name, &end, 10);

    if (pickle_kind(config) == PICKLE_NOTHING && end > name && !*end && number >= 0)
        config = placed(&reader->configs, tree, configs, of_number | (uint64_t)number);
    if (pickle_kind(config) == PICKLE_NOTHING &&
        (strcmp(description, "default_pg") == 0 || strcmp(name, "0") == 0))
        config = flight_placed_name(&reader->configs, tree, configs, "");
    return config;
}

/* Asked for every entry: groups are remembered by name and description. */
uint32_t flight_group_of(struct flight_entry_reader *reader, uint32_t name, uint32_t description)
{
    struct flight_dumps *dumps = reader->dumps;
    uint64_t key = pair_key(name, description);
    uint32_t group = hash_map_find(&reader->groups, key);
    struct pickle_value config;
    uint32_t *ranks = NULL;
    size_t count;

    if (group != NO_VALUE)
        return group;
    config = config_of(reader, flight_text(dumps, name), flight_text(dumps, description));
    if (pickle_kind(config) == PICKLE_DICT)
        config = pickle_named(reader->tree, config, "ranks");
    count = parse_ranks(reader->tree, config, &ranks);
    count = flight_sort_ranks(ranks, count);
    group = flight_group_add(dumps, name, description, count > 0 ? ranks : NULL, count);
    free(ranks);
    return hash_map_add(&reader->groups, key, group);
}
