/* What grows over the trace of a snapshot: the least that each place of the program held in each
 * part of it. What rises from part to part was not given back: a leak, or the first step of
 * something that stays. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_GROWTH_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_GROWTH_H

#include "memory/snapshot_places.h"
#include "memory/snapshot_replay.h"

#include <stdbool.h>
#include <stdint.h>

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
