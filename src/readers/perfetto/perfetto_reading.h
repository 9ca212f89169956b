/* What the pieces of the reader of Perfetto's traces share. Private to it. */
#ifndef FLOPLEDGER_READERS_PERFETTO_PERFETTO_READING_H
#define FLOPLEDGER_READERS_PERFETTO_PERFETTO_READING_H

#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "base/proto/proto_walk.h"
#include "readers/torch_profiler/torch_profiler_reading.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What packets of a Perfetto trace refer to: interned names, clocks and tracks. Private to the
 * reader. */

/* What is interned: names that later packets of a sequence give by a number. */
enum perfetto_interned {
    INTERNED_CATEGORY,
    INTERNED_EVENT_NAME,
    INTERNED_ARGUMENT_NAME,
    INTERNED_ARGUMENT_VALUE,
    INTERNED_STAGE,
    INTERNED_KERNEL,
    INTERNED_GPU_ARGUMENT,
};

enum { CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3, CLOCK_BOOTTIME_ID = 6 };
/* Clocks from here on are those of a sequence. */
enum { SEQUENCE_CLOCK_FIRST = 64, SEQUENCE_CLOCK_LAST = 127 };

/* Kinds of which each event has some. */
enum { INTERNED_FEW = INTERNED_ARGUMENT_VALUE + 1 };

/* By number: string in perfetto_state.texts; 0: not here. */
struct perfetto_names {
    uint32_t *strings;
    size_t count;
};

/* A writer of packets. */
struct perfetto_sequence {
    uint64_t id;
    bool has_state;                          /* what packets refer to is complete */
    struct perfetto_names few[INTERNED_FEW]; /* by kind: of numbers that count up from 0 */
    struct hash_map names;                   /* of others, by kind and number */
    uint64_t track;                          /* of events that name none */
    uint32_t clock;                          /* of packets that name none */
    uint32_t clock_id; /* of the packet before, which clocks[clock_index - 1] is; 0: none */
    uint32_t clock_index;
    uint64_t counters; /* the scope of what its counters are called; 0: of all packets' */
};

struct perfetto_clock {
    int64_t unit_ns;
    int64_t last_ns;   /* of an incremental clock: its time now */
    int64_t offset_ns; /* added to its times: the trace's clock */
    bool is_incremental;
    bool is_known; /* has an offset */
};

/* In place of a device's number, until all was read. */
enum { PERFETTO_DEVICE_UNTOLD = -2 };

/* What a text is where it stands as a name, as a category, or as the name of an argument: looked up
 * when it first does. */
struct perfetto_word {
    struct proto_bytes category; /* in the words of torch.profiler; of a length: looked at */
    struct torch_category known; /* in the builder */
    struct torch_name name;      /* in the builder */
    uint8_t kind;                /* of the category: enum event_kind */
    uint8_t argument;            /* enum event_arg */
    bool has_known, has_name, has_argument;
    bool is_translated; /* the category is that of a device's work in the words of another writer */
    bool is_of_stream;  /* the category is that of any work of streams: names tell what it is */
};

/* A slice that has begun, without its end. */
struct perfetto_slice {
    struct found_event event;
    uint32_t category; /* in the builder's strings */
};

/* Where events of a track are, as torch.profiler would say it. */
struct perfetto_place {
    uint32_t descriptions; /* of tracks when it was looked up, and 1; 0: it was not */
    uint32_t track;        /* in the builder */
    int64_t device;        /* as its events say; -1: they do not */
    int64_t stream;
};

/* Texts are strings of perfetto_state.texts; 0: none. */
struct perfetto_track {
    uint64_t id;
    uint64_t parent;
    uint32_t name;
    uint32_t process_name;
    int64_t pid;
    int64_t tid;
    bool has_process;
    bool has_thread;
    /* of its slices */
    int64_t last_ns;
    bool is_in_order; /* times never go back in the file */
    bool has_ends;
    bool is_ours;         /* made by `flopledger export perfetto`: nothing that was recorded */
    bool is_begins_first; /* no begin behind the first end */
    struct perfetto_place host, on_device;
    struct perfetto_slice *open; /* [open_count], the innermost last: where slices are joined at
                                    once */
    size_t open_count;
    size_t open_room;
};

enum { RECENT_TRACKS = 64 };

/* Zeroed is empty. */
struct perfetto_state {
    struct string_pool texts;
    struct perfetto_word *words; /* [word_count] of `texts`, as far as one was asked for */
    size_t word_count;
    struct perfetto_sequence *sequences;
    size_t sequence_count;
    struct hash_map sequence_by_id;
    size_t last_sequence; /* of the packet before */
    struct perfetto_clock *clocks;
    size_t clock_count;
    struct hash_map clock_by_key;
    struct perfetto_track *tracks;
    size_t track_count;
    struct hash_map track_by_id;
    struct {
        uint64_t id;
        uint32_t end; /* its index and 1; 0: none */
    } recent_tracks[RECENT_TRACKS];
    uint32_t descriptions;    /* of tracks, so far */
    struct hash_map counters; /* what counters are called; see perfetto_counters.c */
    bool has_root;            /* some clock is the trace's */
    int64_t realtime_offset;  /* REALTIME less the trace's clock */
    bool has_realtime;
    bool is_of_rocprof; /* some category is in its words */
    bool is_of_systems; /* some category is one of rocprof-sys or Omnitrace */
    bool is_of_export;  /* `flopledger export perfetto` wrote it, of whatever there was */
    uint64_t meaning;   /* of numbers in packets: counts when what one stands for changes */
    struct perfetto_layouts *layouts; /* of packets; NULL: none was learned */
};

/* The sequence with this id, new where there is none. Pointers last until the next new one. */
struct perfetto_sequence *perfetto_sequence_of(struct perfetto_state *state, uint64_t id);
/* Forgets what was interned: the packet says that it begins anew. */
void perfetto_sequence_begin(struct perfetto_state *state, struct perfetto_sequence *sequence);

/* An InternedData. */
void perfetto_intern(struct perfetto_state *state, struct perfetto_sequence *sequence,
                     struct proto_bytes message);
/* An InternedGpuCounterDescriptor. */
void perfetto_intern_counters(struct perfetto_state *state,
                              const struct perfetto_sequence *sequence, struct proto_bytes message);
uint32_t perfetto_rare_name(const struct perfetto_sequence *sequence, enum perfetto_interned kind,
                            uint64_t number);
/* 0 where the number has no name. */
static inline uint32_t perfetto_interned_name(const struct perfetto_sequence *sequence,
                                              enum perfetto_interned kind, uint64_t number)
{
    if ((int)kind < INTERNED_FEW && number < sequence->few[kind].count &&
        sequence->few[kind].strings[number])
        return sequence->few[kind].strings[number];
    return perfetto_rare_name(sequence, kind, number);
}

/* Likewise; what no packet told (it was lost) is called by its number, so that two names stay two,
 * and *is_lost set. */
uint32_t perfetto_name_or_number(struct perfetto_state *state,
                                 const struct perfetto_sequence *sequence,
                                 enum perfetto_interned kind, uint64_t number, bool *is_lost);

/* One of perfetto_state.texts. */
struct proto_bytes perfetto_known_text(const struct perfetto_state *state, uint32_t string);

/* One of perfetto_state.texts as a word. It lasts until another is asked for. */
struct perfetto_word *perfetto_new_word(struct perfetto_state *state, uint32_t string);
static inline struct perfetto_word *perfetto_word_of(struct perfetto_state *state, uint32_t string)
{
    return string < state->word_count ? &state->words[string] : perfetto_new_word(state, string);
}
/* The string of the text as one of perfetto_state.texts. */
uint32_t perfetto_text(struct perfetto_state *state, struct proto_bytes text);

/* A ClockSnapshot of the sequence. */
void perfetto_read_clocks(struct perfetto_state *state, const struct perfetto_sequence *sequence,
                          struct proto_bytes message);
/* A packet's time on the trace's clock, in ns. False where nothing says how its clock goes. */
bool perfetto_time(struct perfetto_state *state, struct perfetto_sequence *sequence, uint32_t clock,
                   uint64_t time, int64_t *time_ns);

/* A TrackDescriptor; returns its track. */
uint32_t perfetto_describe_track(struct perfetto_state *state, struct proto_bytes message);
/* Index of the track, new where it was not described. */
uint32_t perfetto_track_of(struct perfetto_state *state, uint64_t id);

void perfetto_state_clear(struct perfetto_state *state);

#define NO_SLICE UINT32_MAX

/* The begin or the end of a slice. */
struct perfetto_half {
    int64_t time_ns;
    uint32_t track; /* in perfetto_state.tracks */
    uint32_t slice; /* of a begin; NO_SLICE: an end */
    uint32_t order; /* in the file */
};

/* Work of a GPU as its driver tells it: GpuRenderStageEvent. */
struct perfetto_stage {
    struct found_event event; /* no track yet */
    int64_t queue;
    int32_t gpu;   /* -1: not said */
    bool is_shown; /* a slice is the same work */
    uint32_t next; /* that begins with it and has its name; NO_SLICE: none */
};

/* A Perfetto trace on its way into a trace. */
struct perfetto_reading {
    struct trace_builder builder;
    struct torch_store store;
    struct perfetto_state state;
    char *text; /* an event as JSON: text_length, then INPUT_PADDING zero bytes */
    size_t text_length;
    size_t text_room;
    bool is_bound; /* `text` holds what other bytes tell, or JSON as it stood in the file */
    struct string_pool lists; /* annotations that are lists, as they stood in the file */
    uint32_t *list_strings;   /* for each of them its JSON, in the builder */
    size_t list_room;
    bool joins_at_once; /* a slice is joined when its end is read, and no half of one is kept */
    bool must_sort; /* that cannot be: the file has to be read once more, and halves be sorted */
    bool has_end;
    bool has_begin_behind;         /* an end */
    struct perfetto_slice *slices; /* large arrays */
    size_t slice_count;
    struct perfetto_half *halves;
    size_t half_count;
    struct perfetto_stage *stages;
    size_t stage_count;
    int64_t byte; /* of the packet that is read */
};

enum perfetto_event_type {
    PERFETTO_BEGIN = 1,
    PERFETTO_END = 2,
    PERFETTO_INSTANT = 3,
    PERFETTO_COUNTER = 4
};

/* A TrackEvent's fields. */
struct perfetto_event {
    uint64_t type;
    uint64_t track_id;
    uint32_t track;               /* in perfetto_state.tracks */
    struct proto_bytes name;      /* of packets that were learned: where it is not interned */
    uint32_t name_word;           /* 0: it is not interned */
    uint32_t category;            /* one of perfetto_state.texts */
    struct proto_bytes arguments; /* from the first annotation to the end of the last */
    bool is_translated;           /* work of a device in the words of another writer */
    uint64_t flow;                /* 0: none */
    int64_t source;               /* the agent that a copy of rocprofv3 comes from; -1: not told */
    int64_t agent; /* of work on a track of a stream alone, which does not tell it; -1: not told */
    uint64_t submission; /* the stage that the call submits; 0: none */
    char phase;          /* of Chrome's older form, as in its JSON; 0: it has none */
    bool has_lost_name;  /* or category: the file does not tell it */
    bool is_elsewhere;   /* in that form: of another thread than its track's */
    int64_t duration_us; /* in that form */
};

/* A DebugAnnotation. */
struct perfetto_argument {
    struct proto_bytes message; /* the whole of it */
    struct proto_bytes name;
    uint32_t word; /* of the name; 0: it is not interned */
    bool has_name;
    bool has_value;
    struct proto_field value; /* 11: a dictionary, 12: an array */
};
void perfetto_read_argument(struct perfetto_argument *argument,
                            const struct perfetto_sequence *sequence, struct proto_bytes message);
/* Arguments in the words of torch.profiler. */
struct proto_bytes perfetto_kineto_argument(struct proto_bytes name);

/* The event as torch.profiler would write it. False where what its arguments hold is no JSON. */
bool perfetto_scan_as_json(struct perfetto_reading *reading, const struct perfetto_event *event,
                           const struct perfetto_sequence *sequence, struct torch_event *text);
/* False where one is no number, text or list that was there before: the event as JSON tells. */
bool perfetto_use_arguments(struct perfetto_reading *reading, const struct perfetto_event *event,
                            const struct perfetto_sequence *sequence, struct torch_event *text);
/* The device and stream that the track's name tells, as arguments. */
void perfetto_use_place(const struct perfetto_reading *reading, const struct perfetto_event *event,
                        struct torch_event *text);
/* The JSON of an annotation is reading->text, which INPUT_PADDING zero bytes stand behind. */
void perfetto_write_argument(struct perfetto_reading *reading,
                             const struct perfetto_sequence *sequence, struct proto_bytes message);
/* Process and thread of the track as texts: as those of `text`, which last as reading->text. */
void perfetto_write_place(struct perfetto_reading *reading, uint32_t track,
                          struct torch_event *text);
/* The device and stream that the track's name tells. */
void perfetto_name_place(const struct perfetto_reading *reading, const struct perfetto_event *event,
                         int64_t *device, int64_t *stream);
/* Does the track's name tell a stream and no device, as rocprofv3's since ROCm 7? */
bool perfetto_is_stream_alone(const struct perfetto_reading *reading, uint32_t track);
/* The agent in this argument, as rocprofv3 writes it; -1: there is none. */
int64_t perfetto_agent_of(const struct perfetto_reading *reading,
                          const struct perfetto_event *event,
                          const struct perfetto_sequence *sequence, const char *name);

/* A TrackEvent's fields, and those of its sequence where it has none. */
void perfetto_collect_event(struct perfetto_event *event, struct perfetto_reading *reading,
                            const struct perfetto_sequence *sequence, struct proto_bytes message);
/* Its category says that nothing was recorded. */
bool perfetto_is_ours(struct perfetto_reading *reading, const struct perfetto_event *event);
/* Which argument of torch.profiler's events it is. `interned`: its name as one of
 * perfetto_state.texts; 0: it is not. */
enum event_arg perfetto_arg_of(struct perfetto_state *state, uint32_t interned,
                               struct proto_bytes name);
/* A slice begins, or the innermost open one of the track ends. `text`: its arguments. */
void perfetto_open_slice(struct perfetto_reading *reading, const struct perfetto_event *event,
                         struct torch_event *text, int64_t time_ns);
void perfetto_close_slice(struct perfetto_reading *reading, uint32_t track, int64_t time_ns);

/* A packet that looks like one that was learned; false where none does: nothing was read. */
bool perfetto_read_known(struct perfetto_reading *reading, struct proto_bytes message);
/* A packet of an event alone, and of a time, sequence and flags: from now on others like it are
 * known. */
void perfetto_learn(struct perfetto_reading *reading, struct perfetto_sequence *sequence,
                    struct proto_bytes message, bool needs_state);

/* A TrackEvent of the sequence at this time. */
void perfetto_read_track_event(struct perfetto_reading *reading,
                               const struct perfetto_sequence *sequence, struct proto_bytes message,
                               int64_t time_ns);
/* A GpuRenderStageEvent. */
void perfetto_read_stage(struct perfetto_reading *reading, const struct perfetto_sequence *sequence,
                         struct proto_bytes message, int64_t time_ns);
/* Where a GPU's number is not said and others' are, it is none of those. */
enum { PERFETTO_GPU_NOT_SAID = 9999 };
/* A GpuCounterEvent. */
void perfetto_read_counters(struct perfetto_reading *reading, struct perfetto_sequence *sequence,
                            struct proto_bytes message, int64_t time_ns);
/* Counts the slice, whose event has its start alone, and adds it. */
void perfetto_end_slice(struct perfetto_reading *reading, struct perfetto_slice *slice,
                        int64_t end_ns);
/* Joins begins and ends, slices and stages, and adds them to the builder. */
void perfetto_finish_events(struct perfetto_reading *reading);

void perfetto_reading_clear(struct perfetto_reading *reading);

#endif
