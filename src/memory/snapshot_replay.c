/* What a device's allocator held at each moment of a snapshot's trace. */
#include "memory/snapshot_replay.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"

#include <stdlib.h>

/* The lives while they are found. */
struct replaying {
    struct snapshot_replay *replay;
    struct hash_map last_life; /* of each address: the last one that began there */
};

static uint32_t add_life(struct replaying *replaying, const struct memory_life *life)
{
    struct snapshot_replay *replay = replaying->replay;

    ARRAY_ADD(replay->lives, replay->life_count, *life);
    return replay->life_count - 1;
}

/* The one that lives at the address now; NULL where none does. */
static struct memory_life *living_at(const struct replaying *replaying, uint64_t address)
{
    uint32_t id = hash_map_find(&replaying->last_life, address);
    struct memory_life *life = id == NO_VALUE ? NULL : &replaying->replay->lives[id];

    return life && life->died == LIFE_NEVER ? life : NULL;
}

/* An address in use that is allocated again: the release is not in the ring. Counted, as it
 * makes the sums doubtful. */
static void begin_life(struct replaying *replaying, const struct snapshot_event *event,
                       uint32_t moment)
{
    struct memory_life *before = living_at(replaying, event->address);
    struct memory_life life = {.address = event->address,
                               .bytes = event->size_bytes,
                               .stream = event->stream,
                               .born = moment,
                               .pending = LIFE_NEVER,
                               .died = LIFE_NEVER,
                               .stack = event->stack,
                               .tag = event->tag};

    if (before) {
        before->died = moment;
        replaying->replay->reused_addresses++;
    }
    (void)hash_map_set(&replaying->last_life, event->address, add_life(replaying, &life));
}

/* A block of which the trace saw only the end. */
static struct memory_life *add_unseen(struct replaying *replaying,
                                      const struct snapshot_event *event)
{
    struct memory_life life = {.address = event->address,
                               .bytes = event->size_bytes,
                               .stream = event->stream,
                               .pending = LIFE_NEVER,
                               .died = LIFE_NEVER,
                               .stack = SNAPSHOT_NONE};
    uint32_t id = add_life(replaying, &life);

    (void)hash_map_set(&replaying->last_life, event->address, id);
    replaying->replay->unseen_bytes += event->size_bytes;
    return &replaying->replay->lives[id];
}

/* The allocator's history is a ring: what was allocated before its first entry is seen only when
 * it is freed, or as a block of the snapshot. Both begin lives at moment 0, so that the sum at
 * each moment is of all that lived then, and not only of what the ring saw begin. */
static void end_life(struct replaying *replaying, const struct snapshot_event *event,
                     uint32_t moment)
{
    struct memory_life *life = living_at(replaying, event->address);

    if (!life)
        life = add_unseen(replaying, event);
    if (life->bytes != event->size_bytes)
        replaying->replay->changed_sizes++;
    if (event->action == SNAPSHOT_FREE_REQUESTED)
        life->pending = moment;
    else
        life->died = moment;
}

/* Moment i is after i events, so moment 0 is before the first. */
static void walk_events(struct replaying *replaying)
{
    const struct snapshot_replay *replay = replaying->replay;

    for (uint32_t i = 0; i < replay->event_count; i++) {
        const struct snapshot_event *event = &replay->events[i];

        if (event->action == SNAPSHOT_ALLOC)
            begin_life(replaying, event, i + 1);
        else if (event->action == SNAPSHOT_FREE_REQUESTED ||
                 event->action == SNAPSHOT_FREE_COMPLETED)
            end_life(replaying, event, i + 1);
    }
}

/* A block of the snapshot: the life that it is, or one from before the trace. */
static void meet_block(struct replaying *replaying, const struct snapshot_segment *segment,
                       const struct snapshot_block *block, bool *is_met)
{
    uint32_t id = hash_map_find(&replaying->last_life, block->address);
    struct snapshot_replay *replay = replaying->replay;
    struct memory_life before = {
        .address = block->address,
        .bytes = block->requested_bytes,
        .stream = segment->stream,
        .pending = block->state == SNAPSHOT_PENDING ? 0 : LIFE_NEVER,
        .died = LIFE_NEVER,
        .stack = block->stack,
        .tag = block->tag,
    };

    /* No event tells of it: it was there before the history begins. */
    if (id == NO_VALUE || replay->lives[id].died != LIFE_NEVER) {
        (void)add_life(replaying, &before);
        return;
    }
    if (replay->snapshot->has_requested_sizes && replay->lives[id].bytes != before.bytes)
        replay->changed_sizes++;
    /* The snapshot may know the stack of a block whose event has none. */
    if (replay->lives[id].stack == SNAPSHOT_NONE)
        replay->lives[id].stack = block->stack;
    is_met[id] = true;
}

/* Joins the snapshot's blocks to what the trace left alive.
 *
 * The snapshot at the end is the truth that the replay is held to: what the events leave alive
 * must be a block there, of the same size. What is not, is counted (vanished, changed sizes) and
 * told, never dropped in silence. */
static void meet_blocks(struct replaying *replaying)
{
    struct snapshot_replay *replay = replaying->replay;
    const struct memory_snapshot *snapshot = replay->snapshot;
    uint32_t of_trace = replay->life_count;
    bool *is_met = require_memory(calloc((size_t)of_trace + 1, sizeof *is_met));

    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct snapshot_segment *segment = &snapshot->segments[i];

        if (segment->device != (int64_t)replay->device)
            continue;
        for (uint32_t j = 0; j < segment->block_count; j++) {
            const struct snapshot_block *block = &snapshot->blocks[segment->first_block + j];

            if (block->state != SNAPSHOT_INACTIVE)
                meet_block(replaying, segment, block, is_met);
        }
    }
    for (uint32_t i = 0; i < of_trace; i++)
        if (replay->lives[i].died == LIFE_NEVER && !is_met[i]) {
            replay->vanished_lives++;
            replay->vanished_bytes += replay->lives[i].bytes;
        }
    free(is_met);
}

/* Live bytes at each moment, from where the lives begin and end. Differences, then a running
 * sum: O(lives + events). The first of equal peaks. */
static void sum_lives(struct snapshot_replay *replay)
{
    int64_t *live = replay->live_bytes;

    for (uint32_t i = 0; i < replay->life_count; i++) {
        live[replay->lives[i].born] += replay->lives[i].bytes;
        if (replay->lives[i].died != LIFE_NEVER)
            live[replay->lives[i].died] -= replay->lives[i].bytes;
    }
    for (uint32_t moment = 1; moment <= replay->event_count; moment++) {
        live[moment] += live[moment - 1];
        if (live[moment] > live[replay->peak_moment])
            replay->peak_moment = moment;
    }
    replay->base_bytes = live[0];
}

/* Mapping and unmapping count like segments: an expandable segment grows and shrinks by them. */
static int64_t reserved_change(const struct snapshot_event *event)
{
    if (event->action == SNAPSHOT_SEGMENT_ALLOC || event->action == SNAPSHOT_SEGMENT_MAP)
        return event->size_bytes;
    if (event->action == SNAPSHOT_SEGMENT_FREE || event->action == SNAPSHOT_SEGMENT_UNMAP)
        return -event->size_bytes;
    return 0;
}

/* Reserved bytes at each moment, from the segments that stand in the snapshot backwards.
 * Backwards from the end. Reserved below live at a moment cannot be: it is counted, and the
 * report doubts the file. */
static void sum_segments(struct snapshot_replay *replay)
{
    const struct memory_snapshot *snapshot = replay->snapshot;
    int64_t *reserved = replay->reserved_bytes;
    uint32_t last = replay->event_count;

    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (snapshot->segments[i].device == (int64_t)replay->device)
            reserved[last] += snapshot->segments[i].total_bytes;
    for (uint32_t i = last; i > 0; i--)
        reserved[i - 1] = reserved[i] - reserved_change(&replay->events[i - 1]);
    for (uint32_t i = 0; i <= last; i++) {
        replay->impossible_moments += reserved[i] < replay->live_bytes[i];
        if (reserved[i] > reserved[replay->reserved_peak_moment])
            replay->reserved_peak_moment = i;
    }
}

/* O(events): each address is looked up by a map. Live and reserved bytes of every moment are
 * kept, 16 bytes an event, as all questions behind are about moments. */
void replay_snapshot(struct snapshot_replay *replay, const struct memory_snapshot *snapshot,
                     uint32_t device)
{
    struct replaying replaying = {.replay = replay};
    size_t moments;

    replay->snapshot = snapshot;
    replay->device = device;
    if (device < snapshot->trace_count) {
        replay->events = snapshot->traces[device].events;
        replay->event_count = (uint32_t)snapshot->traces[device].count;
    }
    moments = (size_t)replay->event_count + 1;
    replay->live_bytes = require_memory(calloc(moments, sizeof *replay->live_bytes));
    replay->reserved_bytes = require_memory(calloc(moments, sizeof *replay->reserved_bytes));
    walk_events(&replaying);
    meet_blocks(&replaying);
    sum_lives(replay);
    sum_segments(replay);
    hash_map_clear(&replaying.last_life);
}

/* From the first event on: the snapshot's clock has no date. */
int64_t moment_time_ns(const struct snapshot_replay *replay, uint32_t moment)
{
    if (replay->event_count == 0 || moment == 0)
        return 0;
    return replay->events[moment - 1].time_ns - replay->events[0].time_ns;
}

int64_t pending_bytes_at(const struct snapshot_replay *replay, uint32_t moment)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < replay->life_count; i++)
        if (is_alive(&replay->lives[i], moment) && replay->lives[i].pending <= moment)
            bytes += replay->lives[i].bytes;
    return bytes;
}

void snapshot_replay_clear(struct snapshot_replay *replay)
{
    if (!replay)
        return;
    free(replay->lives);
    free(replay->live_bytes);
    free(replay->reserved_bytes);
    *replay = (struct snapshot_replay){0};
}
