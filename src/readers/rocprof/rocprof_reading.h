/* What the readers of ROCm's recorders share: rocprofv3's two formats, and RPD's. */
#ifndef FLOPLEDGER_READERS_ROCPROF_ROCPROF_READING_H
#define FLOPLEDGER_READERS_ROCPROF_ROCPROF_READING_H

#include "base/core/hash_map.h"
#include "base/json/json_scan.h"
#include "base/json/json_window.h"
#include "readers/reader.h"
#include "readers/sqlite/sqlite_rows.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stdint.h>

/* One process that rocprofv3 recorded, on its way into a trace: the same for its JSON and for its
 * databases (rocpd), so that both give one ledger. Records may come before what names them (a JSON
 * file with sorted keys): names, devices and streams are put in by rocprof_run_finish. */

/* What a record may say. */
enum rocprof_value {
    ROCPROF_KIND, /* with the operation: which name of strings.buffer_records */
    ROCPROF_OPERATION,
    ROCPROF_THREAD,
    ROCPROF_CORRELATION, /* correlation_id.internal */
    ROCPROF_START,
    ROCPROF_END,
    ROCPROF_AGENT,
    ROCPROF_QUEUE,
    ROCPROF_STREAM,
    ROCPROF_KERNEL,
    ROCPROF_DISPATCH,
    ROCPROF_SHARED_MEMORY,            /* group_segment_size */
    ROCPROF_BLOCK,                    /* workgroup_size: x, y, z; in work-items */
    ROCPROF_GRID = ROCPROF_BLOCK + 3, /* grid_size: in work-items, too */
    ROCPROF_DESTINATION = ROCPROF_GRID + 3,
    ROCPROF_SOURCE,
    ROCPROF_BYTES,
};
enum {
    ROCPROF_VALUE_COUNT = ROCPROF_BYTES + 1,
    ROCPROF_SIZE_COUNT = ROCPROF_DESTINATION - ROCPROF_SHARED_MEMORY, /* of a kernel */
};

struct rocprof_record {
    int64_t values[ROCPROF_VALUE_COUNT]; /* by enum rocprof_value */
    uint32_t has;                        /* bit i: values[i] is told */
    struct json_slice counters;          /* of JSON: [{"counter_id": ..., "value": ...}] */
};

static inline void rocprof_record_set(struct rocprof_record *record, enum rocprof_value which,
                                      int64_t value)
{
    record->values[which] = value;
    record->has |= (uint32_t)1 << which;
}

/* What the records of an array or a table are. */
enum rocprof_content {
    ROCPROF_KERNELS,
    ROCPROF_COUNTED_KERNELS, /* of counter collection: kernels only where there are no others */
    ROCPROF_COPIES,
    ROCPROF_FILLS,    /* of memory of a device, as copies */
    ROCPROF_CALLS,    /* of HIP, HSA, RCCL */
    ROCPROF_OVERHEAD, /* the recorder's own work, as calls */
    ROCPROF_MARKERS,  /* roctx */
    ROCPROF_UNUSED,   /* counted only */
};

/* Private. */
struct rocprof_agent {
    int64_t id;
    int32_t device; /* -1: a processor */
};

/* Private: where a kernel or copy ran, as records say it. */
struct rocprof_queue {
    int64_t agent; /* of a copy: its destination */
    int64_t source;
    int64_t queue; /* of a copy of rocprofv3: -1 */
    int64_t stream;
    uint32_t track; /* of the builder, once it is known */
};

/* Private. */
struct rocprof_kernel {
    int64_t id;
    uint32_t name; /* 0: not told yet */
    int32_t registers;
    bool has_last; /* a record with all sizes: then these, and the details made of them */
    uint32_t last_detail;
    int64_t last_sizes[ROCPROF_SIZE_COUNT];
};

/* Private: a call's name. */
struct rocprof_operation {
    int64_t kind;
    int64_t operation;
    uint32_t name; /* 0: not told yet */
};

/* Private: what the file calls something by. */
struct rocprof_id {
    int64_t id;
    uint32_t name; /* 0: not told */
};

struct rocprof_ids {
    struct rocprof_id *ids; /* [count] */
    uint32_t count;
    struct hash_map index; /* id: index in `ids` */
};

/* What a counter counted in one kernel, or in a part of the device: parts are summed, as
 * rocprofv3's own tables do. */
struct rocprof_count {
    uint32_t kernel; /* tells kernels apart */
    int64_t counter;
    int64_t agent;
    int64_t time_ns; /* when the kernel began */
    double value;
};

struct rocprof_run {
    struct trace_builder builder;
    uint32_t category;       /* of the records that come, in the builder's strings */
    int64_t pid;             /* -1: not told */
    bool has_streams;        /* a record names a stream that is not the default one; -1: none
                                is told for it */
    bool agents_are_devices; /* an agent is the number of a device itself */
    bool has_dispatches;     /* there are kernels that are not from counter collection */
    bool has_host_events;
    struct event_store counted;    /* kernels of counter collection */
    struct event_sums device_sums; /* by queue, where events are summed: their tracks come at the
                                      end */
    struct rocprof_agent *agents;
    uint32_t agent_count;
    struct rocprof_queue *queues;
    uint32_t queue_count;
    uint32_t last_queue;
    struct index_table queue_index;
    struct rocprof_kernel *kernels;
    uint32_t kernel_count;
    struct hash_map kernel_index; /* id: index in `kernels` */
    struct rocprof_operation *operations;
    uint32_t operation_count;
    struct hash_map operation_index; /* kind and operation: index in `operations` */
    struct hash_map messages;        /* correlation of a marker: its text */
    struct rocprof_ids counters;     /* numbers of the builder's series */
    struct hash_map counted_in;      /* kernel and counter: the sample in the counter's series */
    uint32_t counted_kernels;
    struct rocprof_ids counted_agents; /* devices of them, until all is read */
    int64_t last_thread;
    uint32_t last_thread_track;
};

/* `sums_events`: see trace_builder. */
void rocprof_run_init(struct rocprof_run *run, bool sums_events);
void rocprof_run_clear(struct rocprof_run *run);

/* `device` has what the agent is; its number is not -1 where it is a GPU. */
void rocprof_run_add_agent(struct rocprof_run *run, int64_t id, const struct device *device);

/* What the JSON of an agent says of it; its number is `index` where it is a GPU of no number. */
void rocprof_run_read_device(struct rocprof_run *run, const struct json_slice *agent,
                             uint32_t index, struct device *device);

/* The text of a JSON string in the builder's strings. */
uint32_t rocprof_json_string(struct rocprof_run *run, const struct json_slice *slice);

/* The value of a member; false where there is none. */
bool rocprof_json_member(const struct json_slice *object, const char *key,
                         struct json_slice *value);
int64_t rocprof_json_integer(const struct json_slice *object, const char *key, int64_t if_none);

/* -1 for what is negative or too large. */
int32_t rocprof_run_small(int64_t number);

/* Names are ids in the builder's strings, and not 0. */
void rocprof_run_name_kernel(struct rocprof_run *run, const struct rocprof_kernel *kernel);
void rocprof_run_name_operation(struct rocprof_run *run, const struct rocprof_operation *operation);
void rocprof_run_name_marker(struct rocprof_run *run, int64_t correlation, uint32_t message);

void rocprof_run_name_counter(struct rocprof_run *run, int64_t counter, uint32_t name);

void rocprof_run_count(struct rocprof_run *run, const struct rocprof_count *count);

/* Of rocprof_run_finish: what the series are called. */
void rocprof_run_name_series(struct rocprof_run *run);

/* What comes next is of this array or table. */
void rocprof_run_set_category(struct rocprof_run *run, const char *name);

/* Counts the record, and keeps it where it is of use. */
void rocprof_run_add(struct rocprof_run *run, enum rocprof_content content,
                     const struct rocprof_record *record);

/* Puts names, devices, streams and the process into all that was added; the builder is then ready
 * for trace_finish. */
void rocprof_run_finish(struct rocprof_run *run);

/* It holds a kernel or copy; before rocprof_run_finish, too. */
bool rocprof_run_has_device_work(const struct rocprof_run *run);
/* Or a call or marker. */
bool rocprof_run_has_events(const struct rocprof_run *run);

/* ---- rows of databases ---- */

/* The file is a database of which a table, a view or an index is called so at its beginning. */
bool rocprof_has_table_like(const struct input_stream *input, const char *begin, const char *other);

/* The value of a column, where it is a number. An integer is the usual case; a number that is
 * written as text is one, too, since columns of some writers have no type. */
static inline void rocprof_take(struct rocprof_record *record, const struct sqlite_rows *rows,
                                int column, enum rocprof_value which)
{
    int64_t value;

    if (sqlite_is_integer(rows, column, &value))
        rocprof_record_set(record, which, value);
    else if (!sqlite_is_null(rows, column))
        rocprof_record_set(record, which, sqlite_integer(rows, column, -1));
}

/* 0: there is none. */
uint32_t rocprof_text(struct rocprof_run *run, const char *text);

/* Texts by their ids, of rows with these columns, to the last; closes them. */
extern const char *const rocprof_string_columns[];
void rocprof_read_strings(struct rocprof_run *run, struct hash_map *strings,
                          struct sqlite_rows *rows);
/* 0: none. */
uint32_t rocprof_string(const struct hash_map *strings, int64_t id);

/* A JSON text of the file, with room behind it for what scans it; free() its text. */
struct json_slice rocprof_json_copy(const char *text);

/* The record is of an operation of this name: of databases, where names are strings. */
void rocprof_take_name(struct rocprof_run *run, struct rocprof_record *record, uint32_t name);

/* Which process of several it is, in words; `order`: what ranks without a number follow. */
void rocprof_name_process(struct rocprof_run *run, uint32_t part, uint32_t count,
                          const char *order);

struct rocprof_rows_end {
    struct sqlite_input *database;
    const char *own_tables; /* how those begin that are used, or no data; all others are told as not
                               used. NULL: nothing is told of them */
    const char *remedy;     /* how to record */
};

/* What a database came to, into `trace`. False with `error` set where there is nothing to report.
 */
MUST_USE bool rocprof_finish_rows(struct rocprof_run *run, const struct rocprof_rows_end *end,
                                  struct trace *trace, const struct read_options *options,
                                  struct error *error);

/* ---- one record of rocprofv3's JSON ---- */

/* Reads the object at `at`, whose keys may come in any order; `record` must have nothing in it yet.
 * As the functions of json_scan.h: NULL where it is malformed or the window ends. */
const char *rocprof_record_scan(struct json_scan *scan, const char *at,
                                struct rocprof_record *record);

/* Moves the place, which is in an array of records, to where the next record seems to begin, or to
 * the key of the next array; false where there is neither. */
bool rocprof_record_find(struct json_window *window);

#endif
