/* What a trace lacks and what is damaged in it, as findings. */
#ifndef FLOPLEDGER_SECTIONS_STEP_RUN_WARNINGS_H
#define FLOPLEDGER_SECTIONS_STEP_RUN_WARNINGS_H

#include "sections/analysis.h"

/* What is damaged or odd in the file: warnings. */
void add_damage_findings(struct results *results, struct section *section,
                         const struct analysis_input *input);

/* What was not recorded, and how to record it next time. */
void add_missing_findings(struct results *results, struct section *section,
                          const struct analysis_input *input);

#endif
