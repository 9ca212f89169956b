/* How much of a trace a timeline can hold: which stretches in every event, and below which duration
 * the events of the others are merged. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_PLAN_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_PLAN_H

#include "ledger/step_finder.h"
#include "output/results/timeline.h"

#include <stddef.h>
#include <stdint.h>

/* An event as it lies in a lane. */
struct timeline_piece {
    int64_t start_ns; /* on the trace's own clock */
    int64_t duration_ns;
    uint32_t name;   /* in trace.strings; 0: none */
    uint32_t module; /* in the module tree, or NO_MODULE */
    uint32_t class;  /* in the timeline's classes */
    uint32_t launch; /* index in trace->host, or NO_EVENT */
    uint32_t lane;
    uint32_t row;
};

/* Gets the pieces of each row in the order of their starts. */
struct piece_sink {
    void (*take)(void *context, const struct timeline_piece *piece);
    void *context;
};

enum { PLAN_SHIFTS = 25, PLAN_SHIFT_FIRST = 8, PLAN_SHIFT_STEP = 1, PLAN_BINS = 4096 };

/* Counts what a timeline would hold at each resolution. Zeroed but for ledger and start_ns,
 * end_ns. */
struct timeline_counts {
    struct step_finder finder;
    int64_t start_ns;
    int64_t end_ns;
    int64_t piece_count;
    int64_t longer[64];           /* pieces by the number of bits of their durations */
    int64_t buckets[PLAN_SHIFTS]; /* blocks that shorter pieces make, merged at 2^shift ns */
    int64_t *step_pieces;         /* [step_count] */
    int64_t bins[PLAN_BINS];      /* pieces by their start */
    int64_t (*last)[PLAN_SHIFTS]; /* [row_capacity]: the last bucket of each row */
    size_t row_capacity;
};

/* To be called for each piece; `row` counts all rows of all lanes. */
void timeline_counts_add(struct timeline_counts *counts, uint32_t row,
                         const struct timeline_piece *piece);
void timeline_counts_clear(struct timeline_counts *counts);

/* Regions that together hold no more than about `block_budget` blocks; [*region_count], from
 * start_ns to end_ns on the trace's own clock; free() them. `favourites`: indices of the steps to
 * show in full, the most wanted first. */
struct timeline_region *plan_timeline(const struct timeline_counts *counts, int64_t block_budget,
                                      const uint32_t *favourites, size_t favourite_count,
                                      size_t *region_count);

#endif
