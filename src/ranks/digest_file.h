/* A set of digests as bytes: a file, or a message. docs/formats/digest.md describes them. */
#ifndef FLOPLEDGER_RANKS_DIGEST_FILE_H
#define FLOPLEDGER_RANKS_DIGEST_FILE_H

#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "base/core/error.h"
#include "base/io/input_stream.h"
#include "ranks/digest_set.h"

#include <stdbool.h>
#include <stddef.h>

/* Sorts the set and adds its bytes to `writer`. */
void digest_set_encode(struct bytes *writer, struct digest_set *set);

/* Whether a file that begins with these bytes is one of digests. */
bool digest_set_recognises(const void *bytes, size_t length);

/* Adds the records in the bytes to `set`. A damaged record, and a cut end, become problems of
 * `file`, and the rest goes on; an error (ERROR_INPUT) is only what is no file of digests, or one
 * of a later version. */
MUST_USE bool digest_set_decode(struct digest_set *set, const void *bytes, size_t length,
                                const char *file, struct error *error);

/* The same of all that is left of a stream, record by record. */
MUST_USE bool digest_set_read(struct digest_set *set, struct input_stream *stream, const char *file,
                              struct error *error);

#endif
