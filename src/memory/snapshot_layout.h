/* How a device's reserved memory is laid out at a moment of a snapshot's trace: what of it is used,
 * what is free and can be given back, and what is free and stuck between blocks in use. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_LAYOUT_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_LAYOUT_H

#include "memory/snapshot_replay.h"

#include <stdbool.h>
#include <stdint.h>

/* A stretch of memory taken from the device. */
struct laid_segment {
    uint64_t address;
    int64_t total_bytes;
    int64_t stream;
    uint32_t pool; /* in the snapshot's pools; SNAPSHOT_NONE: not known, it was gone by the end */
    bool is_small;
    bool is_expandable;
    uint32_t blocks;         /* in use */
    int64_t used_bytes;      /* as the allocator rounds blocks up */
    int64_t pending_bytes;   /* of them, waiting to be free */
    int64_t requested_bytes; /* of the others, as the program asked for */
    int64_t largest_free_bytes;
};

struct memory_layout {
    struct laid_segment *segments; /* [count], by address */
    uint32_t count;
    int64_t reserved_bytes;
    int64_t used_bytes;
    int64_t pending_bytes;
    int64_t requested_bytes;
    int64_t stuck_bytes;      /* free in segments that hold a block in use */
    int64_t releasable_bytes; /* segments that hold none */
    int64_t largest_free_bytes;
};

/* At the end, exactly, from the blocks of the snapshot. `layout` must be zeroed. */
void lay_out_end(struct memory_layout *layout, const struct snapshot_replay *replay);

/* At any moment, from the events: blocks are rounded up to 512 bytes, so that of a large segment
 * what the allocator did not split off (up to 1 MiB behind a block) counts as free. False where the
 * trace has so many events of segments that this would take minutes. */
bool lay_out_moment(struct memory_layout *layout, const struct snapshot_replay *replay,
                    uint32_t moment);

void memory_layout_clear(struct memory_layout *layout);

#endif
