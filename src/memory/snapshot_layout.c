/* How a device's reserved memory is laid out at a moment of a snapshot's trace. */
#include "memory/snapshot_layout.h"

#include "base/core/invariant.h"

#include <stdlib.h>
#include <string.h>

/* To lay out a moment, the events after it are undone one by one, and each looks for its segment
 * among all: product of the two, which a hostile file could make endless. */
#define STEPS_MAX ((uint64_t)1 << 31) /* of undoing events, before it takes too long */
/* kMinBlockSize of torch's CUDACachingAllocator: sizes of blocks are multiples of it. */
enum { BLOCK_ROUNDING = 512 };

static int by_address(const void *a, const void *b)
{
    const struct laid_segment *one = a;
    const struct laid_segment *other = b;

    return (one->address > other->address) - (one->address < other->address);
}

static void snapshot_layout_add_up(struct memory_layout *layout)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct laid_segment *segment = &layout->segments[i];
        int64_t free_bytes = segment->total_bytes - segment->used_bytes;

        layout->reserved_bytes += segment->total_bytes;
        layout->used_bytes += segment->used_bytes;
        layout->requested_bytes += segment->requested_bytes;
        layout->pending_bytes += segment->pending_bytes;
        /* A segment goes back to the device only as a whole: what is free beside a block that is
         * in use stays reserved, and is of use to what fits into it alone. */
        if (segment->blocks == 0)
            layout->releasable_bytes += segment->total_bytes;
        else
            layout->stuck_bytes += free_bytes;
        if (segment->largest_free_bytes > layout->largest_free_bytes)
            layout->largest_free_bytes = segment->largest_free_bytes;
    }
}

static struct laid_segment segment_of_snapshot(const struct snapshot_segment *segment)
{
    return (struct laid_segment){.address = segment->address,
                                 .total_bytes = segment->total_bytes,
                                 .stream = segment->stream,
                                 .pool = segment->pool,
                                 .is_small = segment->is_small,
                                 .is_expandable = segment->is_expandable};
}

/* The segments that stand in the snapshot, with room for `more`. */
static void collect_segments(struct memory_layout *layout, const struct snapshot_replay *replay,
                             size_t more)
{
    const struct memory_snapshot *snapshot = replay->snapshot;

    layout->segments = require_memory(
        calloc((size_t)snapshot->segment_count + more + 1, sizeof *layout->segments));
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (snapshot->segments[i].device == (int64_t)replay->device)
            layout->segments[layout->count++] = segment_of_snapshot(&snapshot->segments[i]);
}

/* ---- the end ---- */

/* A block that waits for its stream (pending) is used and nobody's any more. */
static void snapshot_layout_take_block(struct laid_segment *segment,
                                       const struct snapshot_block *block)
{
    if (block->state == SNAPSHOT_INACTIVE) {
        if (block->size_bytes > segment->largest_free_bytes)
            segment->largest_free_bytes = block->size_bytes;
        return;
    }
    segment->blocks++;
    segment->used_bytes += block->size_bytes;
    if (block->state == SNAPSHOT_PENDING)
        segment->pending_bytes += block->size_bytes;
    else
        segment->requested_bytes += block->requested_bytes;
}

/* The snapshot itself says what was there when it was taken: the history is not needed, and
 * may have been cut. */
void lay_out_end(struct memory_layout *layout, const struct snapshot_replay *replay)
{
    const struct memory_snapshot *snapshot = replay->snapshot;
    uint32_t at = 0;

    collect_segments(layout, replay, 0);
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct snapshot_segment *segment = &snapshot->segments[i];

        if (segment->device != (int64_t)replay->device)
            continue;
        for (uint32_t j = 0; j < segment->block_count; j++)
            snapshot_layout_take_block(&layout->segments[at],
                                       &snapshot->blocks[segment->first_block + j]);
        at++;
    }
    qsort(layout->segments, layout->count, sizeof *layout->segments, by_address);
    snapshot_layout_add_up(layout);
}

/* ---- any moment ---- */

/* A segment of which only an unmapping tells was one that can grow. */
static void add_segment(struct memory_layout *layout, const struct snapshot_event *event)
{
    layout->segments[layout->count++] = (struct laid_segment){
        .address = event->address,
        .total_bytes = event->size_bytes,
        .stream = event->stream,
        .pool = SNAPSHOT_NONE,
        .is_expandable = event->action == SNAPSHOT_SEGMENT_UNMAP,
    };
}

/* Takes the event's stretch out of the segment that holds it; what is left on both sides stays.
 * The last segment takes the place of one that is gone: order is restored by the sort
 * afterwards. An event that fits no segment is of another snapshot, and changes nothing. */
static void cut_segment(struct memory_layout *layout, const struct snapshot_event *event)
{
    uint64_t begin = event->address;
    uint64_t end = begin + (uint64_t)event->size_bytes;

    for (uint32_t i = 0; i < layout->count; i++) {
        struct laid_segment *segment = &layout->segments[i];
        uint64_t segment_end = segment->address + (uint64_t)segment->total_bytes;
        struct laid_segment behind = *segment;

        if (begin < segment->address || end > segment_end || end < begin)
            continue;
        segment->total_bytes = (int64_t)(begin - segment->address);
        behind.address = end;
        behind.total_bytes = (int64_t)(segment_end - end);
        if (behind.total_bytes > 0)
            layout->segments[layout->count++] = behind;
        if (layout->segments[i].total_bytes == 0)
            layout->segments[i] = layout->segments[--layout->count];
        return;
    }
}

/* Undoes the events after `moment`, the last one first. Backwards an allocation of a segment
 * removes it, a release brings it back. */
static void undo_events(struct memory_layout *layout, const struct snapshot_replay *replay,
                        uint32_t moment)
{
    for (uint32_t i = replay->event_count; i > moment; i--) {
        const struct snapshot_event *event = &replay->events[i - 1];

        if (event->size_bytes == 0)
            continue;
        if (event->action == SNAPSHOT_SEGMENT_ALLOC || event->action == SNAPSHOT_SEGMENT_MAP)
            cut_segment(layout, event);
        else if (event->action == SNAPSHOT_SEGMENT_FREE || event->action == SNAPSHOT_SEGMENT_UNMAP)
            add_segment(layout, event);
    }
}

/* Stretches of expandable segments that touch each other are one. Needs them by address. */
static void join_intervals(struct memory_layout *layout)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < layout->count; i++) {
        struct laid_segment *last = count ? &layout->segments[count - 1] : NULL;
        const struct laid_segment *next = &layout->segments[i];

        if (last && last->is_expandable && next->is_expandable && last->stream == next->stream &&
            last->address + (uint64_t)last->total_bytes == next->address) {
            last->total_bytes += next->total_bytes;
            if (last->pool == SNAPSHOT_NONE)
                last->pool = next->pool;
        } else {
            layout->segments[count++] = *next;
        }
    }
    layout->count = count;
}

static int life_by_address(const void *a, const void *b)
{
    const struct memory_life *one = *(const struct memory_life *const *)a;
    const struct memory_life *other = *(const struct memory_life *const *)b;

    return (one->address > other->address) - (one->address < other->address);
}

/* Those that live at the moment, by address; free() it. */
static const struct memory_life **sort_lives(const struct snapshot_replay *replay, uint32_t moment,
                                             uint32_t *count)
{
    const struct memory_life **lives =
        require_memory(calloc((size_t)replay->life_count + 1, sizeof(void *)));

    *count = 0;
    for (uint32_t i = 0; i < replay->life_count; i++)
        if (is_alive(&replay->lives[i], moment))
            lives[(*count)++] = &replay->lives[i];
    qsort(lives, *count, sizeof *lives, life_by_address);
    return lives;
}

/* Puts the lives that lie in the segment into it; returns the first one behind it. Lives and
 * segments are both by address: one walk. Sizes are rounded as the allocator does, so that what
 * is left between them is really free. */
static uint32_t fill_segment(struct laid_segment *segment, const struct memory_life **lives,
                             uint32_t count, uint32_t next, uint32_t moment)
{
    uint64_t end = segment->address + (uint64_t)segment->total_bytes;
    uint64_t free_from = segment->address;

    while (next < count && lives[next]->address < segment->address)
        next++;
    for (; next < count && lives[next]->address < end; next++) {
        const struct memory_life *life = lives[next];
        int64_t rounded = (life->bytes + BLOCK_ROUNDING - 1) / BLOCK_ROUNDING * BLOCK_ROUNDING;
        int64_t gap = (int64_t)(life->address - free_from);

        if (life->address < free_from)
            continue; /* two at one place: one of them is a mistake of the file */
        if ((uint64_t)rounded > end - life->address)
            rounded = (int64_t)(end - life->address);
        if (gap > segment->largest_free_bytes)
            segment->largest_free_bytes = gap;
        segment->blocks++;
        segment->used_bytes += rounded;
        if (life->pending <= moment)
            segment->pending_bytes += rounded;
        else
            segment->requested_bytes += life->bytes;
        free_from = life->address + (uint64_t)rounded;
    }
    if ((int64_t)(end - free_from) > segment->largest_free_bytes)
        segment->largest_free_bytes = (int64_t)(end - free_from);
    return next;
}

static uint32_t count_segment_events(const struct snapshot_replay *replay, uint32_t moment)
{
    uint32_t count = 0;

    for (uint32_t i = moment; i < replay->event_count; i++)
        count += replay->events[i].action >= SNAPSHOT_SEGMENT_ALLOC &&
                 replay->events[i].action <= SNAPSHOT_SEGMENT_UNMAP;
    return count;
}

/* From the end backwards, as only the end's segments are known whole: the history is a ring
 * that begins somewhere. */
bool lay_out_moment(struct memory_layout *layout, const struct snapshot_replay *replay,
                    uint32_t moment)
{
    uint64_t changes = count_segment_events(replay, moment);
    const struct memory_life **lives;
    uint32_t count;
    uint32_t next = 0;

    if (changes * (replay->snapshot->segment_count + changes) > STEPS_MAX)
        return false;
    collect_segments(layout, replay, (size_t)changes);
    undo_events(layout, replay, moment);
    qsort(layout->segments, layout->count, sizeof *layout->segments, by_address);
    join_intervals(layout);
    lives = sort_lives(replay, moment, &count);
    for (uint32_t i = 0; i < layout->count; i++)
        next = fill_segment(&layout->segments[i], lives, count, next, moment);
    free(lives);
    snapshot_layout_add_up(layout);
    return true;
}

void memory_layout_clear(struct memory_layout *layout)
{
    if (!layout)
        return;
    free(layout->segments);
    *layout = (struct memory_layout){0};
}
