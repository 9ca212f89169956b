/* The sentence above a report: what the device did of use, and what cost most. */
#ifndef FLOPLEDGER_SECTIONS_STEP_HEADLINE_H
#define FLOPLEDGER_SECTIONS_STEP_HEADLINE_H

#include "sections/analysis.h"

/* `most_expensive`: the advice with the highest price, which the sentence then names; NULL where
 * there is none: it names the largest loss of the ledger. Lives as long as the results; NULL for a
 * trace without steps. */
const char *headline_of(struct results *results, const struct analysis_input *input,
                        const struct finding *most_expensive);

/* "other compute: 39.4 % (4.667 s per window)": the largest part of what is neither useful
 * matrix work nor priced by a rule; NULL where it is nothing, or less than `least` of the time. */
const char *largest_part_text(struct results *results, const struct analysis_input *input,
                              double least);

#endif
