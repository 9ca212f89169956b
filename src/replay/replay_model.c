/* What changes would bring, told by replays. */
#include "replay/replay_model.h"

#include "ledger/step_finder.h"
#include "ledger/step_outliers.h"
#include "replay/loader_cost.h"

#include <math.h>
#include <stdlib.h>

/* ---- parts that are replayed ----------------------------------------------------------------- */

/* Which steps of a long recording are replayed: its graph would need more memory than the trace. */

static uint32_t work_in_steps(const struct trace *trace, const struct ledger *ledger)
{
    struct step_finder finder = {.ledger = ledger};
    uint32_t count = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        count += is_chosen_device_event(&finder, trace, i);
    return count;
}

/* The first of `count` steps around the typical one. Around the typical step rather than from
 * the first, as first steps warm up. */
static uint32_t first_around_typical(const struct ledger *ledger, uint32_t count)
{
    struct step_spread spread = measure_step_spread(ledger);
    uint32_t typical = typical_step(&spread, ledger->step_count);
    uint32_t first = typical > count / 2 ? typical - count / 2 : 0;

    free(spread.steps);
    return first + count > ledger->step_count ? ledger->step_count - count : first;
}

/* Memory goes with the number of device events, so as many steps are kept as fit (work_max),
 * whole ones. One step that is too large by itself is refused, not cut: half a step has no end
 * to measure. */
struct replayed_part choose_replayed_part(const struct trace *trace, const struct ledger *ledger,
                                          uint32_t work_max)
{
    struct replayed_part part = {.ledger = *ledger, .is_all = true};
    uint64_t work = trace->device_count > work_max ? work_in_steps(trace, ledger) : 0;
    uint64_t count = ledger->step_count;

    if (work > 0 && work > work_max) {
        count = count * work_max / work;
        part.is_too_large = work / ledger->step_count > REPLAYED_STEP_MAX;
    }
    part.is_too_large |= trace->device_count > TRACE_TASK_WHOSE_MAX;
    part.is_all = count == ledger->step_count || (ledger->step_count == 1 && !part.is_too_large);
    if (part.is_all)
        return part;
    part.ledger.step_count = count > 0 ? (uint32_t)count : 1;
    part.first = first_around_typical(ledger, part.ledger.step_count);
    part.ledger.steps += part.first;
    return part;
}

/* ---- replay model ---------------------------------------------------------------------------- */

/* A model that cannot repeat the recording has no business to say what a change would bring:
 * it is refused where its length or its starts are off by more than REPLAY_ERROR_MAX. The
 * start error is per step, of its length. */
void replay_model_begin(struct replay_model *simulation, const struct recorded_steps *steps)
{
    struct recorded_steps part = *steps;
    double recorded_ns;

    simulation->ledger = steps->ledger;
    /* A long recording is replayed in part: a graph of all of it would cost more memory than
     * the report. */
    simulation->part = choose_replayed_part(
        steps->trace, steps->ledger, steps->work_max > 0 ? steps->work_max : REPLAYED_WORK_MAX);
    simulation->graph.trace = steps->trace;
    simulation->is_refused = simulation->part.is_too_large;
    if (simulation->is_refused)
        return;
    part.ledger = &simulation->part.ledger;
    trace_graph_build(&simulation->graph, &part);
    recorded_ns = (double)simulation->graph.recorded_ns;
    simulation->is_refused = simulation->graph.is_circular || recorded_ns <= 0;
    if (simulation->is_refused)
        return;
    simulation->unchanged = trace_graph_replay(
        &simulation->graph, &(struct replay_terms){.host_slowdown = 1, .compares_starts = true});
    simulation->length_error =
        fabs((double)simulation->unchanged.length_ns - recorded_ns) / recorded_ns;
    simulation->start_error = (double)simulation->unchanged.start_error_ns *
                              (double)part.ledger->step_count / recorded_ns;
    simulation->is_refused =
        simulation->length_error > REPLAY_ERROR_MAX || simulation->start_error > REPLAY_ERROR_MAX;
}

/* What is left of the length, where the loader's work shares the launching core so much. */
static double share_left(const struct replay_model *simulation, const struct scenario *scenario,
                         double core_share)
{
    struct replay_terms terms = {.scenario = scenario,
                                 .host_slowdown =
                                     loader_slowdown(&simulation->graph, scenario, core_share)};

    return (double)trace_graph_replay(&simulation->graph, &terms).length_ns /
           (double)simulation->unchanged.length_ns;
}

static double speedup_of(double share)
{
    return share > 0 ? 1 / share : 0;
}

/* Of the recorded step time the share that the replay leaves: the model's own error cancels so
 * to first order. With a loader that moves to workers the share of a core is not known, hence
 * a range. */
bool replay_model_try(const struct replay_model *simulation, const struct scenario *scenario,
                      struct replay_estimate *estimate)
{
    const struct ledger *ledger = simulation->ledger;
    double share;

    if (simulation->is_refused || scenario_has_target(scenario, TARGET_WAITING))
        return false;
    share = share_left(simulation, scenario, CORE_SHARE_MOST);
    estimate->step_ns =
        llround((double)ledger_total_ns(ledger) / (double)ledger->step_count * share);
    estimate->speedup = estimate->least_speedup = estimate->most_speedup = speedup_of(share);
    estimate->is_range = loader_moves(&simulation->graph, scenario);
    if (estimate->is_range)
        estimate->most_speedup = speedup_of(share_left(simulation, scenario, CORE_SHARE_LEAST));
    return true;
}

void replay_model_clear(struct replay_model *simulation)
{
    trace_graph_clear(&simulation->graph);
    *simulation = (struct replay_model){.is_refused = true};
}
