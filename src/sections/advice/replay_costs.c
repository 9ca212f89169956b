/* What findings would bring, by replay. */
#include "sections/advice/replay_costs.h"

#include "base/core/invariant.h"
#include "replay/replay_model.h"

#include <string.h>

struct rule_scenario {
    const char *rule;
    const char *change;
};

static const struct rule_scenario scenarios[] = {
#define ADVICE_SCENARIO(rule_, change_) {.rule = #rule_, .change = (change_)},
#include "sections/advice/scenario_list.def"
#undef ADVICE_SCENARIO
};

static const char *replay_costs_change_of(const struct finding *finding)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (finding->cost_ns >= 0 && strcmp(finding->estimate->id, scenarios[i].rule) == 0)
            return scenarios[i].change;
    return NULL;
}

static void add_estimate(struct results *results, const struct replay_model *simulation,
                         struct finding *finding, const char *change)
{
    struct advice_estimate *estimate = results_allocate(results, sizeof *estimate);
    SCOPED(scenario) scenario = {.text = NULL};
    struct replay_estimate replayed;

    require_invariant(scenario_parse(&scenario, change, NULL), "scenario_list.def can be read");
    *estimate = *finding->estimate;
    estimate->change = change;
    estimate->replayed_step_ns = -1;
    if (replay_model_try(simulation, &scenario, &replayed) &&
        (simulation->ledger->step_count > 1 || replayed.speedup <= ADVICE_ONE_STEP_SPEEDUP_MAX)) {
        estimate->replayed_step_ns = replayed.step_ns;
        estimate->replayed_speedup = replayed.speedup;
        if (replayed.is_range) {
            estimate->least_speedup = replayed.least_speedup;
            estimate->most_speedup = replayed.most_speedup;
        }
        if (estimate->ceiling_speedup > 0 && replayed.most_speedup > estimate->ceiling_speedup)
            estimate->ceiling_speedup = replayed.most_speedup;
    }
    finding->estimate = estimate;
}

void add_replay_costs(const struct advice_case *advice, struct finding *findings, size_t count)
{
    for (size_t i = 0; i < count && advice->simulation; i++) {
        const char *change = replay_costs_change_of(&findings[i]);

        if (change)
            add_estimate(advice->results, advice->simulation, &findings[i], change);
    }
}
