/* A stream that packs what is written to it. */
#include "base/io/packed_output.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <zlib.h>

enum {
    PIECE_BYTES = 64 * 1024,
    GZIP_WINDOW_BITS = 15 + 16, /* zlib's largest window, and gzip's header */
    MEMORY_LEVEL = 8,           /* zlib's usual one */
};

struct packing {
    FILE *target;
    z_stream stream;
    unsigned char packed[PIECE_BYTES];
};

/* Packs what the stream was given; false where the target does not take it. Until the packer
 * leaves room: only then it has taken all of its input. */
static bool packed_output_pack(struct packing *packing, int flush)
{
    do {
        size_t length;

        packing->stream.next_out = packing->packed;
        packing->stream.avail_out = PIECE_BYTES;
        (void)deflate(&packing->stream, flush);
        length = PIECE_BYTES - packing->stream.avail_out;
        if (fwrite(packing->packed, 1, length, packing->target) != length)
            return false;
    } while (packing->stream.avail_out == 0);
    return true;
}

static ssize_t packed_output_write_packed(void *cookie, const char *bytes, size_t length)
{
    struct packing *packing = cookie;
    size_t done = 0;

    while (done < length) {
        size_t piece = length - done > PIECE_BYTES ? PIECE_BYTES : length - done;
        unsigned char copy[PIECE_BYTES]; /* zlib wants what it does not change to be changeable */

        memcpy(copy, bytes + done, piece);
        packing->stream.next_in = copy;
        packing->stream.avail_in = (uInt)piece;
        if (!packed_output_pack(packing, Z_NO_FLUSH))
            return 0;
        done += piece;
    }
    return (ssize_t)length;
}

static int close_packed(void *cookie)
{
    struct packing *packing = cookie;
    bool is_done = packed_output_pack(packing, Z_FINISH);

    deflateEnd(&packing->stream);
    free(packing);
    return is_done ? 0 : EOF;
}

/* A FILE of its own kind (fopencookie): writers need not know that they are packed. */
FILE *packed_output_open(FILE *target)
{
    const cookie_io_functions_t functions = {.write = packed_output_write_packed,
                                             .close = close_packed};
    struct packing *packing = require_memory(calloc(1, sizeof *packing));

    packing->target = target;
    if (deflateInit2(&packing->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        end_out_of_memory();
    return require_memory(fopencookie(packing, "w", functions));
}
