/* The digest of one rank as bytes, and back. The bytes of equal digests are equal.
 * docs/formats/digest.md describes them. */
#ifndef FLOPLEDGER_RANKS_DIGEST_RECORD_H
#define FLOPLEDGER_RANKS_DIGEST_RECORD_H

#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "ranks/digest_bytes.h"
#include "ranks/rank_digest.h"

#include <stdbool.h>
#include <stddef.h>

/* Adds the bytes of `digest` to `writer`. */
void digest_encode(struct bytes *writer, const struct rank_digest *digest);

/* Fills in a zeroed `digest`; false where the bytes are none, or hold what no trace can give (then
 * `digest` is left cleared). Parts that this version does not know are passed over. */
MUST_USE bool digest_decode(struct rank_digest *digest, const void *bytes, size_t length);

#endif
