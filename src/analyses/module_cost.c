/* What does the model compute, and which module does it belong to? */
#include "analyses/analysis.h"
#include "analyses/module_cost_sections.h"
#include "analyses/tally.h"
#include "base/attributes.h"

#include <stdlib.h>

enum { BRIEF_DEPTH = 2 };

/* The ledger's steps as windows; none where the whole trace is one. free() it. */
static struct time_window *windows_of(const struct ledger *ledger, uint32_t *count)
{
    struct time_window *windows = zeroed_array(ledger->step_count, sizeof *windows);

    *count = ledger->source == WINDOW_WHOLE ? 0 : ledger->step_count;
    for (uint32_t i = 0; i < *count; i++)
        windows[i] =
            (struct time_window){ledger->steps[i].window.start_ns, ledger->steps[i].window.end_ns};
    return windows;
}

static struct section *run_module_cost(struct results *results, const struct analysis_input *input)
{
    SCOPED(model_description) description = {0};
    struct error error = {0};
    struct module_costs costs = {0};
    struct section *section = NULL;
    struct module_cost_options options = {0};
    struct time_window *windows = windows_of(input->ledger, &options.window_count);
    struct module_cost_view view = {.costs = &costs,
                                    .description = &description,
                                    .steps = options.window_count ? options.window_count : 1,
                                    .step_note =
                                        options.window_count ? NULL : "the whole trace as one",
                                    .is_brief = true,
                                    .depth = BRIEF_DEPTH,
                                    .top = input->options->top};

    /* a damaged side file is told by `flopledger flops`; here only the parameters are missing */
    if (!model_description_find(&description, trace_text(input->trace, input->trace->path), &error))
        model_description_clear(&description);
    options.windows = windows;
    options.description = &description;
    measure_module_costs(&costs, input->trace, &options);
    if (costs.has_shapes && sum_of_phases(costs.total).ops > 0)
        section = describe_module_costs(results, &view);
    module_costs_clear(&costs);
    free(windows);
    return section;
}

const struct analysis module_cost_analysis = {
    .name = "module_cost",
    .summary = "what the model computes: FLOPs, bytes and time by module",
    .run = run_module_cost,
};
