/* The bytes of a digest: numbers of any size in as few bytes as they need, texts with their length.
 * docs/formats/digest.md describes them. */
#ifndef FLOPLEDGER_RANKS_DIGEST_BYTES_H
#define FLOPLEDGER_RANKS_DIGEST_BYTES_H

#include "base/core/arena.h"
#include "base/core/bytes.h"
#include "ranks/shared_texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void digest_put_text(struct bytes *writer, const char *text);

/* A short text as it is, a long one by its hash: it is kept in `texts`. Where these are NULL, or
 * hold another text of that hash, it stands here, too. */
void digest_put_shared(struct bytes *writer, struct shared_texts *texts, const void *bytes,
                       size_t length);

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
/* ... and of at least so many bytes each. */
uint32_t digest_take_items(struct digest_reader *reader, size_t least_bytes);
const char *digest_take_text(struct digest_reader *reader, struct arena *arena);
/* What digest_put_shared wrote, with a NUL behind; fails where `texts` (may be NULL) do not hold
 * it. Lives in `arena` or in `texts`. `length` may be NULL. */
const char *digest_take_shared(struct digest_reader *reader, const struct shared_texts *texts,
                               struct arena *arena, size_t *length);

#endif
