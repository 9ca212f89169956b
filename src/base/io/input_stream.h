/* The bytes of a file, a pipe or a piece of memory, window by window, unpacked where they are
 * packed. */
#ifndef FLOPLEDGER_BASE_IO_INPUT_STREAM_H
#define FLOPLEDGER_BASE_IO_INPUT_STREAM_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/input_padding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress;       /* base/io/progress.h */
struct unpacked_input; /* base/io/mapped_input.h */

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };

/* One after the other; all memory is reused, so that a window is valid until the next call. */
struct input_window {
    const char *text;
    size_t length;
};

/* A zeroed stream is a closed one. */
struct input_stream {
    const char *name;             /* as the user gave it; "standard input" for "-"; not owned */
    int64_t file_bytes;           /* as stored; -1 for a pipe */
    int64_t text_bytes;           /* unpacked, handed out so far (without what was kept) */
    enum compression compression; /* told by the first bytes, never by the name */
    bool is_broken;     /* the input ended before its end: all that could be read was handed out */
    bool is_followed;   /* it is whole, and what stands behind its end was not read */
    char breakage[256]; /* why either is so, and the byte of the file */
    struct progress *progress;       /* not owned; may be NULL; set it before the first window */
    struct unpacked_input *unpacked; /* not owned; may be NULL: see mapped_input_open */
    struct input_source *source;     /* private */
    bool is_peeked;                  /* private */
};

/* `path` may be "-". Errors (ERROR_INPUT): no such file, a folder, not readable; not: damaged
 * content. With `has_own_thread` packed input is unpacked by a thread of its own. */
MUST_USE bool input_stream_open(struct input_stream *stream, const char *path, bool has_own_thread,
                                struct error *error);

/* The stream gives `length` bytes at `bytes`, which must outlive it; packed or not. */
void input_stream_open_memory(struct input_stream *stream, const void *bytes, size_t length);

/* Moves on. The new window begins with the last `keep` bytes of the window before; false at the end
 * of the input, when the window holds these only. A read error counts as the end and is told by
 * is_broken. */
bool input_stream_next(struct input_stream *stream, size_t keep, struct input_window *window);

/* The first window, without using it up: input_stream_next(stream, 0, ...) gives it once more. Only
 * at the beginning. */
struct input_window input_stream_peek(struct input_stream *stream);

/* True where input_stream_open_at works: a plain file, and plain memory. */
bool input_stream_can_seek(const struct input_stream *stream);

/* True where input_stream_begin_again works: files and memory, packed or not. */
bool input_stream_can_begin_again(const struct input_stream *stream);

/* A second stream over all of the same input. `whole` must stay open. */
void input_stream_begin_again(struct input_stream *stream, const struct input_stream *whole);

/* A second stream over the same input, from byte `offset` on; any thread may use it. `whole` must
 * stay open. */
void input_stream_open_at(struct input_stream *stream, const struct input_stream *whole,
                          int64_t offset);

/* Windows grow by so many bytes at a time (at least 1), not by the usual number; for tests. Before
 * the first window. */
void input_stream_set_piece(struct input_stream *stream, size_t bytes);

void input_stream_clear(struct input_stream *stream);

/* "none", "gzip", "zstd". */
const char *compression_name(enum compression compression);

#endif
