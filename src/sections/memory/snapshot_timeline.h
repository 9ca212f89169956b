/* A snapshot's memory, for reports that can draw it: over time, what is live by line of code, what
 * is reserved, the largest allocations and the annotations they were made in; and as a map of what
 * lies where in each segment when the snapshot was taken. */
#ifndef FLOPLEDGER_SECTIONS_MEMORY_SNAPSHOT_TIMELINE_H
#define FLOPLEDGER_SECTIONS_MEMORY_SNAPSHOT_TIMELINE_H

#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/memory/snapshot_sections.h"

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
