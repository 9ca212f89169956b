/* All bytes of an input at once, for formats that tell the names of things behind the things: a
 * plain file is mapped, so that what was walked over need not stay in memory, and so is a file
 * without a name into which what is packed or comes through a pipe is unpacked. */
#ifndef FLOPLEDGER_BASE_IO_MAPPED_INPUT_H
#define FLOPLEDGER_BASE_IO_MAPPED_INPUT_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct input_stream; /* base/io/input_stream.h */

/* Zeroed is empty. */
struct mapped_input {
    const char *text;
    size_t length;
    /* private */
    char *read;     /* of what is not mapped: a large array */
    int file;       /* of a mapping */
    bool is_mapped; /* a file's bytes */
    bool owns_file; /* it has no name */
};

/* What a packed input was unpacked to, for those who map it once more: a file without a name, and
 * how the input ended. */
struct unpacked_input {
    int file; /* -1: nothing is kept */
    size_t length;
    bool is_broken;
    bool is_followed;
    char breakage[256];
};

struct unpacked_input *unpacked_input_new(void);
void unpacked_input_free(struct unpacked_input *unpacked);

/* All of `input`, of which nothing was used up and which must stay open. Its text may have
 * `bytes_max`: false with `error` set where it is more. Where input->unpacked is set and keeps
 * something, that is mapped; else the file into which the input is unpacked, if any, is kept there.
 * The latter is for one thread alone. */
MUST_USE bool mapped_input_open(struct mapped_input *mapped, struct input_stream *input,
                                size_t bytes_max, struct error *error);

/* Gives the memory of what stands before `until` back; it is read from the file once more where it
 * is asked for again. */
void mapped_input_forget(const struct mapped_input *mapped, const char *until);

/* False where the file has become shorter since: what was its end can be read no more. */
bool mapped_input_is_there(const struct mapped_input *mapped);

void mapped_input_close(struct mapped_input *mapped);

#endif
