/* How a trace of torch.profiler is read: what its reader's files share. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_READING_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_READING_H

#include "base/json/json_window.h"
#include "readers/ascend/ascend_rows.h"
#include "readers/reader.h"
#include "readers/torch_profiler/torch_profiler_event.h"
#include "readers/torch_profiler/torch_profiler_layout.h"
#include "readers/torch_profiler/torch_profiler_memo.h"
#include "trace/memory_snapshot.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- which kind of event each `cat` is, in all generations of the format ---- */

/* The `cat` of what this program adds to a trace (`flopledger export chrome`): nothing that was
 * recorded, so that it is passed over. */
#define OWN_CATEGORY "flopledger"

/* The kind of a timed event with this `cat`; EVENT_HOST_OTHER where it is not known. Letter case
 * does not matter. */
enum event_kind torch_profiler_category_kind(const char *category, size_t length);

/* The kind of an event without a category. */
enum event_kind torch_profiler_process_kind(const struct torch_event *event);

/* Whose software writes this `cat`; PLATFORM_CUDA where others do, too. */
enum platform torch_profiler_category_platform(const char *category, size_t length);

/* What a call of Level Zero or OpenCL makes a device do; EVENT_RUNTIME_CALL: nothing, or a kernel;
 * EVENT_HOST_OTHER: it is no such call. */
enum event_kind torch_profiler_command(const char *name);

/* -1: not told */
struct event_lane {
    int64_t device;
    int64_t stream;
};

/* By pid and tid, for an event of a device without args "device" and "stream". */
struct event_lane torch_profiler_lane(const struct torch_event *event);

/* What other devices' recorders call a copy of that direction of MTIA's; NULL: not known. */
const char *torch_profiler_copy_name(const struct json_slice *direction);

/* ---- turns the text of events into events of a trace_builder ---- */

/* Takes the text of events in place of the builder. The text is gone when it returns. */
struct torch_tap {
    void (*take)(void *context, const char *text, size_t length);
    void *context;
};

/* What is remembered from one event to the next; a zeroed one with `builder` set is ready. */
struct torch_store {
    struct trace_builder *builder;
    const struct torch_tap *tap; /* NULL: none. Events that are no JSON do not get there */
    bool keeps_memory;           /* see struct read_options */
    struct ascend_rows rows;     /* events without a category */
    char *scratch;               /* for texts with escapes */
    size_t scratch_size;
    struct string_pool arrays; /* texts of arrays as written */
    uint32_t *array_strings;   /* for each of them the string in the builder's pool, on one line */
    size_t array_string_capacity;
    uint8_t *name_facts; /* for each string of the builder's pool: bits, see torch_profiler_store.c
                          */
    size_t name_fact_count;
    struct event_layouts layouts;
    struct event_layouts memory_layouts; /* of the args of [memory] events */
    struct category_memo categories[CATEGORY_MEMOS];
    struct track_memo tracks[TRACK_MEMOS];
    struct name_memo names[NAME_MEMOS];
};

void torch_store_event(struct torch_store *store, const struct torch_event *event);

/* An event that another format tells in the same words: all of it but its times, and its category
 * in the builder's pool. False for what this program added to a trace itself. */
bool torch_store_convert(struct torch_store *store, const struct torch_event *text,
                         struct found_event *event, uint32_t *category);

/* ---- the same of formats that say names and categories once, and number them ---- */

/* A category in the builder's pool, and what its events are. */
struct torch_category {
    uint32_t string;
    uint8_t kind; /* enum event_kind */
    bool is_ours; /* this program added its events: nothing that was recorded */
};

/* A name in the builder's pool, and what it tells of its events. */
struct torch_name {
    uint32_t string;
    uint8_t facts; /* see torch_profiler_store.c */
};

/* Of no length: of events without one. */
struct torch_category torch_store_category(struct torch_store *store, const char *text,
                                           size_t length);
struct torch_name torch_store_name(struct torch_store *store, const char *text, size_t length);

/* The string of an array that was in an event before, as it was written there; UINT32_MAX: none
 * was. Such a text is JSON, and a whole value. */
uint32_t torch_store_known_array(const struct torch_store *store, const char *text, size_t length);
/* The same for one that may be new and is JSON; it stands in a window. */
uint32_t torch_store_array(struct torch_store *store, const struct json_slice *slice);

/* Of pid, tid and arguments; the texts stand in windows. */
uint32_t torch_store_track(struct torch_store *store, const struct torch_event *event,
                           uint8_t kind);

/* All but times and track, of a name, a category's kind and arguments. */
struct found_event torch_store_named(struct torch_store *store, const struct torch_event *text,
                                     uint8_t kind, struct torch_name name);

/* The string in the builder's pool, its escapes resolved. */
uint32_t torch_store_string(struct torch_store *store, const struct json_slice *slice);

void torch_store_clear(struct torch_store *store);

/* ---- the array of events, or a piece of it: one after the other, past what is damaged ---- */

enum torch_events_end {
    EVENTS_CLOSED,  /* behind the ']' */
    EVENTS_STOPPED, /* at the first event that begins at or behind the byte to stop at */
    EVENTS_CUT,     /* the input ends before the array does */
};

/* The window stands behind the '[' or behind an event; torch_events_read moves it on. Events begin
 * to be left to somebody else at `stop_byte` (INT64_MAX: never). */
enum torch_events_end torch_events_read(struct json_window *window, struct torch_store *store,
                                        int64_t stop_byte);

/* The place of the first byte from the window's place on where an event seems to begin behind
 * another: "}, {" and a usual key; -1 where there is none before `stop_byte`. Moves the window. */
int64_t torch_events_find(struct json_window *window, int64_t stop_byte);

/* ---- what stands beside traceEvents: what the run was ---- */

/* True for the keys that torch_header_member takes. */
bool torch_header_knows(const struct json_slice *key);

/* Takes one member of the outermost object; members of no interest are left alone. */
void torch_header_member(struct torch_store *store, const struct json_slice *key,
                         const struct json_slice *value);

/* ---- the [memory] events of a trace: one for each allocation and each release ---- */

/* Whether the event is one of them: an instant called "[memory]". */
bool is_torch_memory_event(const struct torch_event *event);

/* All but the track. False where address or bytes are not given, or bytes or time are of no
 * possible size. `layouts`: how the args of those before it were laid out. */
bool torch_memory_event_read(struct memory_event *memory, const struct torch_event *event,
                             struct event_layouts *layouts);

/* ---- reads the array of events by several threads at once ---- */

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
void torch_pieces_finish(struct torch_pieces *pieces, struct trace *trace,
                         const struct read_options *options);

void torch_pieces_clear(struct torch_pieces *pieces);

#endif
