/* One timed event of a trace, whatever profiler wrote it. */
#ifndef FLOPLEDGER_TRACE_EVENT_H
#define FLOPLEDGER_TRACE_EVENT_H

#include "base/core/hash_map.h"

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    /* on a host thread; of events with the same start and end, the first kind here encloses the
       others */
    EVENT_PYTHON_FUNCTION, /* a Python frame: python_function */
    EVENT_ANNOTATION, /* a range the program or framework named: user_annotation, ProfilerStep#3 */
    EVENT_OPERATOR,   /* an op of the framework: cpu_op, Operator */
    EVENT_RUNTIME_CALL, /* a call into the device's runtime or driver: cuda_runtime, cuda_driver,
                           hip */
    EVENT_SYSTEM_CALL,  /* a call of the operating system: a lock, a wait, a read */
    EVENT_OVERHEAD,     /* the profiler's own work: overhead */
    EVENT_HOST_OTHER,   /* any other timed event of a host thread */
    /* on a device; of events that start and end together, the first kind here counts as the first
     */
    EVENT_MEMCPY,
    EVENT_KERNEL,
    EVENT_MEMSET,
    EVENT_DEVICE_ANNOTATION, /* a range projected onto the device: gpu_user_annotation; never a step
                              */
    EVENT_DEVICE_SYNC,       /* cuda_sync */
    EVENT_DEVICE_OTHER,
};
enum { EVENT_KIND_COUNT = EVENT_DEVICE_OTHER + 1 };

/* "No id here" for correlation, sequence number and external id; a file's id of this value counts
 * as none. */
#define NO_ID (-(INT32_C(1) << 30))
/* "No event": an index that stands for none. */
#define NO_EVENT UINT32_MAX

/* As a reader finds it. */
struct found_event {
    int64_t start_ns;    /* on the trace's own clock; trace.base_time_ns added gives the time since
                            1970 */
    int64_t duration_ns; /* never negative */
    union {
        int64_t correlation;     /* runtime calls and device events: the same number joins call and
                                    kernel */
        int64_t sequence_number; /* operators: the autograd sequence number */
    };
    int64_t external_id; /* id of the operator that caused it (operators: their own id) */
    uint32_t name;       /* in trace.strings */
    uint32_t track;      /* index in trace.tracks */
    uint32_t detail;     /* index in trace.details; 0 = no details */
    uint8_t kind;        /* enum event_kind */
};

/* As it is kept, of 36 bytes: most of the memory that a trace takes is its events. Ids are equal
 * where those of the file are; what they are in the file, event_id_number tells. */
struct __attribute__((packed, aligned(4))) event {
    int64_t start_ns;
    int64_t duration_ns;
    union {
        int32_t correlation;
        int32_t sequence_number;
    };
    int32_t external_id;
    uint32_t name;
    uint32_t detail;
    union {
        struct {
            uint32_t track : 24;
            uint32_t kind : 8;
        };
        uint32_t track_and_kind; /* both at once: see event_track_and_kind */
    };
};
_Static_assert(sizeof(struct event) == 36, "an event has no padding");
#define EVENT_TRACK_MAX 0xffffffU

/* The ids of a file that are too large for events. Those that count up from a large number lie in
 * one block of 2^30, the block of the first: in an event they are NEAR_ID and more. All others, as
 * hashes and addresses are, are numbers from INT32_MIN on, below NO_ID. Zeroed is empty. */
struct wide_ids {
    int64_t block; /* its first id; 0: there are no wide ids (0 itself is none) */
    int64_t *ids;  /* [count] outside the block */
    uint32_t count;
    struct hash_map places; /* by id: where it is in them */
};
#define NEAR_ID (INT32_C(1) << 30)

int32_t wide_ids_add(struct wide_ids *wide, int64_t id);
void wide_ids_clear(struct wide_ids *wide);

/* Ids from NO_ID to below NEAR_ID, of 31 bits, are themselves. */
static inline bool event_id_is_wide(int64_t id)
{
    return ((uint64_t)id - (uint64_t)(int64_t)NO_ID) >> 31;
}

/* The first id of the block that a wide id lies in. */
static inline int64_t wide_id_block(int64_t id)
{
    return id & -(int64_t)NEAR_ID;
}

/* What an id of a file is in an event. */
static inline int32_t event_id_of(struct wide_ids *wide, int64_t id)
{
    if (!event_id_is_wide(id))
        return (int32_t)id;
    if (wide_id_block(id) == wide->block)
        return NEAR_ID | (int32_t)(id & (NEAR_ID - 1));
    return wide_ids_add(wide, id);
}

static inline bool event_id_is_near(int32_t id)
{
    return id >= NEAR_ID;
}

/* What an id of an event is in the file. */
static inline int64_t event_id_number(const struct wide_ids *wide, int32_t id)
{
    if (event_id_is_near(id))
        return wide->block | (id & (NEAR_ID - 1));
    return id >= NO_ID ? id : wide->ids[id - INT32_MIN];
}

/* One word, as the two bit fields that it is: compilers write them one by one. */
static inline uint32_t event_track_and_kind(uint32_t track, uint32_t kind)
{
    return (track & EVENT_TRACK_MAX) | kind << 24;
}

static inline struct event event_with_ids(const struct found_event *found, int32_t correlation,
                                          int32_t external_id)
{
    return (struct event){
        .start_ns = found->start_ns,
        .duration_ns = found->duration_ns,
        .correlation = correlation,
        .external_id = external_id,
        .name = found->name,
        .detail = found->detail,
        .track_and_kind = event_track_and_kind(found->track, found->kind),
    };
}

static inline struct event event_kept(struct wide_ids *wide, const struct found_event *found)
{
    return event_with_ids(found, event_id_of(wide, found->correlation),
                          event_id_of(wide, found->external_id));
}

static inline struct found_event event_as_found(const struct wide_ids *wide,
                                                const struct event *event)
{
    return (struct found_event){
        .start_ns = event->start_ns,
        .duration_ns = event->duration_ns,
        .correlation = event_id_number(wide, event->correlation),
        .external_id = event_id_number(wide, event->external_id),
        .name = event->name,
        .track = event->track,
        .detail = event->detail,
        .kind = event->kind,
    };
}

/* What some events say beyond name and time. Equal details are stored once, so all bytes count:
 * padding is zeroed. Strings are ids in trace.strings (0 = not given), numbers are -1 and fractions
 * negative where not given. */
struct event_detail {
    /* operators; the JSON text as written, e.g. "[[8, 64], [64, 64]]" */
    uint32_t input_shapes;    /* Input Dims, or Input dims */
    uint32_t input_types;     /* Input type */
    uint32_t concrete_inputs; /* Concrete Inputs */
    uint32_t call_stack;      /* Call stack, with ';' between frames */
    uint32_t work;  /* the key of a class of work (ledger/kernel_class.h), where the recorder tells
                       it by other words than names: "matmul"; "other": no matrix work */
    uint32_t phase; /* "forward", "backward" or "recompute", where the recorder tells it */
    uint32_t kernel_name; /* runtime calls: what they launch, where they tell (HIP) */
    /* operators that are kernels torch.compile wrote */
    uint32_t code;     /* kernel_hash: tells kernels of one name apart */
    uint32_t settings; /* kernel_kwargs: "XBLOCK=16" */
    /* kernels */
    uint32_t lines; /* stack: where the program calls what is fused in it, the JSON text */
    int32_t grid[3];
    int32_t block[3];
    int32_t registers_per_thread;
    int32_t shared_memory_bytes;
    float occupancy_percent; /* est. achieved occupancy %: 0...100 */
    float blocks_per_sm;
    float warps_per_sm;
    int32_t collective_calls; /* how many calls of NCCL `bytes` is the sum of; -1: not told */
    /* copies, memsets; operators of which the recorder counts them; and collectives of which NCCL's
     * own ranges tell: the larger of input and output, on all ranks together */
    int64_t bytes;
    int64_t flops; /* of operators of which the recorder (XLA) counts them */
    /* collectives: NCCL metadata */
    uint32_t collective_name; /* Collective name: "allreduce", "_allgather_base", ... */
    uint32_t element_type;    /* dtype: "Float", "BFloat16", ... */
    uint32_t group_name;      /* Process Group Name */
    uint32_t group_ranks;     /* Process Group Ranks, the JSON text */
    int64_t in_elements;      /* In msg nelems */
    int64_t out_elements;     /* Out msg nelems */
    int64_t group_size;       /* Group size */
    int64_t sequence;         /* Seq: counts the calls of the group, the same on all its ranks */
    int32_t source_rank;      /* Src Rank, of a send or receive */
    int32_t destination_rank; /* Dst Rank */
    int64_t graph_node;       /* graph node id: which node of a CUDA graph it is */
};

static inline int64_t event_end_ns(const struct event *event)
{
    return event->start_ns + event->duration_ns;
}

static inline int64_t found_event_end_ns(const struct found_event *event)
{
    return event->start_ns + event->duration_ns;
}

/* On a stream of a device, not on a host thread. */
static inline bool event_kind_is_on_device(enum event_kind kind)
{
    return kind >= EVENT_MEMCPY;
}

/* Kernels, copies and memsets: what keeps a device busy. */
static inline bool event_kind_is_device_work(enum event_kind kind)
{
    return kind == EVENT_KERNEL || kind == EVENT_MEMCPY || kind == EVENT_MEMSET;
}

static inline bool event_is_device_work(const struct event *event)
{
    return event_kind_is_device_work((enum event_kind)event->kind);
}

#endif
