/* What the pieces of the reader of Perfetto's traces share. Private to it. */
#ifndef FLOPLEDGER_READERS_PERFETTO_PERFETTO_READING_H
#define FLOPLEDGER_READERS_PERFETTO_PERFETTO_READING_H

#include "readers/perfetto/perfetto_state.h"
#include "readers/torch_profiler/torch_profiler_store.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* Joins begins and ends, slices and stages, and adds them to the builder. */
void perfetto_finish_events(struct perfetto_reading *reading);

void perfetto_reading_clear(struct perfetto_reading *reading);

#endif
