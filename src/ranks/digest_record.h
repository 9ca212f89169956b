/* The digest of one rank as bytes, and back. The bytes of equal digests are equal.
 * docs/formats/digest.md describes them. */
#ifndef FLOPLEDGER_RANKS_DIGEST_RECORD_H
#define FLOPLEDGER_RANKS_DIGEST_RECORD_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "ranks/rank_digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a digest: numbers of any size in as few bytes as they need, texts with their length.
 * docs/formats/digest.md describes them. */

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

/* The first version wrote all texts where they are used. */
enum { DIGEST_VERSION = 2 };

/* What digests of one file have in common. Zeroed but for the version it is that of one without
 * shared texts. */
struct digest_context {
    int version;
    const struct shared_texts *texts; /* may be NULL; what is decoded points into them */
    struct digest_names names;        /* of `names_text`: as good as all have the same */
    const char *names_text;           /* one of `texts`; NULL: none yet */
};

/* Adds the bytes of `digest` to `writer`; its long texts come into `texts`, which may be NULL. */
void digest_encode(struct bytes *writer, const struct rank_digest *digest,
                   struct shared_texts *texts);

/* The text of names that all digests have in common that this version writes. */
void digest_names_encode(struct bytes *names);

/* Fills in a zeroed `digest`; false where the bytes are none, or hold what no trace can give (then
 * `digest` is left cleared). Parts that this version does not know are passed over. */
MUST_USE bool digest_decode(struct rank_digest *digest, const void *bytes, size_t length,
                            struct digest_context *context);

#endif
