/* The parts of a timeline, from what lies in which lane to the blocks that a page can hold. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_PARTS_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_PARTS_H

#include "cost/modules/module_costs.h"
#include "ledger/account_pieces.h"
#include "ledger/host_activity.h"
#include "ledger/step_finder.h"
#include "ledger/step_ledger.h"
#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/analysis.h"
#include "sections/memory/memory_sections.h"
#include "trace/trace.h"

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

/* The lanes of a timeline and what lies in them: accounts, streams, modules, threads. */

/* A lane and where its pieces come from. */
struct lane_source {
    enum timeline_lane_kind kind;
    uint32_t track; /* NO_EVENT: the ledger */
    uint32_t row_count;
    int64_t hidden_count;
};

struct timeline_lanes {
    const struct trace *trace;
    const struct ledger *ledger;
    const struct module_costs *costs;
    struct lane_source *lanes; /* [count], in the order they are drawn */
    size_t count;
    uint32_t *lane_of_track; /* [track_count]: of a stream, or of a thread's operators; NO_EVENT */
    uint8_t *depths;         /* [host_count]: events of the same kind of lane around it */
    uint8_t *device_rows;    /* [device_count] */
    const struct account_pieces *accounts; /* the ledger's, or its own */
    struct account_pieces own_accounts;
    struct host_activity activity;
    int64_t left_out_tracks;
    int64_t left_out_events;
};

/* The three are set, the rest is zeroed. */
void timeline_lanes_find(struct timeline_lanes *lanes);

/* Gives the pieces of all lanes to `sink`: lane by lane, those of a row by their starts. */
void timeline_lanes_walk(struct timeline_lanes *lanes, const struct piece_sink *sink);

/* About how many pieces the first row of the lane holds at most. */
size_t timeline_lane_pieces(const struct timeline_lanes *lanes, uint32_t index);

/* "stream 7 of device 0", "thread 1234" */
const char *timeline_lane_title(struct results *results, const struct timeline_lanes *lanes,
                                const struct lane_source *lane);

void timeline_lanes_clear(struct timeline_lanes *lanes);

/* All classes that a piece may have, [*count]. */
const struct timeline_class *timeline_classes(struct results *results, size_t *count);

/* ---- how much of a trace a timeline can hold ----
 * Which stretches in every event, and below which duration the events of the others are merged. */

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

/* Adds the links of the path in the typical one of the steps that it was followed through, short
 * ones of one lane merged where there are many. `lane_of_track`: NO_EVENT where a track is not
 * drawn. Adds nothing where the trace has no path. */
void timeline_add_path(struct results *results, struct timeline *timeline,
                       const struct analysis_input *input, const uint32_t *lane_of_track);

/* ---- the series of a timeline: numbers over time, thinned out so that peaks stay ---- */

/* Points that are kept of one series, at most (and one more at either end). */
enum { SERIES_POINTS_MAX = 2000 };

/* Takes the moments of one series in order of time; a moment lasts until the next. */
struct series_thinner {
    struct timeline_series *series; /* with its lines; times_ns and values have room */
    int64_t start_ns;               /* on the clock of the moments */
    int64_t end_ns;
    int64_t bucket; /* of the point that is open; -1: none is */
    double most;    /* sum of its values */
};

/* A new series of `timeline`, with room for its points. The texts must live as long as the results.
 */
struct timeline_series *timeline_add_series(struct results *results, struct timeline *timeline,
                                            const struct timeline_series *description);

/* Of all moments of a stretch of time the one with the largest sum stays. */
void series_thinner_take(struct series_thinner *thinner, int64_t time_ns, const double *values);

/* The counters of devices in the trace, and its page faults. `start_ns`: of the timeline. */
void timeline_add_counters(struct results *results, struct timeline *timeline,
                           const struct trace *trace, int64_t start_ns);

/* ---- the memory of a recorded run over time, by kind: a series of a timeline ---- */

/* What is alive on the device of the view, by kind, and what its allocator reserved where that is
 * known. */
void timeline_add_memory(struct results *results, struct timeline *timeline,
                         const struct memory_view *view);

/* A timeline of the memory alone: its steps, the phases of training and what is alive. NULL where
 * nothing was allocated while it was recorded. */
struct timeline *make_memory_timeline(struct results *results, const struct memory_view *view);

/* ---- the timeline of a trace, for reports that can draw one ---- */

/* Of no more than about `block_budget` blocks. The step nearest the median is shown in every event
 * first, then those that advice in `rank` names, then outliers, then the others as far as the
 * budget goes. Lives as long as the results. NULL where nothing happened in the trace. */
struct timeline *make_timeline(struct results *results, const struct analysis_input *input,
                               const struct rank_results *rank, int64_t block_budget);

#endif
