/* What the pieces of the reader of XSpaces share. Private to it. */
#ifndef FLOPLEDGER_READERS_XPLANE_XPLANE_READING_H
#define FLOPLEDGER_READERS_XPLANE_XPLANE_READING_H

#include "readers/xplane/xplane_plane.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stdint.h>

/* An XSpace on its way into a trace. */
struct xplane_reading {
    struct trace_builder builder;
    struct proto_bytes text;    /* all of the file */
    int64_t profile_start_ns;   /* since 1970; 0: not told */
    int64_t origin_ns;          /* taken off the times of lines that count from 1970; 0: not yet */
    bool has_device_steps;      /* a device has marks of steps: those of the host are no marks */
    bool has_device;            /* a device worked: what hosts compute is no step's work */
    int64_t next_operator;      /* id of the next operator */
    struct hash_map module_ids; /* by a module's name in the builder: index of its first program */
    int64_t *programs;          /* the ids of first programs */
    size_t program_count;
    const struct xplane *plane; /* the one that is read */
    uint32_t category;          /* what its events are counted under */
    uint32_t process;           /* name of the plane */
};

/* A line (thread, stream) of a plane. */
struct xplane_line {
    struct proto_bytes message;
    struct proto_bytes name;
    int64_t id;
    int64_t start_ns; /* of the trace's clock; the events' offsets count from it */
    bool has_events;
};

/* An event of a line. */
struct xplane_event {
    struct proto_bytes message;
    struct xplane_metadata *metadata; /* NULL: not in the plane */
    int64_t offset_ps;
    int64_t duration_ps;
};

/* All but the events; what stands before damage counts. */
void xplane_line_read(struct xplane_reading *reading, struct xplane_line *line,
                      struct proto_bytes message);
struct xplane_time {
    int64_t start_ns;
    int64_t duration_ns;
};

/* False where the message is damaged; what stands before the damage counts. */
bool xplane_event_read(struct xplane_reading *reading, struct xplane_event *event,
                       struct proto_bytes message);
/* Counts the event under the reading's category. False where its times make no event: `time` is
 * then not set. */
bool xplane_event_time(struct xplane_reading *reading, const struct xplane_line *line,
                       const struct xplane_event *event, struct xplane_time *time);
/* Of the event itself and of its metadata. */
struct xplane_stats xplane_event_stats(const struct xplane_reading *reading,
                                       const struct xplane_event *event);

/* Notes damage in the message, unless the file ends there. True where there is none. */
bool xplane_is_whole(struct xplane_reading *reading, const struct proto_walk *walk,
                     const char *what);

uint32_t xplane_string(struct xplane_reading *reading, struct proto_bytes text);

/* What an HLO op was told of: its mark of a module, where it has one, and the operator itself. */
struct xplane_op {
    const struct xplane_stats *stats;
    const struct xplane_metadata *metadata; /* whose name may be the text of the instruction */
    struct xplane_time time;
    uint32_t track;
};
/* Adds it on a host track; returns the id that kernels name it by. */
int64_t xplane_add_operator(struct xplane_reading *reading, const struct xplane_op *op);
/* "all_reduce"; NULL: the op is no collective. */
const char *xplane_collective_of(const struct xplane_stats *stats, struct proto_bytes name);

/* All lines of a device, or of the host. */
void xplane_read_device(struct xplane_reading *reading, const struct xplane *plane, int32_t device);
void xplane_read_host(struct xplane_reading *reading, const struct xplane *plane);

/* "/device:GPU:3": the kind and the number; false for all else. */
struct xplane_device {
    bool is_tpu;
    int32_t number;
};
bool xplane_device_of(struct proto_bytes plane_name, struct xplane_device *device);
/* Lines in which a device works: streams, else XLA Ops. */
bool xplane_is_stream(struct proto_bytes line_name);
bool xplane_is_ops(struct proto_bytes line_name);
bool xplane_is_async_ops(struct proto_bytes line_name);

#endif
