/* A number for any bytes. */
#include "base/core/content_hash.h"

#include "base/core/hash_mix.h"

#include <string.h>

/* Four multiplications run side by side, each over 16 bytes at a time: with one after the other the
 * processor would wait for each. */
enum { LANES = 4, LANE_BYTES = 16, ROUND_BYTES = LANES * LANE_BYTES };

struct lanes {
    uint64_t state[LANES];
    uint64_t keys[LANES][2];
};

/* Keys come from the hash before, so that hashes can be chained: what is hashed first changes
 * how all that follows is mixed. */
static struct lanes lanes_new(struct content_hash before)
{
    struct lanes lanes;
    uint64_t next = before.words[0];

    for (int i = 0; i < LANES; i++) {
        for (int k = 0; k < 2; k++) {
            next = hash_mix(next + HASH_MULTIPLIER, before.words[1] ^ HASH_MULTIPLIER);
            lanes.keys[i][k] = next;
        }
        lanes.state[i] = next ^ before.words[1];
    }
    return lanes;
}

/* The state enters one factor of the next product, and the product is added to it, not put in
 * its place: a factor that happens to be 0 wipes out one product, never the state. */
static inline void add_round(struct lanes *lanes, const unsigned char *from)
{
    for (int i = 0; i < LANES; i++) {
        uint64_t pair[2];

        memcpy(pair, from + (size_t)i * LANE_BYTES, sizeof pair);
        lanes->state[i] ^=
            hash_mix(pair[0] ^ lanes->keys[i][0] ^ lanes->state[i], pair[1] ^ lanes->keys[i][1]);
    }
}

/* The length is in the result, so that zeros at the end of the last round are told from zeros
 * in the text. */
struct content_hash content_hash_of(const void *bytes, size_t length, struct content_hash before)
{
    struct lanes lanes = lanes_new(before);
    unsigned char rest[ROUND_BYTES] = {0};
    const unsigned char *from = bytes;
    struct content_hash hash = {{length, ~(uint64_t)length}};
    size_t left = length;

    for (; left >= ROUND_BYTES; left -= ROUND_BYTES, from += ROUND_BYTES)
        add_round(&lanes, from);
    if (left > 0)
        memcpy(rest, from, left);
    add_round(&lanes, rest);
    for (int i = 0; i < LANES; i++)
        for (int k = 0; k < 2; k++)
            hash.words[k] = hash_mix(hash.words[k] ^ lanes.state[i], lanes.keys[i][k] | 1);
    return hash;
}
