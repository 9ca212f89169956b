/* A number for any bytes: where two are equal, so are the bytes, unless somebody who knows the
 * secret made them so. */
#ifndef FLOPLEDGER_BASE_CORE_CONTENT_HASH_H
#define FLOPLEDGER_BASE_CORE_CONTENT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct content_hash {
    uint64_t words[2];
};

/* Hangs on every byte, on their number and on `before`: the secret, or the hash of what stands
 * before them. Faster than memory hands the bytes out. */
struct content_hash content_hash_of(const void *bytes, size_t length, struct content_hash before);

static inline bool content_hash_equals(struct content_hash a, struct content_hash b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

#endif
