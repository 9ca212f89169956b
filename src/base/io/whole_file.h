/* Reads a file at once: side files, settings and other small ones, not traces. */
#ifndef FLOPLEDGER_BASE_IO_WHOLE_FILE_H
#define FLOPLEDGER_BASE_IO_WHOLE_FILE_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What is read at once is read up to here, unpacked, whatever the format is. */
enum { WHOLE_FILE_BYTES_MAX = 256 << 20 };

/* The whole file, up to that limit, with room for one byte more behind it; free() it. NULL with
 * `error` set (ERROR_INPUT) where it cannot be read; *is_missing tells whether there is none of the
 * name. */
MUST_USE char *read_whole_file(const char *path, size_t *length, bool *is_missing,
                               struct error *error);

struct input_stream; /* base/io/input_stream.h */

/* All that is left of the stream, unpacked, with a NUL behind it; free() it. stream->is_broken and
 * is_followed tell whether that is all of it. NULL with `error` set (ERROR_INPUT) where it is more
 * than the limit. */
MUST_USE char *read_whole_stream(struct input_stream *stream, size_t *length, struct error *error);

#endif
