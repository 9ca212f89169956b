/* Bytes that grow as they are written, and numbers of as few bytes as they need. */
#ifndef FLOPLEDGER_BASE_CORE_BYTES_H
#define FLOPLEDGER_BASE_CORE_BYTES_H

#include "base/core/array.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VARINT_BYTES_MAX = 10 };

/* Zeroed is empty. */
struct bytes {
    unsigned char *bytes; /* [length] */
    size_t length;
    size_t capacity;
};

/* Room for `more` behind the last. Ends the program when memory is out, as all that follow. */
static inline void bytes_reserve(struct bytes *to, size_t more)
{
    if (to->capacity - to->length < more)
        ARRAY_RESERVE(to->bytes, to->capacity, to->length + more);
}

static inline void bytes_add(struct bytes *to, const void *from, size_t length)
{
    if (length == 0)
        return;
    bytes_reserve(to, length);
    memcpy(to->bytes + to->length, from, length);
    to->length += length;
}

/* Seven bits a byte, the lowest first; all but the last byte have the highest bit set. */
static inline void bytes_add_varint(struct bytes *to, uint64_t number)
{
    bytes_reserve(to, VARINT_BYTES_MAX);
    for (; number >= 0x80; number >>= 7)
        to->bytes[to->length++] = (unsigned char)(number | 0x80);
    to->bytes[to->length++] = (unsigned char)number;
}

/* As a varint: 0, -1, 1, -2, ... are 0, 1, 2, 3, ... */
static inline void bytes_add_zigzag(struct bytes *to, int64_t number)
{
    uint64_t twice = (uint64_t)number << 1;

    bytes_add_varint(to, number < 0 ? ~twice : twice);
}

/* The lowest byte first, whatever this machine does. */
static inline void bytes_add_fixed(struct bytes *to, uint64_t bits, unsigned byte_count)
{
    bytes_reserve(to, byte_count);
    for (unsigned i = 0; i < byte_count; i++)
        to->bytes[to->length++] = (unsigned char)(bits >> (8 * i));
}

static inline void bytes_clear(struct bytes *bytes)
{
    if (!bytes)
        return;
    free(bytes->bytes);
    *bytes = (struct bytes){0};
}

#endif
