/* What the critical path of all ranks consists of between two collectives. */
#include "ledger/chain_part.h"

static const char *const keys[CHAIN_PART_COUNT] = {
#define CHAIN_PART(id, key, title) [CHAIN_##id] = (key),
#include "ledger/chain_part_list.def"
#undef CHAIN_PART
};

static const char *const titles[CHAIN_PART_COUNT] = {
#define CHAIN_PART(id, key, title) [CHAIN_##id] = (title),
#include "ledger/chain_part_list.def"
#undef CHAIN_PART
};

const char *chain_part_key(enum chain_part part)
{
    return keys[part];
}

const char *chain_part_title(enum chain_part part)
{
    return titles[part];
}
