/* The steps of a ledger as the windows in which ops count. */
#include "efficiency/step_costs.h"

#include "base/invariant.h"

#include <stdlib.h>

void measure_step_costs(struct module_costs *costs, const struct trace *trace,
                        const struct ledger *ledger, const struct model_description *description)
{
    struct module_cost_options options = {.description = description};
    struct time_window *windows =
        require_memory(calloc(ledger->step_count + (size_t)1, sizeof *windows));

    if (ledger->source != WINDOW_WHOLE)
        options.window_count = ledger->step_count;
    for (uint32_t i = 0; i < options.window_count; i++)
        windows[i] =
            (struct time_window){ledger->steps[i].window.start_ns, ledger->steps[i].window.end_ns};
    options.windows = windows;
    measure_module_costs(costs, trace, &options);
    free(windows);
}
