/* The bytes of a digest: numbers of any size in as few bytes as they need, texts with their length.
 * docs/formats/digest.md describes them. */
#ifndef FLOPLEDGER_RANKS_DIGEST_BYTES_H
#define FLOPLEDGER_RANKS_DIGEST_BYTES_H

#include "base/core/arena.h"
#include "base/core/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void digest_put_text(struct bytes *writer, const char *text);

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
