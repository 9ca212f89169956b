/* The replays that several analyses ask for, of one graph. */
#ifndef FLOPLEDGER_ANALYSES_STEPS_STUDY_H
#define FLOPLEDGER_ANALYSES_STEPS_STUDY_H

#include "analyses/analysis.h"
#include "base/attributes.h"
#include "replay/replay_study.h"

/* For input->study. `study` must be zeroed. False where there is nothing to replay: no step, or
 * nothing ran on a device. */
MUST_USE bool study_steps(struct replay_study *study, const struct analysis_input *input);

/* Says why a refused replay tells nothing. `what`: what there is none of, "no estimate". */
void warn_of_refused_replay(struct results *results, struct section *section,
                            const struct replay_study *study, const char *what);

#endif
