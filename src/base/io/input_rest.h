/* What stands behind the end of a document in a stream: nothing should. */
#ifndef FLOPLEDGER_BASE_IO_INPUT_REST_H
#define FLOPLEDGER_BASE_IO_INPUT_REST_H

#include "base/core/attributes.h"

#include <stddef.h>
#include <stdint.h>

struct input_stream; /* base/io/input_stream.h */

enum input_rest_kind {
    REST_NOTHING,  /* the stream ends whole, with nothing but white space */
    REST_FOLLOWED, /* something else stands there, and is not read */
    REST_BROKEN,   /* the stream is damaged or cut: what was read before may be wrong, too */
};

struct input_rest {
    enum input_rest_kind kind;
    int64_t end_byte;  /* where the unpacked text ends */
    char message[320]; /* what and where; empty for REST_NOTHING */
};

/* What of the last window is behind the document. */
struct input_left {
    const char *text;
    size_t length;
    int64_t byte; /* where it begins in the unpacked text */
};

/* Reads on to the end of the stream, so that checksums are checked and what follows is seen. */
struct input_rest input_read_rest(struct input_stream *input, struct input_left left);

#endif
