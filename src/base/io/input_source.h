/* Where the bytes of an input_stream come from: a file, a pipe or memory, and what unpacks them.
 * Private to it. */
#ifndef FLOPLEDGER_BASE_IO_INPUT_SOURCE_H
#define FLOPLEDGER_BASE_IO_INPUT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct unpacker; /* opaque */

enum unpacker_kind {
    UNPACKER_GZIP, /* by ISA-L where the machine has it and FLOPLEDGER_INFLATE is not "zlib", else
                      by zlib */
    UNPACKER_ZSTD,
};

/* Where the packed bytes are and where the unpacked ones go; unpacker_run moves all four on. */
struct unpacker_buffers {
    const unsigned char *input;
    size_t input_left;
    unsigned char *output;
    size_t output_left;
};

enum unpacker_result {
    UNPACKER_MORE,     /* all input was taken, or the output is full */
    UNPACKER_BETWEEN,  /* as MORE, and a member (gzip) or frame (zstd) has just ended: the input may
                          end here */
    UNPACKER_TRAILING, /* what follows the last member is no member */
    UNPACKER_DAMAGED,  /* see unpacker_problem; what was unpacked before it is good */
};

/* Ends the program when memory is out. */
struct unpacker *unpacker_new(enum unpacker_kind kind);

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

/* True where this pipe was put; it is taken out, but for one that is lost. */
bool input_pipe_take(struct input_pipe *pipe, dev_t device, ino_t inode);

struct progress;

enum {
    INPUT_PIECE_BYTES = 256 * 1024, /* fits the second cache of a core */
    INPUT_RAW_BYTES = 128 * 1024,
};

struct input_source {
    /* the input */
    int file; /* -1: none */
    bool is_file_owned;
    struct input_pipe *pipe; /* NULL: no pipe */
    size_t pipe_used;        /* of what was kept of it */
    bool is_seekable;
    const char *memory; /* not owned; NULL for a file */
    int64_t file_bytes; /* -1: not known */
    int64_t offset;     /* of the next byte to read */
    struct progress *progress;
    bool is_at_end;
    /* bytes read and not yet used: what was looked at to learn the compression, or what is to be
     * unpacked */
    unsigned char *raw; /* [INPUT_RAW_BYTES] */
    size_t raw_used;
    size_t raw_length;
    struct unpacker *unpacker; /* NULL: not packed */
    const char *packing;       /* "gzip" */
    int64_t unpacked_bytes;
    bool is_between;    /* the packed text may end here */
    bool is_followed;   /* it ended well, and something else stands behind its end */
    char breakage[256]; /* why reading ended too early; empty where it did not */

    /* the window that the stream gives */
    char *window; /* owned */
    size_t window_size;
    const char *window_text; /* in `window`, or in a piece of the ring */
    size_t window_length;
    size_t piece_bytes; /* so much is added to it at a time, without a ring */
    bool wants_ring;
    struct input_ring *ring;
    struct input_piece *held; /* the piece of the ring in use */
};

/* Behind the first of so many bytes, what unpacks to so many times its size is no recording: traces
 * and logs stay below 100. */
enum { INPUT_BOMB_BYTES_MIN = 16 << 20, INPUT_BOMB_RATIO = 500 };

struct input_source *input_source_new(void);

/* Reads the first bytes into `raw` without using them up; how many there are (up to 64). */
size_t input_source_look_ahead(struct input_source *source);

/* Up to `size` unpacked bytes; fewer only at the end, 0 there. Sets `breakage` where the end comes
 * too early. */
size_t input_source_read(struct input_source *source, char *to, size_t size);

void input_source_free(struct input_source *source);

#endif
