/* The one event model: everything a trace of one rank says, the same whatever profiler wrote it. */
#ifndef FLOPLEDGER_TRACE_TRACE_H
#define FLOPLEDGER_TRACE_TRACE_H

#include "base/core/string_pool.h"
#include "trace/event.h"
#include "trace/memory_snapshot.h"
#include "trace/read_account.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct series_sample {
    int64_t time_ns; /* on the trace's own clock */
    double value;
};

enum series_kind {
    SERIES_METRIC,      /* a counter of the device, sampled at regular moments */
    SERIES_OF_KERNELS,  /* what a counter counted in one kernel, at the moment when it began */
    SERIES_PAGE_FAULTS, /* how many faults of unified memory there were at a moment */
};

/* The device of what happened on the host. */
#define SERIES_OF_HOST (-1)

/* One counter of one device. */
struct series {
    enum series_kind kind;
    uint32_t name;                 /* "SMs Active", in the strings of the builder or trace */
    uint32_t unit;                 /* "Throughput %"; 0: not told */
    int32_t device;                /* its number, as of the device's streams; or SERIES_OF_HOST */
    uint32_t number;               /* what the file calls it by; tells two of one name apart */
    struct series_sample *samples; /* [count] */
    size_t count;
    int64_t set_aside; /* samples that are no measurement: negative, or without time or value */
};

/* A list that grows; zeroed is empty. */
struct series_list {
    struct series *series; /* [count], in the order of the file */
    uint32_t count;
};

/* Index of the counter with this kind, name, unit, device and number; added without samples where
 * it is not there yet. Ends the program when memory is out. */
uint32_t series_list_find(struct series_list *list, const struct series *series);

void series_add(struct series *series, const struct series_sample *sample);

/* How many samples there are of metrics, also of those set aside. */
int64_t series_samples(const struct series_list *list);

/* The samples of each by time, then value. */
void series_list_sort(struct series_list *list);

void series_list_clear(struct series_list *list);

/* What a kernel of a graph was given, or why it was given nothing. */
enum graph_fate {
    GRAPH_ATTRIBUTED,    /* operator, shapes and module */
    GRAPH_WITHOUT_PLACE, /* operator and shapes: of several places of the model it is not known
                            which */
    GRAPH_NO_CAPTURE,    /* no capture was given or found */
    GRAPH_NO_NAMES,      /* the captures do not tell what their launches launch */
    GRAPH_NO_MATCH,      /* no captured graph has these kernels in this order */
    GRAPH_AMBIGUOUS,     /* several captured graphs fit, or several places in one, and differ */
    GRAPH_NO_OPERATOR,   /* the capture's launch lies in no operator */
};

enum { GRAPH_FATE_COUNT = GRAPH_NO_OPERATOR + 1 };

/* Launches of graphs with the same kernels in the same order. */
struct graph_kind {
    int64_t launches;
    int64_t kernels;   /* of all of them; copies and memsets too */
    int64_t kernel_ns; /* summed */
    int64_t fate_ns[GRAPH_FATE_COUNT];
    uint32_t capture;    /* the file of the captured graph, in trace.strings; 0: none */
    uint32_t number;     /* which of that file's graphs, from 1; 0: several fit */
    uint32_t candidates; /* captured graphs that fit */
    int64_t missing;     /* kernels that the captured graph has and the launches have not; negative:
                            the other way round */
};

/* The host events that stand for one launch of a graph: copies of what its capture recorded. */
struct graph_copy {
    uint32_t call;  /* of trace.host: the launch call, in which they lie */
    uint32_t first; /* of trace.host */
    uint32_t count;
};

struct graph_replays {
    int64_t launches;
    int64_t kernels; /* and copies and memsets */
    int64_t kernel_ns;
    int64_t fate_ns[GRAPH_FATE_COUNT]; /* their sum is kernel_ns */
    int64_t fate_kernels[GRAPH_FATE_COUNT];
    uint32_t *captures; /* the files read, in trace.strings */
    size_t capture_count;
    size_t captured_graphs;   /* in them */
    struct graph_kind *kinds; /* longest first */
    size_t kind_count;
    struct graph_copy *copies; /* by `first` */
    size_t copy_count;
    uint32_t *host_of; /* [trace.device_count]: the innermost event of the copy that a kernel
                          belongs to, or NO_EVENT; NULL where there is no copy */
};

/* "in no capture": at most 21 characters; NULL for GRAPH_ATTRIBUTED. */
const char *graph_fate_text(enum graph_fate fate);

/* A host thread, or a stream of a device. */
struct track {
    uint32_t process;      /* pid as written, in trace.strings */
    uint32_t thread;       /* tid as written */
    uint32_t process_name; /* metadata event process_name, 0 = none */
    uint32_t thread_name;  /* metadata event thread_name, 0 = none */
    bool is_device;
    bool is_captured; /* no thread: copies of what captures of graphs recorded, see trace.graphs */
    int32_t device;   /* device number of a stream (args.device, else pid), -1 for a host thread */
    int64_t stream;   /* stream number (args.stream, else tid), -1 for a host thread or a stream not
                         numbered */
    /* host threads: their events are trace.host[first_event .. first_event + event_count) */
    uint32_t first_event;
    uint32_t event_count;
};

/* Who says what a device is. */
enum device_entry {
    DEVICE_ENTRY_NONE, /* only its events tell of it */
    DEVICE_ENTRY_OWN,  /* an entry of its own number */
    DEVICE_ENTRY_ONLY, /* the file lists one device, of another number: ROCm writes such numbers */
    DEVICE_ENTRY_SHARED, /* all that the file lists are of one name, none of this number */
};

/* One entry of deviceProperties, or a device that only its events tell of (name 0). Not given: -1,
 * 0 for names. */
struct device {
    int32_t number;
    uint32_t name;
    int64_t memory_bytes;
    int32_t compute_major;
    int32_t compute_minor;
    int32_t multiprocessors; /* numSms */
    enum device_entry entry;
    uint32_t event_count; /* kernels, copies and memsets on it */
};

/* Whose software launches the work of the devices. */
enum platform {
    PLATFORM_CUDA, /* or ROCm, which has PyTorch's names of CUDA (is_rocm tells); or not told */
    PLATFORM_MTIA,
    PLATFORM_XPU,
    PLATFORM_NPU, /* Ascend */
    PLATFORM_JAX, /* on a device of any kind */
};

/* What the file says about the run. Not given: -1, 0 for strings. */
struct run_facts {
    int64_t rank;
    bool is_rank_by_order; /* it only counts what the file holds, which does not tell it */
    int64_t world_size;
    uint32_t backend;       /* nccl, gloo */
    uint32_t hostname;      /* distributedInfo or host_name */
    uint32_t process;       /* which one of the file's it is, in words; only where it has several */
    uint32_t torch_version; /* not in every trace */
    uint32_t cuda_version;  /* cuda_runtime_version or hip_runtime_version, as written */
    uint32_t trace_name;    /* traceName */
    int64_t base_time_ns;   /* baseTimeNanoseconds, 0 where absent */
    int8_t record_shapes;   /* -1 not said, 0, 1 */
    int8_t profile_memory;
    int8_t with_stack;
    int8_t with_modules;
    int8_t with_flops;
    uint8_t platform; /* enum platform */
    int8_t is_rocm;   /* 1 where a hip version or hip calls are seen */
};

struct trace {
    struct string_pool strings;

    /* Events of host threads, sorted by (track, start, longest first, kind, name). */
    struct event *host;
    uint32_t host_count;

    /* Kernels, copies and memsets of all devices, sorted by (start, end, kind, device, stream,
     * correlation, name). */
    struct event *device;
    uint32_t device_count;
    /* For each of `device`: index in `host` of the runtime call that launched it, or NO_EVENT. */
    uint32_t *launch;
    uint32_t *launch_operator; /* see trace_operator_of */

    /* Other device events (annotations, syncs), sorted as `device`. */
    struct event *device_notes;
    uint32_t device_note_count;

    /* [track_count], where a reader was asked for sums alone, and the trace has no event; else
     * NULL.
     */
    struct track_sum *sums;

    struct wide_ids wide_ids;
    struct track *tracks;
    uint32_t track_count;
    struct event_detail *details; /* [0] is "no details" */
    uint32_t detail_count;
    struct device *devices; /* sorted by number */
    uint32_t device_list_count;

    struct memory_list memory; /* by time; empty where the reader was not asked for it */
    struct series_list series; /* counters of devices, page faults; samples by time */

    struct graph_replays *graphs; /* NULL: no graph is launched, or none was looked for */

    struct run_facts facts;
    struct read_account read; /* what was read, and what was not */
    uint32_t path;            /* the file's name as the user gave it, in strings */
    const char *name;         /* what tells it from other files read with it; NULL: its own name */
};

/* The end of its path that it is called by, beside others. */
const char *trace_file_name(const struct trace *trace);

/* Events of trace->host that were recorded: copies of captured ones (trace->graphs) stand behind.
 */
uint32_t trace_recorded_host_count(const struct trace *trace);

void trace_clear(struct trace *trace);

/* When `time_ns` of the trace's own clock was, in nanoseconds since 1970; -1 where that clock does
 * not count from a known time. */
int64_t trace_unix_ns(const struct trace *trace, int64_t time_ns);

static inline const char *trace_text(const struct trace *trace, uint32_t string)
{
    return string_pool_text(&trace->strings, string);
}

/* The operator that launched device event `index`: the innermost EVENT_OPERATOR on the launching
 * thread that is open when the launch call starts; else, where the launch is unknown or outside any
 * operator, the operator whose external id the event carries; else NO_EVENT. Index in trace->host.
 * Computed once by trace_finish. */
uint32_t trace_operator_of(const struct trace *trace, uint32_t device_event);

/* Where on the host device event `index` comes from: of a kernel of a graph whose capture is known
 * the innermost event that the capture had around it, else its launch call, else its operator, else
 * NO_EVENT. Index in trace->host. */
uint32_t trace_origin_of(const struct trace *trace, uint32_t device_event);

#endif
