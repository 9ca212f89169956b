/* What each module of a traced model computes, in the steps asked for. */
#include "base/core/apportion.h"
#include "base/core/invariant.h"
#include "cost/modules/model_description.h"
#include "ledger/step_window.h"
#include "output/results/metrics.h"
#include "pipeline/subcommands.h"
#include "sections/ranks/ranks_overview.h"

#include <stdlib.h>

/* Which part of the trace counts. */
struct chosen_steps {
    struct time_window *windows; /* free() */
    int64_t *numbers;            /* free() */
    uint32_t count;
};

/* What they trained on, on this rank, all together; -1: not known. */
struct trained_on {
    int64_t micro_batches;
    int64_t samples;
    int64_t tokens;
};

static void chosen_steps_clear(struct chosen_steps *chosen)
{
    free(chosen->windows);
    free(chosen->numbers);
    *chosen = (struct chosen_steps){0};
}

/* Marks of the profiler first, then ranges by name. Without any, and without a range asked
 * for, the whole trace counts. */
static bool module_report_choose_steps(struct chosen_steps *chosen, const struct trace *trace,
                                       struct step_range range, struct error *error)
{
    SCOPED(step_windows) found = {0};

    find_step_windows(&found, trace, WINDOW_CHOICE_STEPS, -1);
    if (found.count == 0)
        find_step_windows(&found, trace, WINDOW_CHOICE_RANGES, -1);
    chosen->windows = require_memory(calloc(found.count + (size_t)1, sizeof *chosen->windows));
    chosen->numbers = require_memory(calloc(found.count + (size_t)1, sizeof *chosen->numbers));
    for (uint32_t i = 0; i < found.count; i++) {
        const struct step_window *window = &found.windows[i];

        if (window->number < range.first || window->number > range.last)
            continue;
        chosen->numbers[chosen->count] = window->number;
        chosen->windows[chosen->count++] = (struct time_window){window->start_ns, window->end_ns};
    }
    if (chosen->count > 0 || (range.first == INT64_MIN && range.last == INT64_MAX))
        return true;
    chosen_steps_clear(chosen);
    return error_set(error, ERROR_NO_DATA, "none of the steps asked for is in '%s': it has %u",
                     trace_text(trace, trace->path), found.count);
}

/* Without marks of steps each step of the optimizer counts as one, else the whole as one. */
static int64_t module_report_count_steps(const struct module_costs *costs,
                                         const struct chosen_steps *chosen, const char **note)
{
    *note = NULL;
    if (chosen->count > 0)
        return chosen->count;
    if (costs->optimizer_steps > 0) {
        *note = "counted by Optimizer.step: the trace has no marks of steps";
        return costs->optimizer_steps;
    }
    *note = "the whole trace as one: it has no marks of steps";
    return 1;
}

static void add_fact(struct results *results, struct section *section, const char *key,
                     const char *title, int64_t value)
{
    if (value >= 0)
        section_add_value(results, section, key, title, value_count(value));
}

/* One part that is not known makes the sum not known: a sum of the others would be taken for
 * all. */
static int64_t sum_known(int64_t sum, int64_t more)
{
    int64_t total;

    return sum < 0 || more < 0 || __builtin_add_overflow(sum, more, &total) ? -1 : total;
}

/* Only if every step is described: otherwise the numbers would be of fewer steps than the
 * FLOPs beside them. */
static struct trained_on sum_steps(const struct chosen_steps *chosen,
                                   const struct model_description *description)
{
    struct trained_on sum = {0};

    for (uint32_t i = 0; i < chosen->count; i++) {
        const struct described_step *step = describe_step(description, chosen->numbers[i]);

        if (!step)
            return (struct trained_on){-1, -1, -1};
        sum.micro_batches = sum_known(sum.micro_batches, step->micro_batches);
        sum.samples = sum_known(sum.samples, step->samples);
        sum.tokens = sum_known(sum.tokens, step->tokens);
    }
    return chosen->count > 0 ? sum : (struct trained_on){-1, -1, -1};
}

/* The mean of each step; a micro-batch is what the model is called with once. */
static void module_report_add_batch(struct results *results, struct section *section,
                                    const struct chosen_steps *chosen, const struct trained_on *sum)
{
    if (sum->samples < 0)
        return;
    add_fact(results, section, "samples", "samples", rounded_mean(sum->samples, chosen->count));
    if (sum->tokens >= 0)
        add_fact(results, section, "tokens", "tokens", rounded_mean(sum->tokens, chosen->count));
    if (sum->micro_batches > 0)
        add_fact(results, section, "micro_batch_samples", "samples of a micro-batch",
                 rounded_mean(sum->samples, sum->micro_batches));
}

/* DeepSpeed's text prints its settings in its head, those left at their defaults too: they are
 * facts for that form alone. */
static void module_report_add_facts(struct results *results, struct section *section,
                                    const struct module_report *wanted,
                                    const struct chosen_steps *chosen,
                                    const struct model_description *description)
{
    struct trained_on sum = sum_steps(chosen, description);

    module_report_add_batch(results, section, chosen, &sum);
    if (description->world_size > 1 || wanted->is_deepspeed) {
        add_fact(results, section, "world_size", "ranks", description->world_size);
        add_fact(results, section, "data_parallel_size", "data parallel size",
                 description->data_size);
        add_fact(results, section, "tensor_parallel_size", "tensor parallel size",
                 description->tensor_size);
    }
    if (!wanted->is_deepspeed)
        return;
    add_fact(results, section, "profile_step", "first step",
             chosen->count ? chosen->numbers[0] : 1);
    add_fact(results, section, "module_depth", "depth", wanted->depth_asked);
    add_fact(results, section, "top_modules", "top", wanted->top_asked < 0 ? 1 : wanted->top_asked);
}

/* Costs are divided by the number of steps, and a note tells where that number does not come
 * from marks of steps: figures per step would else look surer than they are. */
static void module_report_describe_rank(struct results *results, const struct trace *trace,
                                        const struct module_report *wanted,
                                        const struct chosen_steps *chosen,
                                        const struct model_description *description)
{
    struct module_cost_view view = wanted->view;
    struct module_costs costs = {0};
    struct module_cost_options options = {.windows = chosen->windows,
                                          .window_count = chosen->count,
                                          .user = &wanted->formulas,
                                          .description = description};
    struct rank_results *rank = results_add_trace(results, trace);
    struct section *section;

    measure_module_costs(&costs, trace, &options);
    view.trace = trace;
    view.costs = &costs;
    view.description = description;
    view.steps = module_report_count_steps(&costs, chosen, &view.step_note);
    section = describe_module_costs(results, &view);
    module_report_add_facts(results, section, wanted, chosen, description);
    rank_add_section(results, rank, section);
    module_costs_clear(&costs);
}

/* Ops of the host hold shapes and modules: without them there is nothing to count by, whatever
 * the device did. */
bool add_module_report(struct results *results, const struct trace *trace, const void *context,
                       struct error *error)
{
    const struct module_report *wanted = context;
    SCOPED(model_description) description = {.world_size = -1, .data_size = -1, .tensor_size = -1};
    struct chosen_steps chosen = {0};

    if (trace->host_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "nothing to count in '%s': it holds no op of the host",
                         trace_text(trace, trace->path));
    if (!model_description_find(&description, trace_text(trace, trace->path), error))
        return false;
    if (!module_report_choose_steps(&chosen, trace, wanted->steps, error))
        return false;
    module_report_describe_rank(results, trace, wanted, &chosen, &description);
    chosen_steps_clear(&chosen);
    return true;
}
