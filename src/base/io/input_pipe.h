/* Pipes that were looked at and are read later: their bytes come only once. Private to
 * input_stream. */
#ifndef FLOPLEDGER_BASE_IO_INPUT_PIPE_H
#define FLOPLEDGER_BASE_IO_INPUT_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What was read from a pipe, kept while that is little: so much is enough to know a file by. */
enum { INPUT_PIPE_BYTES_MAX = 1 << 20 };

struct input_pipe {
    dev_t device;
    ino_t inode;
    int file; /* open */
    bool is_file_owned;
    bool is_lost; /* more was read than is kept: it cannot be read again */
    char *bytes;  /* [length] of its beginning, owned; NULL: none */
    size_t length;
    size_t capacity;
};

/* Adds what was just read. */
void input_pipe_keep(struct input_pipe *pipe, const void *bytes, size_t length);

/* For later: takes `pipe` over. */
void input_pipe_put(const struct input_pipe *pipe);

/* True where this pipe was put; it is taken out, but for one that is lost. */
bool input_pipe_take(struct input_pipe *pipe, dev_t device, ino_t inode);

#endif
