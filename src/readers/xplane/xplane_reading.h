/* What the pieces of the reader of XSpaces share. Private to it. */
#ifndef FLOPLEDGER_READERS_XPLANE_XPLANE_READING_H
#define FLOPLEDGER_READERS_XPLANE_XPLANE_READING_H

#include "base/core/hash_map.h"
#include "base/io/mapped_input.h"
#include "base/proto/proto_walk.h"
#include "readers/xplane/xplane_hlo.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A plane of an XSpace: what its events and their stats are called. Private to the reader. */

/* Stats of interest; xplane_plane.c has their names. */
enum xplane_stat {
    /* numbers: xplane_stats.numbers */
    XSTAT_CORRELATION,
    XSTAT_PROGRAM,
    XSTAT_FLOPS,
    XSTAT_BYTES,
    XSTAT_STEP,
    XSTAT_CORES,
    XSTAT_MEMORY_BYTES,
    XSTAT_COMPUTE_MAJOR,
    XSTAT_COMPUTE_MINOR,
    XSTAT_PROFILE_START,
    /* texts: xplane_stats.texts, from XSTAT_HLO_OP on */
    XSTAT_HLO_OP,
    XSTAT_HLO_MODULE,
    XSTAT_TF_OP,
    XSTAT_SCOPE,
    XSTAT_SOURCE,
    XSTAT_CATEGORY,
    XSTAT_KERNEL_DETAILS,
    XSTAT_MEMCPY_DETAILS,
    XSTAT_MEMSET_DETAILS,
    XSTAT_VENDOR,
    XSTAT_DEVICE_NAME,
    XSTAT_HLO_PROTO,
    XSTAT_VERSION,
};
enum { XSTAT_COUNT = XSTAT_VERSION + 1 };

/* The stats of an event, of what it is an event of, or of a plane. Texts stand in the file. */
struct xplane_stats {
    uint32_t has; /* bits by enum xplane_stat; what has none is 0 */
    int64_t numbers[XSTAT_HLO_OP];
    struct proto_bytes texts[XSTAT_COUNT - XSTAT_HLO_OP];
};

static inline bool xplane_has(const struct xplane_stats *stats, enum xplane_stat stat)
{
    return stats->has >> stat & 1;
}

static inline int64_t xplane_number(const struct xplane_stats *stats, enum xplane_stat stat)
{
    return stats->numbers[stat];
}

/* Empty where there is none. */
static inline struct proto_bytes xplane_text(const struct xplane_stats *stats,
                                             enum xplane_stat stat)
{
    return stats->texts[stat - XSTAT_HLO_OP];
}

/* Those that sums of events ask for. */
enum {
    XPLANE_SUMMED_STATS = 1 << XSTAT_CORRELATION | 1 << XSTAT_CATEGORY | 1 << XSTAT_MEMCPY_DETAILS |
                          1 << XSTAT_MEMSET_DETAILS
};

/* What events may be events of: XEventMetadata. */
struct xplane_metadata {
    struct proto_bytes message;
    struct proto_bytes name;
    struct proto_bytes display_name;
    struct xplane_stats *stats; /* those of all its events; NULL: not yet looked at */
    uint32_t string;            /* its short name in the builder; 0: not yet there */
    enum { NOT_LOOKED_AT, NO_CALL, MAYBE_CALL } call; /* into the runtime, by its name */
};

struct xplane_stat_name {
    struct proto_bytes name; /* also what a stat's ref_value stands for */
    uint8_t stat;            /* enum xplane_stat; XSTAT_COUNT: of no interest */
};

enum { XPLANE_SMALL_IDS = 1 << 14, XPLANE_SHORT_IDS = 128 };

/* Zeroed is empty. */
struct xplane {
    struct proto_bytes message;
    struct proto_bytes name; /* "/device:GPU:0" */
    struct xplane_metadata *metadata;
    size_t metadata_count;
    struct hash_map metadata_by_id;
    uint32_t *metadata_of_small; /* [XPLANE_SMALL_IDS] by id: index + 1, for it is asked often */
    struct hash_map metadata_by_program;
    struct xplane_stat_name *stat_names;
    size_t stat_name_count;
    struct hash_map stat_names_by_id;
    uint32_t *stat_name_of_small;            /* likewise */
    uint8_t stat_of_short[XPLANE_SHORT_IDS]; /* enum xplane_stat of ids of one byte */
    struct xplane_stats stats;               /* of the plane itself */
};

/* All but the lines, which are left in plane->message. Texts are those of `message`, which must
 * outlive the plane. What is damaged is left out: the lines behind it are, too. */
void xplane_open(struct xplane *plane, struct proto_bytes message);
void xplane_clear(struct xplane *plane);

/* Of events' own stats these (bits by enum xplane_stat) are asked for from now on; others need not
 * be read. */
void xplane_ask(struct xplane *plane, uint32_t stats);

/* The plane's name alone. */
struct proto_bytes xplane_name_of(struct proto_bytes message);

/* NULL where there is none of the id. */
struct xplane_metadata *xplane_metadata_of(const struct xplane *plane, int64_t id);

/* The name of a program, as the plane's ranges of modules have it: "jit_train" of "jit_train(7)".
 * Empty where there is none. */
struct proto_bytes xplane_module_of_program(const struct xplane *plane, int64_t program);

/* The 7 of "jit_train(7)"; false where the name does not end so. */
bool xplane_program_of(const struct xplane_metadata *metadata, int64_t *program);

/* Those of the metadata; `metadata` may be NULL. */
const struct xplane_stats *xplane_stats_of(const struct xplane *plane,
                                           struct xplane_metadata *metadata);

/* Adds the XStats in fields 4 of an event. */
void xplane_add_stats(struct xplane_stats *stats, const struct xplane *plane,
                      struct proto_bytes fields);

/* What an op or the work of a device is told by. Events that are told by the same are many, and are
 * the same but for their times. */
struct xplane_key {
    const char *plane; /* where these stand in the file */
    const char *texts[6];
    const void *metadata;
    int64_t numbers[3];
    uint64_t has; /* which of the numbers are there, and where the event stands */
};

/* What such events are in the builder. */
struct xplane_known {
    struct xplane_key key;
    uint32_t name;
    uint32_t detail;
    uint32_t module; /* of an op: the mark of its module; 0: none */
    uint32_t module_detail;
    uint8_t kind; /* of work: enum event_kind */
    bool has_several_phases;
    bool is_known;
};

enum { XPLANE_KNOWN_COUNT = 1 << 12 };

struct xplane_time {
    int64_t start_ns;
    int64_t duration_ns;
};

/* An XSpace on its way into a trace. */
struct xplane_reading {
    struct trace_builder builder;
    struct mapped_input file;
    const char *forgotten;      /* what stands before it need not stay in memory */
    bool has_shrunk;            /* the file became shorter while it was read */
    struct xplane_known *ops;   /* [XPLANE_KNOWN_COUNT], each where its key says; NULL: none yet */
    struct xplane_known *works; /* likewise */
    struct hlo_programs programs_run;
    bool is_one_of_several;      /* other devices worked as well, launched by the same host */
    bool ops_are_of_work;        /* the work of the device tells its op, and calls have its name */
    struct hash_map launches;    /* of both: what ran on this device, by correlation */
    struct proto_bytes launched; /* the name of the op that the thread launched last; empty: none */
    int64_t launched_program;
    struct {
        struct xplane_stats stats;
        struct xplane_time time; /* of its launches so far */
        uint32_t track;
        bool is_there;
    } launching;                /* an op of that thread, which may launch once more */
    char version[32];           /* of JAX; empty: not told */
    int64_t profile_start_ns;   /* since 1970; 0: not told */
    int64_t origin_ns;          /* taken off the times of lines that count from 1970; 0: not yet */
    bool has_device_steps;      /* a device has marks of steps: those of the host are no marks */
    bool has_device;            /* a device worked: what hosts compute is no step's work */
    bool runs_whole_programs;   /* the processor's plane tells no op: its programs are the work */
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
    struct proto_bytes stats;         /* from the first of them to the end of the event's message */
    struct xplane_metadata *metadata; /* NULL: not in the plane */
    int64_t offset_ps;
    int64_t duration_ps;
};

/* All but the events; what stands before damage counts. */
void xplane_line_read(struct xplane_reading *reading, struct xplane_line *line,
                      struct proto_bytes message);
/* False where the message is damaged; what stands before the damage counts. */
bool xplane_event_read(struct xplane_reading *reading, struct xplane_event *event,
                       struct proto_bytes message);
/* Counts the event under the reading's category. False where its times make no event: `time` is
 * then not set. */
bool xplane_event_time(struct xplane_reading *reading, const struct xplane_line *line,
                       const struct xplane_event *event, struct xplane_time *time);
/* The next event of a line; false at its end. */
bool xplane_next_event(struct xplane_reading *reading, struct proto_walk *walk,
                       struct xplane_event *event);
/* All events of a line, of which sums alone are asked for. */
void xplane_sum_events(struct xplane_reading *reading, const struct xplane_line *line,
                       struct proto_walk *walk, uint32_t track, bool is_stream);
enum event_kind xplane_kind_on_stream(const struct xplane_stats *stats, struct proto_bytes name);
bool xplane_may_be_call(struct proto_bytes name);
/* Of the event itself and of its metadata. */
void xplane_event_stats(struct xplane_stats *stats, const struct xplane_reading *reading,
                        const struct xplane_event *event);

/* Notes damage in the message, unless the file ends there. True where there is none. */
bool xplane_is_whole(struct xplane_reading *reading, const struct proto_walk *walk,
                     const char *what);

uint32_t xplane_string(struct xplane_reading *reading, struct proto_bytes text);
/* The one with this key; without is_known it is new, and to be filled in. */
struct xplane_known *xplane_known(struct xplane_known **table, const struct xplane_key *key);
/* "fusion.3", and not the text of the instruction; the second in the builder. */
struct proto_bytes xplane_short_name(const struct xplane_event *event);
uint32_t xplane_event_name(struct xplane_reading *reading, const struct xplane_event *event);

/* The next field of a line or plane, whose bytes before it may be forgotten from time to time. */
bool xplane_next(struct xplane_reading *reading, struct proto_walk *walk,
                 struct proto_field *field);

/* What an HLO op was told of: its mark of a module, where it has one, and the operator itself. */
struct xplane_op {
    const struct xplane_stats *stats;
    const struct xplane_metadata *metadata; /* whose name may be the text of the instruction */
    struct xplane_time time;
    uint32_t track;
    bool is_uncounted; /* a launch of what counts with another launch, or for another device */
};
/* Adds it on a host track; returns the id that kernels name it by. */
int64_t xplane_add_operator(struct xplane_reading *reading, const struct xplane_op *op);
/* A kernel that tells its op: the op's id, which is that of the kernel before where both are of one
 * time that it runs. */
int64_t xplane_add_kernel(struct xplane_reading *reading, const struct xplane_op *op);
/* The op that a call launches lasts from its first launch to its last one, so that all its kernels
 * are of it: by a library an im2col and a product. A launch may be of another device: then its
 * FLOPs are. Where it is not known which launches are of one time that it runs, each is an op. */
void xplane_add_launch(struct xplane_reading *reading, const struct xplane_op *op);
/* The op whose launches are still to come, where some are, has ended. */
void xplane_end_launches(struct xplane_reading *reading);
/* "all_reduce"; NULL: the op is no collective. */
const char *xplane_collective_of(const struct xplane_stats *stats, struct proto_bytes name);

/* All lines of a device, or of the host. */
void xplane_read_device(struct xplane_reading *reading, const struct xplane *plane, int32_t device,
                        bool has_streams);
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

#endif
