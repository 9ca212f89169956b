/* What changes would bring, told by replays. */
#include "replay/replay_study.h"

#include "ledger/step_finder.h"
#include "replay/loader_cost.h"

#include <math.h>

void replay_study_begin(struct replay_study *study, const struct recorded_steps *steps)
{
    struct recorded_steps part = *steps;
    double recorded_ns;

    study->ledger = steps->ledger;
    study->part = choose_replayed_part(steps->trace, steps->ledger,
                                       steps->work_max > 0 ? steps->work_max : REPLAYED_WORK_MAX);
    study->graph.trace = steps->trace;
    study->is_refused = study->part.is_too_large;
    if (study->is_refused)
        return;
    part.ledger = &study->part.ledger;
    trace_graph_build(&study->graph, &part);
    recorded_ns = (double)study->graph.recorded_ns;
    study->is_refused = study->graph.is_circular || recorded_ns <= 0;
    if (study->is_refused)
        return;
    study->unchanged =
        trace_graph_replay(&study->graph, &(struct replay_terms){.host_slowdown = 1});
    study->length_error = fabs((double)study->unchanged.length_ns - recorded_ns) / recorded_ns;
    study->start_error =
        (double)study->unchanged.start_error_ns * (double)part.ledger->step_count / recorded_ns;
    study->is_refused =
        study->length_error > REPLAY_ERROR_MAX || study->start_error > REPLAY_ERROR_MAX;
}

/* What is left of the length, where the loader's work shares the launching core so much. */
static double share_left(const struct replay_study *study, const struct scenario *scenario,
                         double core_share)
{
    struct replay_terms terms = {.scenario = scenario,
                                 .host_slowdown =
                                     loader_slowdown(&study->graph, scenario, core_share)};

    return (double)trace_graph_replay(&study->graph, &terms).length_ns /
           (double)study->unchanged.length_ns;
}

static double speedup_of(double share)
{
    return share > 0 ? 1 / share : 0;
}

bool replay_study_try(const struct replay_study *study, const struct scenario *scenario,
                      struct replay_estimate *estimate)
{
    const struct ledger *ledger = study->ledger;
    double share;

    if (study->is_refused || scenario_has_target(scenario, TARGET_WAITING))
        return false;
    share = share_left(study, scenario, CORE_SHARE_MOST);
    estimate->step_ns =
        llround((double)ledger_total_ns(ledger) / (double)ledger->step_count * share);
    estimate->speedup = estimate->least_speedup = estimate->most_speedup = speedup_of(share);
    estimate->is_range = loader_moves(&study->graph, scenario);
    if (estimate->is_range)
        estimate->most_speedup = speedup_of(share_left(study, scenario, CORE_SHARE_LEAST));
    return true;
}

void replay_study_clear(struct replay_study *study)
{
    trace_graph_clear(&study->graph);
    *study = (struct replay_study){.is_refused = true};
}
