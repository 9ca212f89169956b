/* Reads the array of events by several threads at once. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_SPLIT_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_SPLIT_H

#include "readers/reader.h"
#include "readers/torch_profiler/torch_profiler_events.h"

/* A piece of the array, read by one thread. */
struct torch_piece {
    struct trace_builder builder;
    struct torch_store store;
    struct json_window window;
    struct input_stream stream; /* its own; the first piece uses the stream of the whole */
    int64_t start_byte;
    int64_t stop_byte;
    enum torch_events_end end;
    bool is_used; /* begins where the piece before it ends */
};

struct torch_pieces {
    struct torch_piece *pieces; /* [count]; the first has the window and builder of the whole from
                                   the beginning */
    unsigned count;
    bool is_read;
    unsigned last; /* the piece whose window stands behind the last event read */
};

/* Pieces of a file are not smaller than this. */
enum { TORCH_PIECE_BYTES_MIN = 256 * 1024 };

/* Begins with one piece that reads `input`; trace_builder_init is done for it.
 * `options`: what of it is kept. */
void torch_pieces_init(struct torch_pieces *pieces, struct input_stream *input,
                       const struct read_options *options);

/* The first piece stands behind the '[': reads all events. Where `input` can be read anywhere it is
 * split over up to `threads` threads. A piece other than the first begins at what only seems to be
 * an event, and counts only if the piece before it, of which we know that it is right, ends exactly
 * there; else it is thrown away and the piece before it reads on: the result is always that of one
 * thread. */
enum torch_events_end torch_pieces_read(struct torch_pieces *pieces, unsigned threads);

/* Where the text goes on, for what stands behind the events. */
static inline struct torch_piece *torch_pieces_last(struct torch_pieces *pieces)
{
    return &pieces->pieces[pieces->last];
}

/* Makes a trace of all of them, see trace_finish. */
void torch_pieces_finish(struct torch_pieces *pieces, struct trace *trace, unsigned threads);

void torch_pieces_clear(struct torch_pieces *pieces);

#endif
