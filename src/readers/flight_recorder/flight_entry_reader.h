/* One entry of a flight recorder's dump. Private to the reader of dumps. */
#ifndef FLOPLEDGER_READERS_FLIGHT_RECORDER_FLIGHT_ENTRY_READER_H
#define FLOPLEDGER_READERS_FLIGHT_RECORDER_FLIGHT_ENTRY_READER_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/hash_map.h"
#include "base/pickle/pickle_tree.h"
#include "trace/flight_dumps.h"

#include <stdbool.h>
#include <stdint.h>

struct flight_entry_reader {
    struct flight_dumps *dumps;
    const struct pickle_tree *tree;
    struct hash_map groups;    /* name and description: the group */
    struct hash_map texts;     /* id in the tree: id in the dumps */
    struct hash_map stacks;    /* a list of frames of the tree: id of its text */
    struct hash_map configs;   /* of pg_config: text of a key, or (on top) its number: its place */
    struct hash_map statuses;  /* of pg_status: text of a key: its place */
    struct hash_map sequences; /* see finish_flight_entries */
    bool has_starts;           /* some entry was seen to start */
};

/* Errors (ERROR_INPUT) name the member and what was expected. */
MUST_USE bool read_flight_entry(struct flight_entry_reader *reader, struct flight_entry *entry,
                                struct pickle_value dict, struct error *error);

/* Numbers the entries that share a number, and gives those of a coalesced call its state. */
void finish_flight_entries(struct flight_entry_reader *reader, struct flight_dump *dump);

/* Notes where the members of a dict are; flight_groups.c. Of a text the last one of the name
 * counts, of a number the first. */
void flight_place_members(struct hash_map *places, const struct pickle_tree *tree,
                          struct pickle_value dict);
/* The member of that name; PICKLE_NOTHING where there is none. */
struct pickle_value flight_placed_name(const struct hash_map *places,
                                       const struct pickle_tree *tree, struct pickle_value dict,
                                       const char *name);

/* The group of these names, ids in the dumps; flight_groups.c. */
uint32_t flight_group_of(struct flight_entry_reader *reader, uint32_t name, uint32_t description);

void flight_entry_reader_clear(struct flight_entry_reader *reader);

#endif
