/* The steps of a ledger as the windows in which ops count. */
#include "cost/efficiency/step_costs.h"

#include "base/core/invariant.h"

#include <stdlib.h>

void measure_step_costs(struct module_costs *costs, const struct trace *trace,
                        const struct ledger *ledger, const struct model_description *description)
{
    struct module_cost_options options = {.description = description};
    struct time_window *windows =
        require_memory(calloc(ledger->step_count + (size_t)1, sizeof *windows));

    struct time_window *device_windows =
        require_memory(calloc(ledger->step_count + (size_t)1, sizeof *device_windows));

    if (ledger->source != WINDOW_WHOLE)
        options.window_count = ledger->step_count;
    for (uint32_t i = 0; i < options.window_count; i++) {
        const struct step_window *window = &ledger->steps[i].window;

        windows[i] = (struct time_window){window->mark_start_ns, window->mark_end_ns};
        device_windows[i] = (struct time_window){window->start_ns, window->end_ns};
    }
    options.windows = windows;
    options.device_windows = device_windows;
    measure_module_costs(costs, trace, &options);
    free(device_windows);
    free(windows);
}
