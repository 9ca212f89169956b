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

/* A writer of packets. */
struct perfetto_sequence {
    uint64_t id;
    bool has_state;        /* what packets refer to is complete */
    struct hash_map names; /* by kind and number: string in perfetto_state.texts */
    uint64_t track;        /* of events that name none */
    uint32_t clock;        /* of packets that name none */
    uint64_t counters;     /* the scope of what its counters are called; 0: of all packets' */
};

struct perfetto_clock {
    int64_t unit_ns;
    int64_t last_ns;   /* of an incremental clock: its time now */
    int64_t offset_ns; /* added to its times: the trace's clock */
    bool is_incremental;
    bool is_known; /* has an offset */
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
};

/* Zeroed is empty. */
struct perfetto_state {
    struct string_pool texts;
    struct perfetto_sequence *sequences;
    size_t sequence_count;
    struct hash_map sequence_by_id;
    struct perfetto_clock *clocks;
    size_t clock_count;
    struct hash_map clock_by_key;
    struct perfetto_track *tracks;
    size_t track_count;
    struct hash_map track_by_id;
    struct hash_map counters; /* what counters are called; see perfetto_counters.c */
    bool has_root;            /* some clock is the trace's */
    int64_t realtime_offset;  /* REALTIME less the trace's clock */
    bool has_realtime;
};

/* The sequence with this id, new where there is none. Pointers last until the next new one. */
struct perfetto_sequence *perfetto_sequence_of(struct perfetto_state *state, uint64_t id);
/* Forgets what was interned: the packet says that it begins anew. */
void perfetto_sequence_begin(struct perfetto_sequence *sequence);

/* An InternedData. */
void perfetto_intern(struct perfetto_state *state, struct perfetto_sequence *sequence,
                     struct proto_bytes message);
/* An InternedGpuCounterDescriptor. */
void perfetto_intern_counters(struct perfetto_state *state,
                              const struct perfetto_sequence *sequence, struct proto_bytes message);
/* 0 where the number has no name. */
uint32_t perfetto_interned_name(const struct perfetto_sequence *sequence,
                                enum perfetto_interned kind, uint64_t number);

/* One of perfetto_state.texts. */
struct proto_bytes perfetto_known_text(const struct perfetto_state *state, uint32_t string);

/* A ClockSnapshot of the sequence. */
void perfetto_read_clocks(struct perfetto_state *state, const struct perfetto_sequence *sequence,
                          struct proto_bytes message);
/* A packet's time on the trace's clock, in ns. False where nothing says how its clock goes. */
bool perfetto_time(struct perfetto_state *state, const struct perfetto_sequence *sequence,
                   uint32_t clock, uint64_t time, int64_t *time_ns);

/* A TrackDescriptor; returns its track. */
uint32_t perfetto_describe_track(struct perfetto_state *state, struct proto_bytes message);
/* Index of the track, new where it was not described. */
uint32_t perfetto_track_of(struct perfetto_state *state, uint64_t id);

void perfetto_state_clear(struct perfetto_state *state);

/* A slice that has begun, without its end. */
struct perfetto_slice {
    struct event event;
    uint32_t category; /* in the builder's strings */
};

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
    struct event event; /* no track yet */
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
    struct perfetto_slice *slices; /* large arrays */
    size_t slice_count;
    struct perfetto_half *halves;
    size_t half_count;
    struct perfetto_stage *stages;
    size_t stage_count;
    int64_t byte; /* of the packet that is read */
};

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
/* Joins begins and ends, slices and stages, and adds them to the builder. */
void perfetto_finish_events(struct perfetto_reading *reading);

void perfetto_reading_clear(struct perfetto_reading *reading);

#endif
