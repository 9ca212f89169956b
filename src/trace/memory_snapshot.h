/* A snapshot of PyTorch's CUDA allocator: its segments and blocks as they stood, and what it did
 * before, event by event. */
#ifndef FLOPLEDGER_TRACE_MEMORY_SNAPSHOT_H
#define FLOPLEDGER_TRACE_MEMORY_SNAPSHOT_H

#include "base/core/string_pool.h"
#include "base/io/input_rest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of the host, as memory_event.device. */
#define HOST_MEMORY (-1)

struct memory_event {
    int64_t time_ns; /* on the trace's own clock */
    uint64_t address;
    int64_t bytes;           /* allocated; negative: freed */
    int64_t allocated_bytes; /* of the device from then on, counted since recording began on the
                                host; -1: not told */
    int64_t reserved_bytes;  /* what the device's allocator holds; -1: not told */
    uint32_t track;          /* index in trace.tracks: the thread */
    int32_t device;          /* HOST_MEMORY, or the number of a device */
};

/* A list that grows; zeroed is empty. */
struct memory_list {
    struct memory_event *events; /* [count] */
    size_t count;
    int64_t set_aside; /* events without an address, or of no possible size */
};

/* No single block is larger: sums of millions of them fit into 64 bits. */
#define MEMORY_BLOCK_BYTES_MAX ((int64_t)1 << 40)

/* No time of an event is further from zero: differences fit into 64 bits. */
#define MEMORY_TIME_NS_MAX ((int64_t)1 << 61)

/* Ends the program when memory is out. */
void memory_list_add(struct memory_list *list, const struct memory_event *event);

/* By time; events of one time keep their order. */
void memory_list_sort(struct memory_list *list);

void memory_list_clear(struct memory_list *list);

/* No stack, no pool: for ids. */
#define SNAPSHOT_NONE UINT32_MAX

/* Where a line of code stands. */
struct snapshot_frame {
    uint32_t name; /* texts of the snapshot's strings */
    uint32_t file;
    uint32_t line;
};

/* Frames of one call stack, the innermost first. */
struct snapshot_stack {
    size_t first; /* in stack_frames */
    uint32_t count;
};

enum snapshot_action {
    SNAPSHOT_ALLOC,
    SNAPSHOT_FREE_REQUESTED, /* given back by the program */
    SNAPSHOT_FREE_COMPLETED, /* and now free for others, too */
    SNAPSHOT_SEGMENT_ALLOC,  /* memory taken from the device */
    SNAPSHOT_SEGMENT_FREE,
    SNAPSHOT_SEGMENT_MAP,
    SNAPSHOT_SEGMENT_UNMAP,
    SNAPSHOT_OOM,
    SNAPSHOT_TAKEN,
    SNAPSHOT_OTHER, /* an action that this version does not know */
    SNAPSHOT_ACTION_COUNT,
};

struct snapshot_event {
    uint64_t address;   /* of an OOM: bytes that the device had free; UINT64_MAX: not told */
    int64_t size_bytes; /* as requested; of an OOM: what was asked for */
    int64_t time_ns;
    int64_t stream;
    uint32_t stack; /* SNAPSHOT_NONE: none recorded */
    uint32_t tag;   /* text set by torch.cuda.memory._set_memory_metadata; 0: none */
    uint8_t action;
};

enum snapshot_state { SNAPSHOT_ACTIVE, SNAPSHOT_PENDING, SNAPSHOT_INACTIVE };

struct snapshot_block {
    uint64_t address;
    int64_t size_bytes;      /* rounded up by the allocator */
    int64_t requested_bytes; /* as the program asked for */
    uint32_t stack;
    uint32_t tag;
    uint8_t state;
};

struct snapshot_segment {
    uint64_t address;
    int64_t total_bytes;
    int64_t stream;
    int64_t device;
    uint32_t pool; /* in pools */
    uint32_t first_block;
    uint32_t block_count; /* without gaps, by address */
    bool is_small;        /* in the pool of small blocks */
    bool is_expandable;
};

/* (0, 0) is the default pool; others are those of CUDA graphs and torch.cuda.MemPool. */
struct snapshot_pool {
    int64_t a;
    int64_t b;
};

struct snapshot_annotation {
    int64_t time_ns;
    int64_t device;
    uint32_t name;
    bool is_end;
};

/* What one device did. */
struct snapshot_trace {
    struct snapshot_event *events; /* [count], as recorded */
    size_t count;
};

struct snapshot_setting {
    uint32_t name;
    uint32_t value;
};

/* Zeroed is empty. All is owned by it. */
struct memory_snapshot {
    struct string_pool strings;
    struct snapshot_frame *frames;           /* [frame_count], each distinct one once */
    uint32_t *stack_frames;                  /* ids of frames; what the stacks hold */
    struct snapshot_stack *stacks;           /* [stack_count], each distinct one once */
    struct snapshot_trace *traces;           /* [trace_count], by device */
    struct snapshot_segment *segments;       /* [segment_count] */
    struct snapshot_block *blocks;           /* [block_count] */
    struct snapshot_pool *pools;             /* [pool_count] */
    struct snapshot_annotation *annotations; /* [annotation_count] */
    struct snapshot_setting *settings;       /* [setting_count], of the allocator */
    size_t stack_frame_count;
    int64_t unknown_actions; /* events SNAPSHOT_OTHER */
    uint32_t frame_count;
    uint32_t stack_count;
    uint32_t trace_count;
    uint32_t segment_count;
    uint32_t block_count;
    uint32_t pool_count;
    uint32_t annotation_count;
    uint32_t setting_count;
    uint32_t unknown_action;  /* the text of the first of them */
    bool has_requested_sizes; /* blocks say what was asked for */
    struct input_rest rest;   /* what stands behind it in the file */
};

/* "alloc" */
const char *snapshot_action_name(enum snapshot_action action);

/* One more than the largest device number that has segments or events. */
uint32_t snapshot_device_count(const struct memory_snapshot *snapshot);
/* Whether anything is known of the device. */
bool snapshot_has_device(const struct memory_snapshot *snapshot, uint32_t device);

const char *snapshot_text(const struct memory_snapshot *snapshot, uint32_t id);

void memory_snapshot_clear(struct memory_snapshot *snapshot);

#endif
