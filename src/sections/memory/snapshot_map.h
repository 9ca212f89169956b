/* A map of the memory that an allocator has reserved, for reports that can draw it: what lies where
 * in each segment when the snapshot was taken, and what is free between it. */
#ifndef FLOPLEDGER_SECTIONS_MEMORY_SNAPSHOT_MAP_H
#define FLOPLEDGER_SECTIONS_MEMORY_SNAPSHOT_MAP_H

#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/memory/snapshot_sections.h"

/* NULL where the device has no segment. Lives as long as the results. */
struct timeline *make_snapshot_map(struct results *results, const struct snapshot_view *view);

#endif
