/* Snapshots of an allocator made by hand. */
#include "support_snapshot.h"

#include <string.h>

void made_snapshot_init(struct made_snapshot *made)
{
    memset(made, 0, sizeof *made);
    (void)string_pool_add(&made->snapshot.strings, "", 0);
    made->snapshot.traces = &made->trace;
    made->snapshot.trace_count = 1;
    made->trace.events = made->events;
    made->snapshot.segments = made->segments;
    made->snapshot.blocks = made->blocks;
    made->snapshot.pools = &made->pool;
    made->snapshot.pool_count = 1;
    made->snapshot.annotations = made->annotations;
    made->snapshot.frames = made->frames;
    made->snapshot.stacks = made->stacks;
    made->snapshot.stack_frames = made->stack_frames;
    made->snapshot.has_requested_sizes = true;
}

void made_event(struct made_snapshot *made, enum snapshot_action action, uint64_t address,
                int64_t bytes)
{
    made->events[made->trace.count] = (struct snapshot_event){
        .action = (uint8_t)action,
        .address = address,
        .size_bytes = bytes,
        .time_ns = 1000 * ((int64_t)made->trace.count + 5),
        .stack = SNAPSHOT_NONE,
    };
    made->trace.count++;
}

void made_owner(struct made_snapshot *made, uint32_t stack, const char *tag)
{
    struct snapshot_event *event = &made->events[made->trace.count - 1];

    event->stack = stack;
    event->tag = string_pool_add(&made->snapshot.strings, tag, strlen(tag));
}

void made_segment(struct made_snapshot *made, uint64_t address, int64_t bytes)
{
    made->segments[made->snapshot.segment_count++] = (struct snapshot_segment){
        .address = address, .total_bytes = bytes, .first_block = made->snapshot.block_count};
}

void made_block(struct made_snapshot *made, enum snapshot_state state, int64_t bytes,
                int64_t requested_bytes)
{
    struct snapshot_segment *segment = &made->segments[made->snapshot.segment_count - 1];
    uint64_t address = segment->address;

    if (segment->block_count) {
        const struct snapshot_block *last = &made->blocks[made->snapshot.block_count - 1];

        address = last->address + (uint64_t)last->size_bytes;
    }
    made->blocks[made->snapshot.block_count++] =
        (struct snapshot_block){.address = address,
                                .size_bytes = bytes,
                                .requested_bytes = requested_bytes,
                                .stack = SNAPSHOT_NONE,
                                .state = (uint8_t)state};
    segment->block_count++;
}

struct snapshot_frame made_frame(struct made_snapshot *made, const char *name, const char *file,
                                 uint32_t line)
{
    struct string_pool *strings = &made->snapshot.strings;

    return (struct snapshot_frame){.name = string_pool_add(strings, name, strlen(name)),
                                   .file = string_pool_add(strings, file, strlen(file)),
                                   .line = line};
}

static void add_frame(struct made_snapshot *made, struct snapshot_frame frame)
{
    made->stack_frames[made->snapshot.stack_frame_count++] = made->snapshot.frame_count;
    made->frames[made->snapshot.frame_count++] = frame;
}

uint32_t made_stack(struct made_snapshot *made, struct snapshot_frame inner,
                    const struct snapshot_frame *outer)
{
    made->stacks[made->snapshot.stack_count] =
        (struct snapshot_stack){.first = made->snapshot.stack_frame_count, .count = outer ? 2 : 1};
    add_frame(made, inner);
    if (outer)
        add_frame(made, *outer);
    return made->snapshot.stack_count++;
}

void made_snapshot_clear(struct made_snapshot *made)
{
    string_pool_clear(&made->snapshot.strings);
}
