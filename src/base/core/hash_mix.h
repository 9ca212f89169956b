/* How keys become places in a table, so that a file cannot choose them. */
#ifndef FLOPLEDGER_BASE_CORE_HASH_MIX_H
#define FLOPLEDGER_BASE_CORE_HASH_MIX_H

#include <stddef.h>
#include <stdint.h>

/* 2^64 / golden ratio: multiplied by it, neighbors lie far apart. */
#define HASH_MULTIPLIER 0x9e3779b97f4a7c15u

/* Linear probing in a table that is at most half full: of 10^8 keys none lies this far from its
 * place unless it was put there (log(10^8) / 0.19 = 95). */
enum { FAR_FROM_ITS_PLACE = 512 };

/* Both halves of the product, one over the other: every bit of the result hangs on all of `a`. With
 * a multiplier that the writer of a file does not know, it cannot find keys that fall together. */
static inline uint64_t hash_mix(uint64_t a, uint64_t multiplier)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * multiplier;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Even, not 0, and another one at each call: `HASH_MULTIPLIER ^ hash_secret()` is a multiplier that
 * no file knows. */
uint64_t hash_secret(void);

#endif
