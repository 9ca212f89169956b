/* The digest of one rank as bytes, and back. The bytes of equal digests are equal.
 * docs/formats/digest.md describes them. */
#ifndef FLOPLEDGER_RANKS_DIGEST_RECORD_H
#define FLOPLEDGER_RANKS_DIGEST_RECORD_H

#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "ranks/digest_bytes.h"
#include "ranks/digest_parts.h"
#include "ranks/rank_digest.h"
#include "ranks/shared_texts.h"

#include <stdbool.h>
#include <stddef.h>

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
