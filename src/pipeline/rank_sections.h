/* Every analysis of every trace: what the commands do that show or export all results. */
#ifndef FLOPLEDGER_PIPELINE_RANK_SECTIONS_H
#define FLOPLEDGER_PIPELINE_RANK_SECTIONS_H

#include "output/results/results.h"
#include "pipeline/analyzed_rank.h"
#include "sections/analysis.h"

#include <stdbool.h>

/* What is done with each trace. */
struct analysis_plan {
    struct attribution_options attribution;
    struct analysis_options analysis;
    bool with_memory; /* sections on its memory, too, where it was read with keeps_memory and has
                         memory events; what goes wrong there becomes a problem of the results */
};

/* Adds a rank to `results` with all that is known of it; `analyzed` is the trace, analyzed. */
void add_rank_sections(struct results *results, const struct trace *trace,
                       struct analyzed_rank *analyzed, const struct analysis_plan *plan);

#endif
