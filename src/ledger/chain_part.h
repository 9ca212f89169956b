/* What the critical path of all ranks consists of between two collectives. */
#ifndef FLOPLEDGER_LEDGER_CHAIN_PART_H
#define FLOPLEDGER_LEDGER_CHAIN_PART_H

enum chain_part {
#define CHAIN_PART(id, key, title) CHAIN_##id,
#include "ledger/chain_part_list.def"
#undef CHAIN_PART
    CHAIN_PART_COUNT,
};

/* Comes after: none, from the start of the steps on; or not known, as the call is not replayed. */
enum { CHAIN_FROM_START = -1, CHAIN_NOT_KNOWN = -2 };

const char *chain_part_key(enum chain_part part);   /* in JSON and digests */
const char *chain_part_title(enum chain_part part); /* on the screen */

#endif
