/* The replays that several analyses ask for, of one graph. */
#include "analyses/steps_study.h"

#include "base/large_array.h"

bool study_steps(struct replay_study *study, const struct analysis_input *input)
{
    uint8_t *is_recomputed;

    if (input->ledger->is_cpu_only || input->ledger->step_count == 0)
        return false;
    is_recomputed = find_recomputed(&input->costs->contexts, input->trace);
    replay_study_begin(study, &(struct recorded_steps){.trace = input->trace,
                                                       .ledger = input->ledger,
                                                       .is_recomputed = is_recomputed});
    large_array_free(is_recomputed);
    return true;
}

void tell_of_refused_replay(struct results *results, struct section *section,
                            const struct replay_study *study, const struct refused_words *words)
{
    bool is_circular = study->graph.is_circular;

    (words->is_warning ? section_add_warning : section_add_note)(
        results, section,
        results_format(results, "%s: %s", words->what,
                       is_circular
                           ? "pieces of work seem to wait for each other in a circle"
                           : "the replay without a change is more than 2 % from the recording"),
        is_circular
            ? "the clocks of host and device do not fit together"
            : "work started later than its launch, its stream and the work of other streams "
              "explain",
        "record whole steps with CPU and CUDA activities, so that each kernel has its launch");
}
