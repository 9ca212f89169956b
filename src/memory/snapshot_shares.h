/* What held a device's memory at one moment of a snapshot, added up by something that each
 * allocation has: its place in the program, its tag, its stream. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_SHARES_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_SHARES_H

#include "memory/snapshot_replay.h"

#include <stdint.h>

struct memory_share {
    uint32_t key;
    uint32_t blocks;
    int64_t bytes;
    int64_t largest_bytes; /* one of the blocks */
};

struct memory_shares {
    struct memory_share *shares; /* [count], the most bytes first; equal ones by key */
    uint32_t count;
    int64_t bytes; /* of all */
};

/* What allocations are added up by: a number below `limit`. */
struct share_key {
    uint32_t (*of_life)(const struct memory_life *life, const void *context);
    const void *context;
    uint32_t limit;
};

/* `shares` must be zeroed. */
void share_memory(struct memory_shares *shares, const struct snapshot_replay *replay,
                  uint32_t moment, struct share_key key);

/* Bytes of the key; 0 where nothing of it lives. */
int64_t share_of_key(const struct memory_shares *shares, uint32_t key);

void memory_shares_clear(struct memory_shares *shares);

#endif
