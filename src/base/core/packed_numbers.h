/* Numbers in a row, each in as few bytes as it takes: 7 bits a byte, the low ones first. */
#ifndef FLOPLEDGER_BASE_CORE_PACKED_NUMBERS_H
#define FLOPLEDGER_BASE_CORE_PACKED_NUMBERS_H

#include "base/core/array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed is empty; free() the bytes. */
struct packed_numbers {
    unsigned char *bytes;
    size_t length;
    size_t room;
};

/* Of two numbers. */
enum { PACKED_NUMBERS_BYTES_MAX = 20 };

static inline unsigned char *packed_number_put(unsigned char *to, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *to++ = (unsigned char)(number | 0x80);
    *to++ = (unsigned char)number;
    return to;
}

/* Two of them. */
static inline void packed_numbers_add(struct packed_numbers *packed, uint64_t one, uint64_t other)
{
    unsigned char *to;

    ARRAY_RESERVE(packed->bytes, packed->room, packed->length + PACKED_NUMBERS_BYTES_MAX);
    to = packed_number_put(packed->bytes + packed->length, one);
    packed->length = (size_t)(packed_number_put(to, other) - packed->bytes);
}

/* A difference of either sign as a number: small ones stay small. */
static inline uint64_t folded_sign(uint64_t difference)
{
    return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t unfolded_sign(uint64_t number)
{
    return number >> 1 ^ -(number & 1);
}

/* The number at *at, which is moved behind it. */
static inline uint64_t packed_number(const unsigned char **at)
{
    uint64_t number = **at & 0x7f;

    for (unsigned shift = 7; *(*at)++ & 0x80; shift += 7)
        number |= (uint64_t)(**at & 0x7f) << shift;
    return number;
}

#endif
