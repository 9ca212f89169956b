/* The replays that several analyses ask for, of one graph. */
#ifndef FLOPLEDGER_ANALYSES_STEPS_STUDY_H
#define FLOPLEDGER_ANALYSES_STEPS_STUDY_H

#include "analyses/analysis.h"
#include "base/attributes.h"
#include "replay/replay_study.h"

/* For input->study. `study` must be zeroed. False where there is nothing to replay: no step, or
 * nothing ran on a device. */
MUST_USE bool study_steps(struct replay_study *study, const struct analysis_input *input);

#endif
