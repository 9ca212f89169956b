/* Reads the array of events by several threads at once. */
#include "base/core/invariant.h"
#include "base/core/worker_threads.h"
#include "readers/ascend/ascend_rows.h"
#include "readers/torch_profiler/torch_profiler_reading.h"

#include <stdlib.h>
#include <string.h>

/* One piece at first: whether the file can be cut is known when its events begin. */
void torch_pieces_init(struct torch_pieces *pieces, struct input_stream *input,
                       const struct read_options *options)
{
    struct torch_piece *first = require_memory(calloc(1, sizeof *first));

    trace_builder_init(&first->builder);
    first->builder.skips_operators = options->skips_details;
    first->is_used = true;
    json_window_init(&first->window, input, 0);
    *pieces = (struct torch_pieces){.pieces = first, .count = 1};
    first->store.builder = &first->builder;
    first->store.keeps_memory = options->keeps_memory;
    first->store.layouts.unasked_args = options->skips_details ? DETAIL_ARGS : 0;
}

/* What the first piece was asked for holds for all: they are one file. */
static void begin_piece(struct torch_piece *piece, const struct torch_piece *first,
                        int64_t start_byte)
{
    const struct input_stream *input = first->window.input;

    trace_builder_init(&piece->builder);
    piece->store.builder = &piece->builder;
    piece->store.keeps_memory = first->store.keeps_memory;
    piece->store.layouts.unasked_args = first->store.layouts.unasked_args;
    piece->start_byte = start_byte;
    piece->stop_byte = INT64_MAX;
    input_stream_open_at(&piece->stream, input, start_byte);
    json_window_init(&piece->window, &piece->stream, start_byte);
}

/* Where an event seems to begin, at or behind `byte` and before `stop_byte`; -1: nowhere. */
static int64_t find_start(const struct input_stream *input, int64_t byte, int64_t stop_byte)
{
    SCOPED(input_stream) stream = {0};
    struct json_window window;

    input_stream_open_at(&stream, input, byte);
    stream.progress = NULL; /* these bytes are read once more */
    json_window_init(&window, &stream, byte);
    return torch_events_find(&window, stop_byte);
}

/* Cuts what is left of the file into pieces of about the same size. A piece begins where an
 * event seems to begin. Whether that was right shows when the piece before it has ended
 * (torch_pieces_read), so a wrong guess costs time only. */
static void split(struct torch_pieces *pieces, unsigned threads)
{
    struct torch_piece first = pieces->pieces[0];
    const struct input_stream *input = first.window.input;
    int64_t begin = json_window_byte(&first.window, first.window.at);
    int64_t bytes = input->file_bytes - begin;
    int64_t count =
        bytes / TORCH_PIECE_BYTES_MIN < threads ? bytes / TORCH_PIECE_BYTES_MIN : threads;

    if (count < 2)
        return;
    free(pieces->pieces);
    pieces->pieces = require_memory(calloc((size_t)count, sizeof *pieces->pieces));
    pieces->pieces[0] = first;
    pieces->pieces[0].store.builder = &pieces->pieces[0].builder;
    pieces->pieces[0].stop_byte = INT64_MAX;
    for (int64_t i = 1; i < count; i++) {
        int64_t share = bytes / count;
        int64_t start = find_start(input, begin + share * i, begin + share * (i + 1));

        if (start < 0)
            continue;
        pieces->pieces[pieces->count - 1].stop_byte = start;
        begin_piece(&pieces->pieces[pieces->count++], &first, start);
    }
}

static void read_piece(void *argument, size_t index)
{
    struct torch_piece *piece = &((struct torch_pieces *)argument)->pieces[index];

    piece->end = torch_events_read(&piece->window, &piece->store, piece->stop_byte);
}

/* A piece is used where the one before it, read from the very beginning on, came to exactly
 * its start; else its text is read again by the one before. So the result is that of one
 * reader from start to end, whatever the number of threads. */
enum torch_events_end torch_pieces_read(struct torch_pieces *pieces, unsigned threads)
{
    if (pieces->is_read) { /* a second array of events: no reason to hurry */
        torch_pieces_last(pieces)->stop_byte = INT64_MAX;
        read_piece(pieces, pieces->last);
        return torch_pieces_last(pieces)->end;
    }
    pieces->is_read = true;
    pieces->pieces[0].stop_byte = INT64_MAX;
    if (threads > 1 && input_stream_can_seek(pieces->pieces[0].window.input))
        split(pieces, threads);
    run_side_by_side(pieces->count, pieces->count, read_piece, pieces);
    for (unsigned i = 1; i < pieces->count; i++) {
        struct torch_piece *last = torch_pieces_last(pieces);
        struct torch_piece *next = &pieces->pieces[i];

        if (last->end != EVENTS_STOPPED)
            break;
        if (json_window_byte(&last->window, last->window.at) == next->start_byte) {
            next->is_used = true;
            pieces->last = i;
        } else {
            last->stop_byte = next->stop_byte;
            read_piece(pieces, pieces->last);
        }
    }
    return torch_pieces_last(pieces)->end;
}

/* Events without a category: Ascend's layers are processes, too, and of one recording. */
static bool has_layer_rows(const struct ascend_rows *rows, unsigned count)
{
    bool has = false;

    for (unsigned b = 0; b < count; b++)
        has |= rows[b].piece_count > 0;
    return has;
}

/* Builders go to the trace in the order of the file, so ids and ties are the same for any
 * number of pieces. */
void torch_pieces_finish(struct torch_pieces *pieces, struct trace *trace,
                         const struct read_options *options)
{
    struct trace_builder *builders = require_memory(calloc(pieces->count, sizeof *builders));
    struct ascend_rows *rows = require_memory(calloc(pieces->count, sizeof *rows));
    struct ascend_flow *flows;
    uint32_t flow_count;
    unsigned count = 0;

    for (unsigned i = 0; i < pieces->count; i++) {
        struct torch_piece *piece = &pieces->pieces[i];

        if (piece->is_used) {
            /* Taken out before the store is cleared, which frees them otherwise. */
            rows[count] = piece->store.rows;
            piece->store.rows = (struct ascend_rows){0};
        }
        torch_store_clear(&piece->store);
        input_stream_clear(&piece->stream);
        if (!piece->is_used)
            continue;
        builders[count++] = piece->builder;
        piece->builder = (struct trace_builder){0};
    }
    builders[0].may_be_merged = true;
    builders[0].has_layers = has_layer_rows(rows, count);
    builders[0].part = options->part;
    ascend_rows_finish(rows, builders, count);
    flow_count = ascend_rows_take_flows(rows, builders, count, &flows);
    trace_finish(trace, builders, count, options->threads);
    ascend_link_flows(trace, flows, flow_count);
    for (unsigned i = 0; i < count; i++)
        ascend_rows_clear(&rows[i]);
    free(flows);
    free(rows);
    free(builders);
}

void torch_pieces_clear(struct torch_pieces *pieces)
{
    if (!pieces)
        return;
    for (unsigned i = 0; i < pieces->count; i++) {
        torch_store_clear(&pieces->pieces[i].store);
        trace_builder_clear(&pieces->pieces[i].builder);
        input_stream_clear(&pieces->pieces[i].stream);
    }
    free(pieces->pieces);
    *pieces = (struct torch_pieces){0};
}
