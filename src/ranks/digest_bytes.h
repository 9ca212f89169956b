/* The bytes of a digest: numbers of any size in as few bytes as they need, texts with their length.
 * docs/formats/digest.md describes them. */
#ifndef FLOPLEDGER_RANKS_DIGEST_BYTES_H
#define FLOPLEDGER_RANKS_DIGEST_BYTES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows as it is written; zeroed is empty. */
struct digest_writer {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
};

void digest_put_bytes(struct digest_writer *writer, const void *bytes, size_t length);
/* Seven bits a byte, the lowest first; all but the last byte have the highest bit set. */
void digest_put_count(struct digest_writer *writer, uint64_t number);
/* As a count: 0, -1, 1, -2, ... are 0, 1, 2, 3, ... */
void digest_put_integer(struct digest_writer *writer, int64_t number);
void digest_put_text(struct digest_writer *writer, const char *text);
void digest_writer_clear(struct digest_writer *writer);

/* Once it has failed every take gives 0 or "". */
struct digest_reader {
    const unsigned char *at;
    const unsigned char *end;
    bool has_failed; /* the bytes ended too early, or hold no such number */
};

uint64_t digest_take_count(struct digest_reader *reader);
int64_t digest_take_integer(struct digest_reader *reader);
/* A count of things of at least one byte each that are still to come: fails where there are fewer
 * bytes left. */
uint32_t digest_take_length(struct digest_reader *reader);
/* An integer that fits; fails otherwise. */
int32_t digest_take_small(struct digest_reader *reader);
const char *digest_take_text(struct digest_reader *reader, struct arena *arena);

#endif
