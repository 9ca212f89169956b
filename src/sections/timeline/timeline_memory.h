/* The memory of a recorded run over time, by kind: a series of a timeline. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_MEMORY_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_MEMORY_H

#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/memory/memory_sections.h"

/* What is alive on the device of the view, by kind, and what its allocator reserved where that is
 * known. */
void timeline_add_memory(struct results *results, struct timeline *timeline,
                         const struct memory_view *view);

/* A timeline of the memory alone: its steps, the phases of training and what is alive. NULL where
 * nothing was allocated while it was recorded. */
struct timeline *make_memory_timeline(struct results *results, const struct memory_view *view);

#endif
