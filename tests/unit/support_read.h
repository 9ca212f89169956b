/* Reads traces from texts in memory and from files made for a test. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_READ_H
#define FLOPLEDGER_TESTS_SUPPORT_READ_H

#include "base/core/error.h"
#include "trace/trace.h"

#include <stdbool.h>

/* How a text is handed to the reader. */
struct read_manner {
    unsigned threads;   /* 0: 1 */
    size_t piece_bytes; /* of the windows; 0: as usual */
    bool keeps_memory;  /* see struct read_options */
};

/* Reads `length` bytes of `text` as a torch-profiler trace; false with `error` set where it is
 * none. */
bool read_text(struct trace *trace, const char *text, size_t length, struct read_manner manner,
               struct error *error);

/* Reads a text that must be a trace. */
void read_good_text(struct trace *trace, const char *text);

/* True where both traces say the same, whatever their ids are. */
bool is_same_trace(const struct trace *a, const struct trace *b);

/* The name of a new file with this content, to be freed by the caller, who removes the file. */
char *new_file(const void *bytes, size_t length);

/* The bytes packed as `gzip` or `zstd` does; freed by the caller. */
void *pack_gzip(const void *bytes, size_t length, size_t *packed_length);
void *pack_zstd(const void *bytes, size_t length, size_t *packed_length);

#endif
