/* The replays that several analyses ask for, of one graph. */
#ifndef FLOPLEDGER_SECTIONS_STEP_STEPS_REPLAY_H
#define FLOPLEDGER_SECTIONS_STEP_STEPS_REPLAY_H

#include "replay/replay_model.h"
#include "sections/analysis.h"

/* False where there is nothing to replay: no step, or nothing ran on a device. */
bool can_replay_steps(const struct ledger *ledger);

/* For analysis_input.simulation: `costs` are of the trace's ops. `simulation` must be zeroed. */
void replay_steps(struct replay_model *simulation, const struct trace *trace,
                  const struct ledger *ledger, const struct module_costs *costs);

/* That of the input, once it is made; NULL: there is none. */
const struct replay_model *replay_of(const struct analysis_input *input);

/* NULL where all steps are replayed, else which are. */
const char *replayed_steps_text(struct results *results, const struct replay_model *simulation);

struct refused_words {
    const char *what; /* what there is none of: "no estimate" */
    bool is_warning;  /* the user asked for it */
};

/* Says why a refused replay tells nothing. */
void tell_of_refused_replay(struct results *results, struct section *section,
                            const struct replay_model *simulation,
                            const struct refused_words *words);

#endif
