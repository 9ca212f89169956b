/* Each block of memory of a recorded run: when it was allocated and freed, and which tensor it was.
 *
 * Blocks that were alive before the recording come from the recorder's first mark. Sizes are those
 * that the allocator was asked for on the host, and those that it counts on a device. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_BLOCKS_H
#define FLOPLEDGER_MEMORY_MEMORY_BLOCKS_H

#include "memory/memory_side_file.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_TENSOR UINT32_MAX
#define NO_CHANGE UINT32_MAX

enum memory_phase {
    MEMORY_OUTSIDE, /* before a forward: data, zeroing; after the last backward and optimizer */
    MEMORY_FORWARD, /* with the loss */
    MEMORY_BACKWARD,
    MEMORY_RECOMPUTE, /* a forward inside a backward: activation checkpointing */
    MEMORY_OPTIMIZER, /* with what stands between backward and optimizer: clipping */
};
enum { MEMORY_PHASE_COUNT = MEMORY_OPTIMIZER + 1 };

struct memory_block {
    int64_t bytes;
    int64_t start_ns; /* INT64_MIN: before the recording */
    int64_t end_ns;   /* INT64_MAX: alive at its end */
    uint64_t address;
    uint32_t start;  /* index in changes */
    uint32_t end;    /* index in changes; NO_CHANGE: alive at the end */
    uint32_t tensor; /* index in the side file's tensors, or NO_TENSOR */
    uint32_t track;  /* the thread that allocated it; NO_EVENT before the recording */
    int32_t device;
    /* filled by memory_attribute() */
    uint32_t event;  /* in trace->host: the innermost one around the allocation, or NO_EVENT */
    uint32_t module; /* in the module tree, or NO_MODULE */
    uint8_t kind;    /* enum memory_kind */
    uint8_t phase;   /* enum memory_phase: of the allocation */
};

struct memory_change {
    int64_t time_ns; /* INT64_MIN: before the recording */
    uint32_t block;
    bool is_free;
};

/* A mark of the recorder in the trace. */
struct memory_moment {
    int64_t time_ns;
    uint32_t mark;         /* index in side_file.marks */
    uint32_t change_count; /* of changes before it */
};

/* Zeroed is empty. */
struct memory_blocks {
    struct memory_block *blocks; /* [count], by start */
    uint32_t count;
    struct memory_change *changes; /* [change_count], in order of time */
    uint32_t change_count;
    struct memory_moment *moments; /* [moment_count], in order of time */
    uint32_t moment_count;
    int64_t unknown_frees; /* releases of blocks that nothing told of */
    int64_t unseen_frees;  /* blocks whose end is known by a later mark or use of their address */
    int64_t unseen_bytes;  /* of these */
    int64_t foreign_bytes; /* most of marked tensors, at a mark, that torch did not allocate */
    int64_t missing_marks; /* in the side file, and not in the trace */
};

/* `blocks` must be zeroed. An empty `side` gives blocks without tensors, from zero on. */
void memory_blocks_find(struct memory_blocks *blocks, const struct trace *trace,
                        const struct memory_side_file *side);

void memory_blocks_clear(struct memory_blocks *blocks);

/* Whether the block is alive when so many changes are made. */
static inline bool memory_block_is_alive(const struct memory_block *block, uint32_t change_count)
{
    return block->start < change_count && (block->end == NO_CHANGE || block->end >= change_count);
}

#endif
