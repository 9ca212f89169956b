/* What a device's allocator held at each moment of a snapshot's trace.
 *
 * A trace begins in the middle of a run, so its sums are relative. What was there at its start is
 * found from the other end: the blocks that stand in the snapshot and were not allocated in the
 * trace, and those that the trace frees and did not allocate. Bytes are those that the program
 * asked for; only reserved memory is as the allocator took it from the device. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_REPLAY_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_REPLAY_H

#include "trace/memory_snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* It lives until the end of the trace, and in the snapshot. */
#define LIFE_NEVER UINT32_MAX

/* One allocation. Moment m is when m events of the trace have happened; it lives from `born` on, up
 * to and without `died`. */
struct memory_life {
    uint64_t address;
    int64_t bytes;
    int64_t stream;
    uint32_t born;    /* 0: before the trace */
    uint32_t pending; /* from this moment on it waits to be free: its streams are still at work */
    uint32_t died;    /* LIFE_NEVER: not in the trace */
    uint32_t stack;   /* SNAPSHOT_NONE: not known */
    uint32_t tag;
};

struct snapshot_replay {
    const struct memory_snapshot *snapshot;
    const struct snapshot_event *events;
    uint32_t device;
    uint32_t event_count;
    struct memory_life *lives; /* [life_count], those of the trace by their birth, then the others
                                */
    uint32_t life_count;
    int64_t *live_bytes;     /* [event_count + 1]: at each moment, pending ones too */
    int64_t *reserved_bytes; /* [event_count + 1] */
    uint32_t peak_moment;    /* the first one with the most live bytes */
    uint32_t reserved_peak_moment;
    int64_t base_bytes;   /* live at moment 0 */
    int64_t unseen_bytes; /* of them, what the trace freed: nobody recorded who allocated it */
    /* What does not fit together; all 0 where trace and snapshot are of one piece. */
    int64_t reused_addresses; /* allocated while still live: a free is missing */
    int64_t changed_sizes;    /* freed, or in the snapshot, with another size */
    int64_t vanished_lives;   /* live at the end of the trace, and not in the snapshot */
    int64_t vanished_bytes;
    int64_t impossible_moments; /* more live than reserved */
};

/* `replay` must be zeroed; `snapshot` must outlive it. */
void replay_snapshot(struct snapshot_replay *replay, const struct memory_snapshot *snapshot,
                     uint32_t device);

static inline bool is_alive(const struct memory_life *life, uint32_t moment)
{
    return life->born <= moment && moment < life->died;
}

/* Time of a moment, from the start of the trace: that of the event which brought it about. */
int64_t moment_time_ns(const struct snapshot_replay *replay, uint32_t moment);

/* Bytes that wait to be free at a moment. */
int64_t pending_bytes_at(const struct snapshot_replay *replay, uint32_t moment);

void snapshot_replay_clear(struct snapshot_replay *replay);

#endif
