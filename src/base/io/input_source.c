/* Where the bytes of an input_stream come from: a file, a pipe or memory, and what unpacks them. */
#include "base/io/input_source.h"

#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/io/isal_inflate.h"
#include "base/io/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- unpacking ------------------------------------------------------------------------------- */

/* Unpacks gzip and zstd, piece by piece. */

#define ZLIB_CONST /* inflate() does not write to its input */
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct unpacker {
    const char *problem;
    enum unpacker_result (*run)(struct unpacker *, struct unpacker_buffers *);
    void (*end)(struct unpacker *);
    bool is_between; /* a member or frame has ended and the next has not begun */
    z_stream zlib;
    ZSTD_DStream *zstd;
    struct isal_inflate *isal;
};

/* ---- zlib ----------------------------------------------------------------------------------- */

/* zlib counts in unsigned int. */
static unsigned unpacker_capped(size_t size)
{
    return size > UINT32_MAX / 2 ? UINT32_MAX / 2 : (unsigned)size;
}

/* Z_BUF_ERROR only says that nothing could be done with what was given; the loop around sees
 * that. */
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

/* gzip files may have several members, one behind the other: the end of one is not the end of
 * the text. */
static enum unpacker_result isal_step(struct unpacker *unpacker, struct unpacker_buffers *buffers)
{
    switch (isal_inflate_step(unpacker->isal, &buffers->input, &buffers->input_left,
                              &buffers->output, &buffers->output_left)) {
    case ISAL_STEP_MORE:
        return UNPACKER_MORE;
    case ISAL_STEP_END:
        unpacker->is_between = true;
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

/* 0: a frame has ended. */
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
    if (status == 0)
        unpacker->is_between = true;
    return UNPACKER_MORE;
}

static void zstd_end(struct unpacker *unpacker)
{
    ZSTD_freeDStream(unpacker->zstd);
}

/* ---- any ------------------------------------------------------------------------------------ */

/* By the first byte: gzip's is 0x1f; frames of zstd begin with 0x28, skippable ones with 0x5?
 * (RFC 8878). What else follows is not of this stream. */
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

/* 15 + 16: the largest window, and gzip's header only. */
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

/* Unpacks until the input or the room for output ends. Members and frames that follow each other
 * are one text. Until nothing moves on: input or room has ended then. Members that follow each
 * other are one text (RFC 1952, 2.2), as of files put together by cat. */
static enum unpacker_result unpacker_run(struct unpacker *unpacker,
                                         struct unpacker_buffers *buffers)
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

/* What is wrong, after UNPACKER_DAMAGED: "invalid distance too far back". */
static const char *unpacker_problem(const struct unpacker *unpacker)
{
    return unpacker->problem ? unpacker->problem : "no problem";
}

static void unpacker_free(struct unpacker *unpacker)
{
    if (!unpacker)
        return;
    unpacker->end(unpacker);
    free(unpacker);
}

/* ---- reading a pipe -------------------------------------------------------------------------- */

/* Pipes that were looked at and are read later: their bytes come only once. Private to
 * input_stream. */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct input_pipe *pipes; /* guarded by it; until the program ends */
static size_t pipe_count;

/* Adds what was just read. Up to a limit what was read of a pipe is kept, so that looking at it
 * costs nothing; beyond, it is lost, and reading it again is refused. */
static void input_pipe_keep(struct input_pipe *pipe, const void *bytes, size_t length)
{
    if (pipe->is_lost || length == 0)
        return;
    if (pipe->length + length > INPUT_PIPE_BYTES_MAX) {
        pipe->is_lost = true;
        free(pipe->bytes);
        pipe->bytes = NULL;
        pipe->length = 0;
        return;
    }
    ARRAY_RESERVE(pipe->bytes, pipe->capacity, pipe->length + length);
    memcpy(pipe->bytes + pipe->length, bytes, length);
    pipe->length += length;
}

/* For later: takes `pipe` over. */
static void input_pipe_put(const struct input_pipe *pipe)
{
    pthread_mutex_lock(&mutex);
    ARRAY_ROOM(pipes, pipe_count);
    pipes[pipe_count] = *pipe;
    if (pipe->is_lost && pipe->is_file_owned) {
        (void)close(pipe->file);
        pipes[pipe_count].file = -1;
    }
    pipe_count++;
    pthread_mutex_unlock(&mutex);
}

/* By device and inode: the same pipe may be named /dev/stdin or -. */
bool input_pipe_take(struct input_pipe *pipe, dev_t device, ino_t inode)
{
    bool is_found = false;

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < pipe_count && !is_found; i++) {
        if (pipes[i].device != device || pipes[i].inode != inode)
            continue;
        *pipe = pipes[i];
        is_found = true;
        if (!pipe->is_lost)
            pipes[i] = pipes[--pipe_count];
    }
    pthread_mutex_unlock(&mutex);
    return is_found;
}

/* ---- input source ---------------------------------------------------------------------------- */

enum { LOOK_AHEAD_BYTES = 64 };

struct input_source *input_source_new(void)
{
    struct input_source *source = require_memory(calloc(1, sizeof *source));

    source->file = -1;
    source->piece_bytes = INPUT_PIECE_BYTES;
    source->raw = require_memory(malloc(INPUT_RAW_BYTES));
    return source;
}

static size_t read_memory(struct input_source *source, void *to, size_t size)
{
    size_t left = (size_t)(source->file_bytes - source->offset);
    size_t got = size < left ? size : left;

    if (got)
        memcpy(to, source->memory + source->offset, got);
    return got;
}

/* What was already read of a pipe, when it was only looked at. */
static ssize_t read_kept(struct input_source *source, void *to, size_t size)
{
    size_t left = source->pipe->length - source->pipe_used;
    size_t got = size < left ? size : left;

    memcpy(to, source->pipe->bytes + source->pipe_used, got);
    source->pipe_used += got;
    return (ssize_t)got;
}

/* What comes through a pipe cannot be read a second time, so that it is kept where several
 * readers look at its begin. */
static ssize_t read_pipe(struct input_source *source, void *to, size_t size)
{
    ssize_t count = read(source->file, to, size);

    if (count > 0 && source->pipe) {
        input_pipe_keep(source->pipe, to, (size_t)count);
        source->pipe_used = source->pipe->length;
    }
    return count;
}

/* Up to `size` bytes as stored; fewer only at the end. pread where it can: several streams read
 * one file side by side without a common place in it. */
static size_t read_raw(struct input_source *source, void *to, size_t size)
{
    size_t got = 0;

    while (got < size && !source->is_at_end) {
        char *at = (char *)to + got;
        ssize_t count;

        if (source->pipe && source->pipe_used < source->pipe->length)
            count = read_kept(source, at, size - got);
        else if (source->memory)
            count = (ssize_t)read_memory(source, at, size - got);
        else if (source->is_seekable)
            count = pread(source->file, at, size - got, (off_t)source->offset);
        else
            count = read_pipe(source, at, size - got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            (void)snprintf(source->breakage, sizeof source->breakage,
                           "cannot read on at byte %lld of the file: %s", (long long)source->offset,
                           strerror(errno));
        source->is_at_end = count <= 0;
        if (count > 0) {
            got += (size_t)count;
            source->offset += count;
        }
    }
    progress_advance(source->progress, (int64_t)got);
    return got;
}

size_t input_source_look_ahead(struct input_source *source)
{
    source->raw_length = read_raw(source, source->raw, LOOK_AHEAD_BYTES);
    return source->raw_length;
}

/* What was looked at to tell the compression comes first: a pipe cannot be read again. */
static size_t read_plain(struct input_source *source, char *to, size_t size)
{
    size_t ahead = source->raw_length - source->raw_used;

    if (ahead > size)
        ahead = size;
    if (ahead) {
        memcpy(to, source->raw + source->raw_used, ahead);
        source->raw_used += ahead;
    }
    return ahead + read_raw(source, to + ahead, size - ahead);
}

/* The place is where the unpacker stands, not how far the file was read ahead. Only the first
 * breakage is told. */
static void set_breakage(struct input_source *source, const char *what)
{
    int64_t at = source->offset - (int64_t)(source->raw_length - source->raw_used);

    if (!source->breakage[0])
        (void)snprintf(source->breakage, sizeof source->breakage,
                       "the %s stream %s at byte %lld of the file", source->packing, what,
                       (long long)at);
    source->is_at_end = true;
    source->raw_used = source->raw_length;
}

/* Runs the unpacker once; false where nothing more can come. */
static bool unpack_some(struct input_source *source, struct unpacker_buffers *buffers)
{
    enum unpacker_result result;

    if (source->raw_used == source->raw_length) {
        source->raw_used = 0;
        source->raw_length = read_raw(source, source->raw, INPUT_RAW_BYTES);
    }
    buffers->input = source->raw + source->raw_used;
    buffers->input_left = source->raw_length - source->raw_used;
    result = unpacker_run(source->unpacker, buffers);
    source->raw_used = source->raw_length - buffers->input_left;
    source->is_between = result == UNPACKER_BETWEEN;
    if (result == UNPACKER_DAMAGED) {
        char what[128];

        (void)snprintf(what, sizeof what, "is damaged (%s)", unpacker_problem(source->unpacker));
        set_breakage(source, what);
        return false;
    }
    if (result == UNPACKER_TRAILING) {
        set_breakage(source, "ends, and something else follows it, which is not read,");
        source->is_followed = true;
    }
    return result != UNPACKER_TRAILING;
}

/* By the ratio, and only beyond a size: JSON of profilers packs to a tenth or a twentieth. */
static bool is_bomb(const struct input_source *source)
{
    int64_t packed = source->offset - (int64_t)(source->raw_length - source->raw_used);

    return source->unpacked_bytes > INPUT_BOMB_BYTES_MIN &&
           source->unpacked_bytes / INPUT_BOMB_RATIO > packed;
}

/* What was unpacked before the damage is given to the reader: only what follows is lost. */
static size_t read_unpacked(struct input_source *source, char *to, size_t size)
{
    struct unpacker_buffers buffers = {.output = (unsigned char *)to, .output_left = size};

    while (buffers.output_left && source->packing) {
        size_t before = buffers.output_left;

        if (!unpack_some(source, &buffers)) {
            source->packing = NULL;
        } else if (buffers.output_left == before && source->is_at_end &&
                   source->raw_used == source->raw_length) {
            if (!source->is_between)
                set_breakage(source, "ends in the middle");
            source->packing = NULL;
        }
    }
    source->unpacked_bytes += (int64_t)(size - buffers.output_left);
    if (source->packing && is_bomb(source)) {
        set_breakage(source, "unpacks to over 500 times its size, as no recording does, and is "
                             "not read on");
        source->packing = NULL;
    }
    return size - buffers.output_left;
}

size_t input_source_read(struct input_source *source, char *to, size_t size)
{
    return source->unpacker ? read_unpacked(source, to, size) : read_plain(source, to, size);
}

/* A pipe has no file of its own to close. A file that the caller opened stays open. */
void input_source_free(struct input_source *source)
{
    if (!source)
        return;
    if (source->pipe) {
        input_pipe_put(source->pipe);
        free(source->pipe);
    } else if (source->is_file_owned) {
        close(source->file);
    }
    unpacker_free(source->unpacker);
    free(source->raw);
    free(source->window);
    free(source);
}
