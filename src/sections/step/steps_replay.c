/* The replays that several analyses ask for, of one graph. */
#include "sections/step/steps_replay.h"

#include "base/core/large_array.h"

#include <inttypes.h>

/* A trace of the host alone has no device whose work could be replayed. */
bool can_replay_steps(const struct ledger *ledger)
{
    return !ledger->is_cpu_only && ledger->step_count > 0;
}

/* What is recomputed is found once here: the model needs it only while it is built. */
void replay_steps(struct replay_model *simulation, const struct trace *trace,
                  const struct ledger *ledger, const struct module_costs *costs)
{
    uint8_t *is_recomputed = find_recomputed(&costs->contexts, trace);

    replay_model_begin(
        simulation,
        &(struct recorded_steps){.trace = trace, .ledger = ledger, .is_recomputed = is_recomputed});
    large_array_free(is_recomputed);
}

/* Who can do without asks late, or not at all: the replay is the longest of what is made of a
 * trace, and most rules of the advice are asked while it is on its way. */
const struct replay_model *replay_of(const struct analysis_input *input)
{
    if (input->replaying)
        side_work_end(input->replaying);
    return input->simulation;
}

/* The graph of a long recording may need more memory than the trace itself; then steps around
 * the typical one stand for all, and every number from the replay says so. */
const char *replayed_steps_text(struct results *results, const struct replay_model *simulation)
{
    const struct ledger *part = &simulation->part.ledger;

    if (simulation->part.is_all)
        return NULL;
    return results_format(results,
                          "%" PRId64 " to %" PRId64 ", around the typical one of %" PRIu32
                          ": more would need more memory than the trace",
                          part->steps[0].window.number,
                          part->steps[part->step_count - 1].window.number,
                          simulation->ledger->step_count);
}

/* Whoever asked for a replay (--what-if) is warned; a section that would only have liked one
 * leaves a note. */
void tell_of_refused_replay(struct results *results, struct section *section,
                            const struct replay_model *simulation,
                            const struct refused_words *words)
{
    bool is_circular = simulation->graph.is_circular;

    if (simulation->part.is_too_large) {
        (words->is_warning ? section_add_warning : section_add_note)(
            results, section, results_format(results, "%s: the window is too long", words->what),
            "its graph would need more memory than the trace",
            "mark the steps, or choose some of them: --steps 10-20");
        return;
    }
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
        "record whole steps, host and device, so that each kernel has its launch");
}
