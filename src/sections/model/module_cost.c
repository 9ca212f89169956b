/* What does the model compute, and which module does it belong to? */
#include "sections/analysis.h"
#include "sections/model/module_cost_sections.h"

#include <stdbool.h>

enum { BRIEF_DEPTH = 2 };

/* Without shapes, or without any op that was counted, 'report' says nothing of modules;
 * 'flops' then says what lacks. */
static struct section *run_module_cost(struct results *results, const struct analysis_input *input)
{
    bool has_steps = input->ledger->source != WINDOW_WHOLE;
    struct module_cost_view view = {.trace = input->trace,
                                    .costs = input->costs,
                                    .description = input->description,
                                    .steps = has_steps ? input->ledger->step_count : 1,
                                    .step_note = has_steps ? NULL : "the whole trace as one",
                                    .is_brief = true,
                                    .depth = input->options->all_modules ? UINT32_MAX : BRIEF_DEPTH,
                                    .top = input->options->top,
                                    .sort = input->options->module_sort};

    if (!input->costs->has_shapes || sum_of_phases(input->costs->total).ops == 0)
        return NULL;
    return describe_module_costs(results, &view);
}

const struct analysis module_cost_analysis = {
    .name = "module_cost",
    .summary = "what the model computes: FLOPs, bytes and time by module",
    .run = run_module_cost,
};
