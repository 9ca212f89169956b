/* Reads a file at once: side files, settings and other small ones, not traces. */
#ifndef FLOPLEDGER_BASE_WHOLE_FILE_H
#define FLOPLEDGER_BASE_WHOLE_FILE_H

#include "base/attributes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The whole file, at most 256 MiB, with room for one byte more behind it; free() it. NULL with
 * `error` set (ERROR_INPUT) where it cannot be read; *is_missing tells whether there is none of the
 * name. */
MUST_USE char *read_whole_file(const char *path, size_t *length, bool *is_missing,
                               struct error *error);

struct input_stream; /* base/input_stream.h */

/* All that is left of the stream, unpacked; free() it. stream->is_broken and is_followed tell
 * whether that is all of it. */
char *read_whole_stream(struct input_stream *stream, size_t *length);

#endif
