/* Unpacks gzip and zstd, piece by piece. */
#ifndef FLOPLEDGER_BASE_IO_UNPACKER_H
#define FLOPLEDGER_BASE_IO_UNPACKER_H

#include "base/core/attributes.h"

#include <stddef.h>

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

/* Unpacks until the input or the room for output ends. Members and frames that follow each other
 * are one text. */
enum unpacker_result unpacker_run(struct unpacker *unpacker, struct unpacker_buffers *buffers);

/* What is wrong, after UNPACKER_DAMAGED: "invalid distance too far back". */
const char *unpacker_problem(const struct unpacker *unpacker);

void unpacker_free(struct unpacker *unpacker);

#endif
