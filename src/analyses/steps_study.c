/* The replays that several analyses ask for, of one graph. */
#include "analyses/steps_study.h"

#include <stdlib.h>

bool study_steps(struct replay_study *study, const struct analysis_input *input)
{
    uint8_t *is_recomputed;

    if (input->ledger->is_cpu_only || input->ledger->step_count == 0)
        return false;
    is_recomputed = find_recomputed(&input->costs->contexts, input->trace);
    replay_study_begin(study, &(struct recorded_steps){.trace = input->trace,
                                                       .ledger = input->ledger,
                                                       .is_recomputed = is_recomputed});
    free(is_recomputed);
    return true;
}
