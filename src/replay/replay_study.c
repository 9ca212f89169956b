/* What changes would bring, told by replays. */
#include "replay/replay_study.h"

#include "ledger/step_finder.h"

#include <math.h>

void replay_study_begin(struct replay_study *study, const struct recorded_steps *steps)
{
    double recorded_ns;

    trace_graph_build(&study->graph, steps);
    recorded_ns = (double)study->graph.recorded_ns;
    study->is_refused = study->graph.is_circular || recorded_ns <= 0;
    if (study->is_refused)
        return;
    study->unchanged = trace_graph_replay(&study->graph, NULL);
    study->length_error = fabs((double)study->unchanged.length_ns - recorded_ns) / recorded_ns;
    study->start_error =
        (double)study->unchanged.start_error_ns * (double)steps->ledger->step_count / recorded_ns;
    study->is_refused =
        study->length_error > REPLAY_ERROR_MAX || study->start_error > REPLAY_ERROR_MAX;
}

bool replay_study_try(const struct replay_study *study, const struct scenario *scenario,
                      struct replay_estimate *estimate)
{
    const struct ledger *ledger = study->graph.ledger;
    double share;

    if (study->is_refused)
        return false;
    share = (double)trace_graph_replay(&study->graph, scenario).length_ns /
            (double)study->unchanged.length_ns;
    estimate->step_ns =
        llround((double)ledger_total_ns(ledger) / (double)ledger->step_count * share);
    estimate->speedup = share > 0 ? 1 / share : 0;
    return true;
}

void replay_study_clear(struct replay_study *study)
{
    trace_graph_clear(&study->graph);
    *study = (struct replay_study){.is_refused = true};
}
