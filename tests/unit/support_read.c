/* Reads traces from texts in memory and from files made for a test. */
#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#define ZLIB_CONST
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "readers/reader.h"

#include <zlib.h>
#include <zstd.h>

extern const struct reader torch_profiler_json_reader;

bool read_text(struct trace *trace, const char *text, size_t length, struct read_manner manner,
               struct error *error)
{
    const struct read_options options = {.threads = manner.threads ? manner.threads : 1,
                                         .keeps_memory = manner.keeps_memory};
    SCOPED(input_stream) input = {0};

    input_stream_open_memory(&input, text, length);
    if (manner.piece_bytes)
        input_stream_set_piece(&input, manner.piece_bytes);
    return torch_profiler_json_reader.read(trace, &input, &options, error);
}

void read_good_text(struct trace *trace, const char *text)
{
    struct error error = {0};

    if (!read_text(trace, text, strlen(text), (struct read_manner){0}, &error))
        fail_msg("not read: %s", error.message);
}

static bool is_same_detail(const struct trace *a, const struct trace *b, uint32_t left,
                           uint32_t right)
{
    const struct event_detail *x = &a->details[left];
    const struct event_detail *y = &b->details[right];

    return strcmp(trace_text(a, x->input_shapes), trace_text(b, y->input_shapes)) == 0 &&
           strcmp(trace_text(a, x->call_stack), trace_text(b, y->call_stack)) == 0 &&
           memcmp(x->grid, y->grid, sizeof x->grid) == 0 &&
           memcmp(x->block, y->block, sizeof x->block) == 0 && x->bytes == y->bytes;
}

static bool is_same_list(const struct trace *a, const struct trace *b, const struct event *left,
                         const struct event *right, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct event *x = &left[i];
        const struct event *y = &right[i];

        if (x->start_ns != y->start_ns || x->duration_ns != y->duration_ns ||
            x->correlation != y->correlation || x->external_id != y->external_id ||
            x->kind != y->kind || x->track != y->track ||
            strcmp(trace_text(a, x->name), trace_text(b, y->name)) != 0 ||
            !is_same_detail(a, b, x->detail, y->detail))
            return false;
    }
    return true;
}

static bool has_same_tracks(const struct trace *a, const struct trace *b)
{
    for (uint32_t i = 0; i < a->track_count; i++) {
        const struct track *x = &a->tracks[i];
        const struct track *y = &b->tracks[i];

        if (strcmp(trace_text(a, x->process), trace_text(b, y->process)) != 0 ||
            strcmp(trace_text(a, x->thread), trace_text(b, y->thread)) != 0 ||
            strcmp(trace_text(a, x->thread_name), trace_text(b, y->thread_name)) != 0 ||
            x->device != y->device || x->stream != y->stream || x->event_count != y->event_count)
            return false;
    }
    return true;
}

bool is_same_trace(const struct trace *a, const struct trace *b)
{
    if (a->host_count != b->host_count || a->device_count != b->device_count ||
        a->device_note_count != b->device_note_count || a->track_count != b->track_count ||
        a->read.events != b->read.events || a->read.damaged_events != b->read.damaged_events ||
        a->read.category_count != b->read.category_count || !has_same_tracks(a, b))
        return false;
    if (!is_same_list(a, b, a->host, b->host, a->host_count) ||
        !is_same_list(a, b, a->device, b->device, a->device_count) ||
        !is_same_list(a, b, a->device_notes, b->device_notes, a->device_note_count))
        return false;
    return a->device_count == 0 ||
           (memcmp(a->launch, b->launch, a->device_count * sizeof *a->launch) == 0 &&
            memcmp(a->launch_operator, b->launch_operator,
                   a->device_count * sizeof *a->launch_operator) == 0);
}

char *new_file(const void *bytes, size_t length)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char *path = require_memory(malloc(strlen(folder) + 32));
    int file;

    (void)sprintf(path, "%s/flopledger-test-XXXXXX", folder);
    file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, length), length);
    close(file);
    return path;
}

void *pack_gzip(const void *bytes, size_t length, size_t *packed_length)
{
    z_stream stream = {0};
    size_t room;
    void *packed;

    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    room = deflateBound(&stream, length) + 64;
    packed = require_memory(malloc(room));
    stream.next_in = bytes;
    stream.avail_in = (unsigned)length;
    stream.next_out = packed;
    stream.avail_out = (unsigned)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *packed_length = room - stream.avail_out;
    deflateEnd(&stream);
    return packed;
}

void *pack_zstd(const void *bytes, size_t length, size_t *packed_length)
{
    size_t room = ZSTD_compressBound(length);
    void *packed = require_memory(malloc(room));

    *packed_length = ZSTD_compress(packed, room, bytes, length, 3);
    assert_false(ZSTD_isError(*packed_length));
    return packed;
}
