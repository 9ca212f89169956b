/* What held a device's memory at one moment of a snapshot, added up. */
#include "memory/snapshot_shares.h"

#include "base/core/invariant.h"

#include <stdlib.h>

static int by_bytes(const void *a, const void *b)
{
    const struct memory_share *one = a;
    const struct memory_share *other = b;

    if (one->bytes != other->bytes)
        return one->bytes < other->bytes ? 1 : -1;
    return (one->key > other->key) - (one->key < other->key);
}

void share_memory(struct memory_shares *shares, const struct snapshot_replay *replay,
                  uint32_t moment, struct share_key key)
{
    shares->shares = require_memory(calloc((size_t)key.limit + 1, sizeof *shares->shares));
    for (uint32_t i = 0; i < replay->life_count; i++) {
        const struct memory_life *life = &replay->lives[i];
        struct memory_share *share;

        if (!is_alive(life, moment))
            continue;
        share = &shares->shares[key.of_life(life, key.context)];
        share->bytes += life->bytes;
        share->blocks++;
        if (life->bytes > share->largest_bytes)
            share->largest_bytes = life->bytes;
        shares->bytes += life->bytes;
    }
    for (uint32_t i = 0; i < key.limit; i++)
        if (shares->shares[i].blocks) {
            shares->shares[shares->count] = shares->shares[i];
            shares->shares[shares->count++].key = i;
        }
    qsort(shares->shares, shares->count, sizeof *shares->shares, by_bytes);
}

int64_t share_of_key(const struct memory_shares *shares, uint32_t key)
{
    for (uint32_t i = 0; i < shares->count; i++)
        if (shares->shares[i].key == key)
            return shares->shares[i].bytes;
    return 0;
}

void memory_shares_clear(struct memory_shares *shares)
{
    free(shares->shares);
    *shares = (struct memory_shares){0};
}
