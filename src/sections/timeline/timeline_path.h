/* The critical path on a timeline: where it runs in the typical step. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_PATH_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_PATH_H

#include "output/results/timeline.h"
#include "sections/analysis.h"

#include <stdint.h>

/* Adds the links of the path in the typical one of the steps that it was followed through, short
 * ones of one lane merged where there are many. `lane_of_track`: NO_EVENT where a track is not
 * drawn. Adds nothing where the trace has no path. */
void timeline_add_path(struct results *results, struct timeline *timeline,
                       const struct analysis_input *input, const uint32_t *lane_of_track);

#endif
