/* What findings would bring, by replay. */
#include "sections/advice/replay_prices.h"

#include "base/core/invariant.h"
#include "replay/replay_study.h"

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

static const char *replay_prices_change_of(const struct finding *finding)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (finding->cost_ns >= 0 && strcmp(finding->price->id, scenarios[i].rule) == 0)
            return scenarios[i].change;
    return NULL;
}

static void add_price(struct results *results, const struct replay_study *study,
                      struct finding *finding, const char *change)
{
    struct advice_price *price = results_allocate(results, sizeof *price);
    SCOPED(scenario) scenario = {.text = NULL};
    struct replay_estimate estimate;

    require_invariant(scenario_parse(&scenario, change, NULL), "scenario_list.def can be read");
    *price = *finding->price;
    price->change = change;
    price->replayed_step_ns = -1;
    if (replay_study_try(study, &scenario, &estimate) &&
        (study->ledger->step_count > 1 || estimate.speedup <= ADVICE_ONE_STEP_SPEEDUP_MAX)) {
        price->replayed_step_ns = estimate.step_ns;
        price->replayed_speedup = estimate.speedup;
        if (estimate.is_range) {
            price->least_speedup = estimate.least_speedup;
            price->most_speedup = estimate.most_speedup;
        }
        if (price->ceiling_speedup > 0 && estimate.most_speedup > price->ceiling_speedup)
            price->ceiling_speedup = estimate.most_speedup;
    }
    finding->price = price;
}

void add_replay_prices(const struct advice_case *advice, struct finding *findings, size_t count)
{
    for (size_t i = 0; i < count && advice->study; i++) {
        const char *change = replay_prices_change_of(&findings[i]);

        if (change)
            add_price(advice->results, advice->study, &findings[i], change);
    }
}
