/* Runs every analysis of list.def on one trace. */
#ifndef FLOPLEDGER_SECTIONS_RUN_ANALYSES_H
#define FLOPLEDGER_SECTIONS_RUN_ANALYSES_H

#include "sections/analysis.h"

/* Adds a rank to `results` with one section for each analysis that has something to say. */
void run_analyses(struct results *results, const struct analysis_input *input);

/* NULL-terminated, in the order they run. */
const struct analysis *const *all_analyses(void);

#endif
