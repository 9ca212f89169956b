/* Unpacks gzip and zstd, piece by piece. */
#include "base/io/unpacker.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/io/isal_inflate.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST /* inflate() does not write to its input */
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct unpacker {
    const char *problem;
    enum unpacker_result (*run)(struct unpacker *, struct unpacker_buffers *);
    void (*end)(struct unpacker *);
    bool is_between; /* a member or frame has ended and the next has not begun */
    bool has_member; /* at least one member has ended */
    z_stream zlib;
    ZSTD_DStream *zstd;
    struct isal_inflate *isal;
};

/* ---- zlib ----------------------------------------------------------------------------------- */

static unsigned unpacker_capped(size_t size)
{
    return size > UINT32_MAX / 2 ? UINT32_MAX / 2 : (unsigned)size;
}

static enum unpacker_result zlib_step(struct unpacker *unpacker, struct unpacker_buffers *buffers)
{
    z_stream *zlib = &unpacker->zlib;
    unsigned input = unpacker_capped(buffers->input_left);
    unsigned output = unpacker_capped(buffers->output_left);
    int status;

    zlib->next_in = buffers->input;
    zlib->avail_in = input;
    zlib->next_out = buffers->output;
    zlib->avail_out = output;
    status = inflate(zlib, Z_NO_FLUSH);
    buffers->input += input - zlib->avail_in;
    buffers->input_left -= input - zlib->avail_in;
    buffers->output += output - zlib->avail_out;
    buffers->output_left -= output - zlib->avail_out;
    if (status == Z_STREAM_END) {
        unpacker->is_between = true;
        unpacker->has_member = true;
        inflateReset(zlib);
    } else if (status == Z_MEM_ERROR) {
        end_out_of_memory();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
        unpacker->problem = zlib->msg ? zlib->msg : "damaged gzip data";
        return UNPACKER_DAMAGED;
    }
    return UNPACKER_MORE;
}

static void zlib_end(struct unpacker *unpacker)
{
    inflateEnd(&unpacker->zlib);
}

/* ---- ISA-L ---------------------------------------------------------------------------------- */

static enum unpacker_result isal_step(struct unpacker *unpacker, struct unpacker_buffers *buffers)
{
    switch (isal_inflate_step(unpacker->isal, &buffers->input, &buffers->input_left,
                              &buffers->output, &buffers->output_left)) {
    case ISAL_STEP_MORE:
        return UNPACKER_MORE;
    case ISAL_STEP_END:
        unpacker->is_between = true;
        unpacker->has_member = true;
        return UNPACKER_MORE;
    case ISAL_STEP_DAMAGED:
        break;
    }
    unpacker->problem = isal_inflate_problem(unpacker->isal);
    return UNPACKER_DAMAGED;
}

static void isal_end(struct unpacker *unpacker)
{
    isal_inflate_free(unpacker->isal);
}

/* ---- zstd ----------------------------------------------------------------------------------- */

static enum unpacker_result zstd_step(struct unpacker *unpacker, struct unpacker_buffers *buffers)
{
    ZSTD_inBuffer input = {buffers->input, buffers->input_left, 0};
    ZSTD_outBuffer output = {buffers->output, buffers->output_left, 0};
    size_t status = ZSTD_decompressStream(unpacker->zstd, &output, &input);

    buffers->input += input.pos;
    buffers->input_left -= input.pos;
    buffers->output += output.pos;
    buffers->output_left -= output.pos;
    if (ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation)
        end_out_of_memory();
    if (ZSTD_isError(status)) {
        unpacker->problem = ZSTD_getErrorName(status);
        return UNPACKER_DAMAGED;
    }
    if (status == 0) {
        unpacker->is_between = true;
        unpacker->has_member = true;
    }
    return UNPACKER_MORE;
}

static void zstd_end(struct unpacker *unpacker)
{
    ZSTD_freeDStream(unpacker->zstd);
}

/* ---- any ------------------------------------------------------------------------------------ */

static bool is_member_start(const struct unpacker *unpacker, const struct unpacker_buffers *buffers)
{
    if (unpacker->run == zstd_step) /* a frame, or a skippable one */
        return buffers->input[0] == 0x28 || (buffers->input[0] & 0xf0) == 0x50;
    return buffers->input[0] == 0x1f;
}

static bool wants_zlib(void)
{
    const char *chosen = getenv("FLOPLEDGER_INFLATE");

    return chosen && strcmp(chosen, "zlib") == 0;
}

static void gzip_begin(struct unpacker *unpacker)
{
    int status;

    if (!wants_zlib())
        unpacker->isal = isal_inflate_new();
    if (unpacker->isal) {
        unpacker->run = isal_step;
        unpacker->end = isal_end;
        return;
    }
    unpacker->run = zlib_step;
    unpacker->end = zlib_end;
    status = inflateInit2(&unpacker->zlib, 15 + 16);
    if (status == Z_MEM_ERROR)
        end_out_of_memory();
    require_invariant(status == Z_OK, "that zlib can begin");
}

struct unpacker *unpacker_new(enum unpacker_kind kind)
{
    struct unpacker *unpacker = require_memory(calloc(1, sizeof *unpacker));

    if (kind == UNPACKER_GZIP) {
        gzip_begin(unpacker);
        return unpacker;
    }
    unpacker->run = zstd_step;
    unpacker->end = zstd_end;
    unpacker->zstd = require_memory(ZSTD_createDStream());
    /* What `zstd --long=31` wrote can be read, too. */
    (void)ZSTD_DCtx_setParameter(unpacker->zstd, ZSTD_d_windowLogMax, 31);
    return unpacker;
}

enum unpacker_result unpacker_run(struct unpacker *unpacker, struct unpacker_buffers *buffers)
{
    for (;;) {
        size_t input_before = buffers->input_left;
        size_t output_before = buffers->output_left;

        if (unpacker->is_between && buffers->input_left) {
            if (!is_member_start(unpacker, buffers))
                return UNPACKER_TRAILING;
            unpacker->is_between = false;
        }
        if (unpacker->is_between || buffers->output_left == 0)
            break;
        if (unpacker->run(unpacker, buffers) == UNPACKER_DAMAGED)
            return UNPACKER_DAMAGED;
        if (buffers->input_left == input_before && buffers->output_left == output_before)
            break;
    }
    return unpacker->is_between ? UNPACKER_BETWEEN : UNPACKER_MORE;
}

const char *unpacker_problem(const struct unpacker *unpacker)
{
    return unpacker->problem ? unpacker->problem : "no problem";
}

void unpacker_free(struct unpacker *unpacker)
{
    if (!unpacker)
        return;
    unpacker->end(unpacker);
    free(unpacker);
}
