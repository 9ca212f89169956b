/* Snapshots of an allocator made by hand, event by event. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_SNAPSHOT_H
#define FLOPLEDGER_TESTS_SUPPORT_SNAPSHOT_H

#include "trace/memory_snapshot.h"

#include <stdint.h>

enum { MADE_MAX = 64 };

/* One device, number 0. All arrays are part of it, so that nothing is to be freed but the strings.
 */
struct made_snapshot {
    struct memory_snapshot snapshot;
    struct snapshot_trace trace;
    struct snapshot_event events[MADE_MAX];
    struct snapshot_segment segments[MADE_MAX];
    struct snapshot_block blocks[MADE_MAX];
    struct snapshot_pool pool;
    struct snapshot_annotation annotations[MADE_MAX];
    struct snapshot_frame frames[MADE_MAX];
    struct snapshot_stack stacks[MADE_MAX];
    uint32_t stack_frames[MADE_MAX];
};

void made_snapshot_init(struct made_snapshot *made);

/* An event 1 µs after the one before. */
void made_event(struct made_snapshot *made, enum snapshot_action action, uint64_t address,
                int64_t bytes);
/* The last event gets this stack and tag. */
void made_owner(struct made_snapshot *made, uint32_t stack, const char *tag);

/* A segment of the default pool; blocks that are added fill it from its beginning. */
void made_segment(struct made_snapshot *made, uint64_t address, int64_t bytes);
void made_block(struct made_snapshot *made, enum snapshot_state state, int64_t bytes,
                int64_t requested_bytes);

/* A stack of one frame or two (`outer_file` NULL: one); returns its id. */
uint32_t made_stack(struct made_snapshot *made, struct snapshot_frame inner,
                    const struct snapshot_frame *outer);
struct snapshot_frame made_frame(struct made_snapshot *made, const char *name, const char *file,
                                 uint32_t line);

void made_snapshot_clear(struct made_snapshot *made);

#endif
