/* What a trace lacks and what is damaged in it, as findings. */
#ifndef FLOPLEDGER_ANALYSES_RUN_WARNINGS_H
#define FLOPLEDGER_ANALYSES_RUN_WARNINGS_H

#include "analyses/analysis.h"

/* What is damaged or odd in the file: warnings. */
void add_damage_findings(struct results *results, struct section *section,
                         const struct analysis_input *input);

/* What was not recorded, and how to record it next time. */
void add_missing_findings(struct results *results, struct section *section,
                          const struct analysis_input *input);

#endif
