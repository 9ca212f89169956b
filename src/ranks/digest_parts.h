/* What the bytes of a digest are made of. */
#ifndef FLOPLEDGER_RANKS_DIGEST_PARTS_H
#define FLOPLEDGER_RANKS_DIGEST_PARTS_H

#include <stdint.h>

/* The numbers in the file; a new part gets a new one. */
enum digest_part {
    PART_FACTS = 1,
    PART_NAMES,
    PART_STEPS,
    PART_GROUPS,
    PART_CALLS,
    PART_EXPOSED, /* the last that every digest has */
    PART_TOKENS,
    PART_EXCHANGES,
    PART_CHAINS,
};

/* What is told by its place in a list here may stand elsewhere in another version's. */
enum digest_name_list { ACCOUNT_NAMES, KIND_NAMES, TYPE_NAMES, CHAIN_NAMES, NAME_LIST_COUNT };

/* Where in this version's lists the names of a digest stand. */
struct digest_names {
    uint8_t places[NAME_LIST_COUNT][64];
    uint32_t counts[NAME_LIST_COUNT];
};

/* This version's lists. */
unsigned digest_name_count(enum digest_name_list list);
const char *digest_name(enum digest_name_list list, unsigned place);

#endif
