/* What the memory of a recorded run says: its peak and what it consists of, by kind, module, step
 * and time. */
#ifndef FLOPLEDGER_SECTIONS_MEMORY_MEMORY_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MEMORY_MEMORY_SECTIONS_H

#include "base/core/hash_map.h"
#include "memory/memory_run.h"
#include "memory/memory_what_if.h"
#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/memory/snapshot_sections.h"

#include <stdint.h>

/* What the user wants to see. */
struct memory_view {
    const struct memory_run *run;
    int32_t device; /* HOST_MEMORY, or a device's number */
    uint32_t top;   /* rows of the tables that --top cuts; UINT32_MAX: all */
    uint32_t depth; /* of modules; 0 is the model itself */
};

/* Adds all sections to `rank`. */
void describe_memory(struct results *results, struct rank_results *rank,
                     const struct memory_view *view);

/* One section each, used by describe_memory. */
struct section *describe_memory_peak(struct results *results, const struct memory_view *view);
struct section *describe_memory_modules(struct results *results, const struct memory_view *view);
struct section *describe_memory_blocks(struct results *results, const struct memory_view *view);
struct section *describe_memory_growth(struct results *results, const struct memory_view *view);

/* What the user wants to fit. */
struct memory_fit_view {
    struct memory_view memory;
    int64_t budget_bytes; /* 0: none given */
    int64_t samples;      /* of a recorded micro-batch; -1: not known */
    int64_t length;       /* tokens of a sample; -1: not known */
    struct what_if_options options;
};

struct section *describe_memory_fit(struct results *results, const struct memory_fit_view *view);

/* Of the view's device, -1 where the recording does not tell: what its allocator reserved at most,
 * and what other than torch held of it at most. */
int64_t memory_most_reserved(const struct memory_view *view);
int64_t memory_most_outside_torch(const struct memory_view *view);

/* Adds a table of what is alive at the peak, by module, kind and phase; in memory_composition.c. */
void add_memory_composition(struct results *results, struct section *section,
                            const struct memory_view *view);

/* The peak of the whole recording on the device of the view. */
struct memory_peak memory_view_peak(const struct memory_view *view);

/* The step that change number `change` belongs to: the one it happens in, else the one before it;
 * NO_EVENT where there is none. Index in run->steps. */
uint32_t memory_step_of(const struct memory_run *run, uint32_t change);

/* "outside of modules" for an empty name. */
const char *memory_module_label(const char *name);

/* A snapshot's memory, for reports that can draw it: over time, what is live by line of code, what
 * is reserved, the largest allocations and the annotations they were made in; and as a map of what
 * lies where in each segment when the snapshot was taken. */

/* NULL where the device has no segment. Lives as long as the results. */
struct timeline *make_snapshot_map(struct results *results, const struct snapshot_view *view);

/* NULL where the snapshot's events have no times. Lives as long as the results. */
struct timeline *make_snapshot_timeline(struct results *results, const struct snapshot_view *view);

/* ---- what timelines of snapshots share ---- */

/* Classes of places: the ones that hold most at a moment have one each, all others the last. */
struct place_classes {
    struct timeline_class *classes; /* [count] */
    uint32_t count;
    uint32_t *class_of_place; /* [places->count] */
};

struct place_classes classes_of_places(struct results *results, const struct snapshot_view *view,
                                       uint32_t moment);

#endif
