/* The timeline of a trace, for reports that can draw one. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_MAKE_TIMELINE_H
#define FLOPLEDGER_SECTIONS_TIMELINE_MAKE_TIMELINE_H

#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/analysis.h"

#include <stddef.h>
#include <stdint.h>

/* Of no more than about `block_budget` blocks. The step nearest the median is shown in every event
 * first, then those that advice in `rank` names, then outliers, then the others as far as the
 * budget goes. Lives as long as the results. NULL where nothing happened in the trace. */
struct timeline *make_timeline(struct results *results, const struct analysis_input *input,
                               const struct rank_results *rank, int64_t block_budget);

#endif
