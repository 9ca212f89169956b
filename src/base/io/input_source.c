/* Where the bytes of an input_stream come from: a file, a pipe or memory, and what unpacks them. */
#include "base/io/input_source.h"

#include "base/core/invariant.h"
#include "base/io/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static ssize_t read_pipe(struct input_source *source, void *to, size_t size)
{
    ssize_t count = read(source->file, to, size);

    if (count > 0 && source->pipe) {
        input_pipe_keep(source->pipe, to, (size_t)count);
        source->pipe_used = source->pipe->length;
    }
    return count;
}

/* Up to `size` bytes as stored; fewer only at the end. */
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

static bool is_bomb(const struct input_source *source)
{
    int64_t packed = source->offset - (int64_t)(source->raw_length - source->raw_used);

    return source->unpacked_bytes > INPUT_BOMB_BYTES_MIN &&
           source->unpacked_bytes / INPUT_BOMB_RATIO > packed;
}

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
