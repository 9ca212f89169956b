/* What memory grows over the trace of a snapshot, and what changed from one snapshot to another.
 *
 * Growth is the least that each place of the program held in each part of the trace. What rises
 * from part to part was not given back: a leak, or the first step of something that stays. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_GROWTH_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_GROWTH_H

#include "base/core/string_pool.h"
#include "memory/snapshot_places.h"
#include "memory/snapshot_replay.h"

#include <stdbool.h>
#include <stdint.h>

struct changed_share {
    int64_t before_bytes;
    int64_t after_bytes;
    int64_t before_blocks;
    int64_t after_blocks;
    uint32_t name; /* in names */
};

/* Zeroed is empty. Things are the same where they have the same name. */
struct memory_change {
    struct string_pool names;
    struct changed_share *shares; /* [count] */
    uint32_t count;
    uint32_t capacity;
};

enum change_side { CHANGE_BEFORE, CHANGE_AFTER };

/* Adds what `name` holds on one side. */
void memory_change_add(struct memory_change *change, enum change_side side, const char *name,
                       int64_t bytes, int64_t blocks);

/* The largest changes first, whether more or less; equal ones by name. Nothing can be added after
 * it.
 */
void memory_change_sort(struct memory_change *change);

void memory_change_clear(struct memory_change *change);

enum { GROWTH_PARTS = 4 };

struct place_growth {
    uint32_t place;
    int64_t least_bytes[GROWTH_PARTS]; /* in each quarter of the trace's time */
    bool is_steady;                    /* more in each part than in the one before */
};

struct memory_growth {
    struct place_growth *places; /* [count], those that grow, the most first */
    uint32_t count;
    uint32_t part_ends[GROWTH_PARTS]; /* the first moment behind each part */
};

/* `growth` must be zeroed. Without events nothing grows. */
void measure_growth(struct memory_growth *growth, const struct snapshot_replay *replay,
                    const struct snapshot_places *places);

static inline int64_t growth_bytes(const struct place_growth *growth)
{
    return growth->least_bytes[GROWTH_PARTS - 1] - growth->least_bytes[0];
}

/* The first moment at or after a time from the start of the trace; event_count + 1: none. */
uint32_t moment_at(const struct snapshot_replay *replay, int64_t time_ns);

void memory_growth_clear(struct memory_growth *growth);

#endif
