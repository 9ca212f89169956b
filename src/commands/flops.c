/* `flopledger flops TRACE...`: what a model computes, by module. */
#include "analyses/module_cost_sections.h"
#include "analyses/ranks_overview.h"
#include "base/apportion.h"
#include "base/attributes.h"
#include "base/invariant.h"
#include "commands/command.h"
#include "commands/input_files.h"
#include "commands/model_flops.h"
#include "commands/page_options.h"
#include "commands/print_files.h"
#include "commands/read_files.h"
#include "commands/step_range.h"
#include "flops/user_formula.h"
#include "ledger/step_window.h"
#include "reports/write_report.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct flops_settings {
    struct page_settings page;
    struct model_settings model;
    struct step_range steps;
    int64_t depth;
    int64_t top;
    const char *modules;
    int sort;
    const char *formulas;
    int64_t rank;
    int64_t threads;
    bool shows_progress;
};

static const char *const sort_names[] = {"model", "flops", "time", "parameters", "name", NULL};

#define FIELD(name) .offset = offsetof(struct flops_settings, name)

static const struct option flops_options[] = {
    {.name = "depth",
     .letter = 'd',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(depth),
     .minimum = -1,
     .maximum = INT32_MAX,
     .help = "modules down to this depth; 0 is the model itself (default: all)"},
    {.name = "modules",
     .letter = 'm',
     .kind = OPTION_TEXT,
     .metavar = "NAMES",
     FIELD(modules),
     .help = "only modules whose names fit, as for files in a shell: 'model.layers.3.*'"},
    {.name = "sort",
     .kind = OPTION_CHOICE,
     .metavar = "KEY",
     .choices = sort_names,
     FIELD(sort),
     .help = "order of modules: model (as the model has them, the default), flops, time, "
             "parameters or name"},
    TOP_OPTION_OF(struct flops_settings,
                  "rows for each depth, and of the tables of ops; 0 for all (default: 10; 1 with "
                  "--format deepspeed; 2,000 of an HTML page)"),
    STEPS_OPTION(struct flops_settings, steps),
    {.name = "formulas",
     .kind = OPTION_TEXT,
     .metavar = "FILE",
     FIELD(formulas),
     .help = "FLOPs of ops that are not known here, a line each: my::op = 2 * in0[0] * in1[1]"},
    RANK_OPTION(struct flops_settings),
    MODEL_OPTIONS(struct flops_settings),
    PAGE_OPTIONS(struct flops_settings),
    READING_OPTIONS(struct flops_settings),
    {0},
};

/* What is done with each trace. */
struct flops_plan {
    const struct flops_settings *settings;
    struct user_formulas formulas;
    bool is_deepspeed;
};

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

static bool choose_steps(struct chosen_steps *chosen, const struct trace *trace,
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
static int64_t count_steps(const struct module_costs *costs, const struct chosen_steps *chosen,
                           const char **note)
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
        section_add_number(
            results, section,
            (struct number){.key = key, .title = title, .value = value_count(value)});
}

static int64_t sum_known(int64_t sum, int64_t more)
{
    int64_t total;

    return sum < 0 || more < 0 || __builtin_add_overflow(sum, more, &total) ? -1 : total;
}

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
static void add_batch(struct results *results, struct section *section,
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

static void add_facts(struct results *results, struct section *section,
                      const struct flops_plan *plan, const struct chosen_steps *chosen,
                      const struct model_description *description)
{
    struct trained_on sum = sum_steps(chosen, description);

    add_batch(results, section, chosen, &sum);
    if (description->world_size > 1 || plan->is_deepspeed) {
        add_fact(results, section, "world_size", "ranks", description->world_size);
        add_fact(results, section, "data_parallel_size", "data parallel size",
                 description->data_size);
        add_fact(results, section, "tensor_parallel_size", "tensor parallel size",
                 description->tensor_size);
    }
    if (!plan->is_deepspeed)
        return;
    add_fact(results, section, "profile_step", "first step",
             chosen->count ? chosen->numbers[0] : 1);
    add_fact(results, section, "module_depth", "depth", plan->settings->depth);
    add_fact(results, section, "top_modules", "top",
             plan->settings->top < 0 ? 1 : plan->settings->top);
}

static struct module_cost_view view_of(const struct flops_plan *plan)
{
    static const enum module_sort sorts[] = {MODULE_SORT_MODEL, MODULE_SORT_FLOPS, MODULE_SORT_TIME,
                                             MODULE_SORT_PARAMETERS, MODULE_SORT_NAME};
    const struct flops_settings *settings = plan->settings;
    int64_t top = rows_of_page(&settings->page, settings->top, 1);

    return (struct module_cost_view){
        .depth = settings->depth < 0 || plan->is_deepspeed ? UINT32_MAX : (uint32_t)settings->depth,
        .top = top == 0 ? UINT32_MAX : (uint32_t)top,
        .pattern = settings->modules,
        .sort = plan->is_deepspeed ? MODULE_SORT_MODEL : sorts[settings->sort],
    };
}

static void describe_rank(struct results *results, const struct trace *trace,
                          const struct flops_plan *plan, const struct chosen_steps *chosen,
                          const struct model_description *description)
{
    struct module_cost_view view = view_of(plan);
    struct module_costs costs = {0};
    struct module_cost_options options = {.windows = chosen->windows,
                                          .window_count = chosen->count,
                                          .user = &plan->formulas,
                                          .description = description};
    struct rank_results *rank =
        results_add_rank(results, rank_label(results, trace),
                         results_text(results, trace_text(trace, trace->path)), trace->facts.rank);
    struct section *section;

    measure_module_costs(&costs, trace, &options);
    view.trace = trace;
    view.costs = &costs;
    view.description = description;
    view.steps = count_steps(&costs, chosen, &view.step_note);
    section = describe_module_costs(results, &view);
    add_facts(results, section, plan, chosen, description);
    rank_add_section(results, rank, section);
    module_costs_clear(&costs);
}

static bool analyse(struct results *results, const struct trace *trace, const void *context,
                    struct error *error)
{
    const struct flops_plan *plan = context;
    SCOPED(model_description) description = {.world_size = -1, .data_size = -1, .tensor_size = -1};
    struct chosen_steps chosen = {0};

    if (trace->host_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "nothing to count in '%s': it holds no op of the host",
                         trace_text(trace, trace->path));
    if (!model_description_find(&description, trace_text(trace, trace->path), error))
        return false;
    if (!choose_steps(&chosen, trace, plan->settings->steps, error))
        return false;
    describe_rank(results, trace, plan, &chosen, &description);
    chosen_steps_clear(&chosen);
    return true;
}

static bool count_in(const struct input_files *files, const struct flops_plan *plan,
                     struct error *error)
{
    const struct flops_settings *settings = plan->settings;
    struct file_reading reading = {
        .threads = settings->threads > 0 ? (unsigned)settings->threads : default_thread_count(),
        .shows_progress = settings->shows_progress,
        .use = analyse,
        .context = plan,
    };

    return print_files(files, &reading, &(struct printed_page){settings->rank, &settings->page},
                       error);
}

/* A model instead of traces; its options are of no use without it. */
static bool check_model_options(const struct flops_settings *settings, int operands,
                                const char *first, struct error *error)
{
    const char *option = option_of_model(&settings->model);

    if (settings->model.config && operands > 0)
        return error_set(error, ERROR_USAGE,
                         "--model counts a model without a trace, but '%s' was given too", first);
    if (settings->model.config && strcmp(report_names[settings->page.format], "deepspeed") == 0)
        return error_set(
            error, ERROR_USAGE,
            "--format deepspeed prints the modules of a trace: with --model it is text "
            "or json");
    if (!settings->model.config && option)
        return error_set(error, ERROR_USAGE, "%s is of use with --model only", option);
    return true;
}

static bool run_flops(int count, char **arguments, struct error *error)
{
    struct flops_settings settings = {.steps = {INT64_MIN, INT64_MAX},
                                      .depth = -1,
                                      .top = -1,
                                      .rank = -1,
                                      .shows_progress = true};
    struct flops_plan plan = {.settings = &settings};
    SCOPED(input_files) files = {0};
    bool is_done;

    if (!parse_options(flops_options, &settings, arguments, &count, error))
        return false;
    if (!check_output(
            &settings.page,
            &(struct output_inputs){arguments, count, {settings.formulas, settings.model.config}},
            error))
        return false;
    if (!check_model_options(&settings, count, count > 0 ? arguments[0] : "", error))
        return false;
    if (settings.model.config)
        return print_model_flops(&settings.model, &settings.page, error);
    if (settings.formulas && !user_formulas_read(&plan.formulas, settings.formulas, error))
        return false;
    plan.is_deepspeed = strcmp(report_names[settings.page.format], "deepspeed") == 0;
    is_done = find_input_files(&files, arguments, count, error) && count_in(&files, &plan, error);
    user_formulas_clear(&plan.formulas);
    return is_done;
}

const struct command flops_command = {
    .name = "flops",
    .summary = "what a model computes: FLOPs, bytes and time of each module",
    .usage = "TRACE... | --model FILE",
    .description =
        "Reads traces with shapes and marks of modules, as 'flopledger run' records them, and "
        "prints what each module of the model computes and how long it takes: FLOPs and latency of "
        "the forward and the backward, what activation checkpointing computes again, time on the "
        "device, bytes, and all ops that are not counted.\n\n"
        "Parameters and classes come from the file capture.json beside a trace. Traces without "
        "marks give the ops alone.\n\n"
        "With --model no trace is read: parameters, FLOPs of a token by part and as other tools "
        "count them, and memory follow from the config.json of a Hugging Face model, and with "
        "--step-time the MFU.",
    .examples = "flopledger flops trace.json.gz\n"
                "    all modules of the model\n"
                "flopledger flops --depth 2 --sort flops trace.json.gz\n"
                "    the upper modules, the largest first\n"
                "flopledger flops --format deepspeed --top 3 trace.json.gz\n"
                "    the text of DeepSpeed's Flops Profiler\n"
                "flopledger flops --model config.json --batch 512 --seq 8192 --devices 64 "
                "--step-time 11.2s --device H100-SXM\n"
                "    what a model costs, and the MFU of its run as each tool would print it",
    .options = flops_options,
    .run = run_flops,
};
