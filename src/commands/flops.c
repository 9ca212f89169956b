/* `flopledger flops TRACE...`: what a model computes, by module. */
#include "base/core/attributes.h"
#include "commands/attribution_options.h"
#include "commands/command.h"
#include "commands/model_options.h"
#include "commands/page_options.h"
#include "output/reports/write_report.h"
#include "pipeline/session.h"
#include "pipeline/subcommands.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct flops_settings {
    struct page_settings page;
    struct cache_choice cache;
    struct model_settings model;
    struct rates_option rates;
    struct step_range steps;
    struct capture_choice captures;
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

#define FIELD(name) offsetof(struct flops_settings, name)

static const struct option flops_options[] = {
    INTEGER_OPTION("depth", FIELD(depth), "N", -1, INT32_MAX,
                   "modules down to this depth; 0 is the model itself (default: all)",
                   .letter = 'd'),
    TEXT_OPTION("modules", FIELD(modules), "NAMES",
                "only modules whose names fit, as for files in a shell: 'model.layers.3.*'",
                .letter = 'm'),
    CHOICE_OPTION("sort", FIELD(sort), "KEY", sort_names,
                  "order of modules: model (as the model has them, the default), flops, time, "
                  "parameters or name"),
    TOP_OPTION_OF(struct flops_settings,
                  "rows for each depth, and of the tables of ops; 0 for all (default: 10; 1 with "
                  "--format deepspeed; 2,000 of an HTML page)"),
    STEPS_OPTION(struct flops_settings, steps),
    TEXT_OPTION("formulas", FIELD(formulas), "FILE",
                "FLOPs of ops that are not known here, a line each: my::op = 2 * in0[0] * in1[1]"),
    CAPTURE_OPTION(struct flops_settings),
    RANK_OPTION(struct flops_settings),
    MODEL_OPTIONS(struct flops_settings),
    PAGE_OPTIONS(struct flops_settings),
    CACHE_OPTIONS(struct flops_settings),
    READING_OPTIONS(struct flops_settings),
    {0},
};

/* DeepSpeed's format has its own depth and order. */
static struct module_cost_view view_of(const struct flops_settings *settings, bool is_deepspeed)
{
    static const enum module_sort sorts[] = {MODULE_SORT_MODEL, MODULE_SORT_FLOPS, MODULE_SORT_TIME,
                                             MODULE_SORT_PARAMETERS, MODULE_SORT_NAME};
    int64_t top = rows_of_page(&settings->page, settings->top, 1);

    return (struct module_cost_view){
        .depth = settings->depth < 0 || is_deepspeed ? UINT32_MAX : (uint32_t)settings->depth,
        .top = top == 0 ? UINT32_MAX : (uint32_t)top,
        .pattern = settings->modules,
        .sort = is_deepspeed ? MODULE_SORT_MODEL : sorts[settings->sort],
    };
}

/* What changes the answer belongs to the question, formulas and rates by their files: an
 * answer that was kept for others must not be given. */
static bool flops_count_in(struct session *session, const struct flops_settings *settings,
                           const struct module_report *wanted, struct error *error)
{
    struct file_reading reading = {
        .threads = session_threads(session, settings->threads),
        .shows_progress = settings->shows_progress,
        .use = add_module_report,
        .context = wanted,
        .captures = &settings->captures,
    };
    struct session_question question = {
        .command = "flops",
        .page = &settings->page,
        .of_page = {wanted->view.top, wanted->is_deepspeed},
        .files = {settings->formulas, settings->rates.path},
        .threads = reading.threads,
    };

    return session_ask(session, &settings->cache, &question, error) &&
           session_for_each_rank(session, &reading, error) &&
           print_session(session, settings->rank, &settings->page, error);
}

static bool count_model(struct flops_settings *settings, struct error *error)
{
    bool is_done = rates_option_read(&settings->rates, &settings->model.peaks, error) &&
                   print_model_flops(&settings->model, &settings->page, error);

    rates_option_clear(&settings->rates);
    return is_done;
}

/* A model instead of traces; its options are of no use without it. An option that would be
 * ignored is refused: whoever gave it expected something of it. */
static bool check_model_options(const struct flops_settings *settings, int operands,
                                const char *first, struct error *error)
{
    const char *option = settings->rates.path ? "--rates" : option_of_model(&settings->model);

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

/* --model counts a config.json and reads no trace, so it goes before a session is opened. */
static bool flops_with(struct flops_settings *settings, char **operands, int count,
                       struct error *error)
{
    struct module_report wanted = {0};
    SCOPED(session) session = {0};
    bool is_done;

    if (!check_output(&settings->page,
                      &(struct output_inputs){
                          operands,
                          count,
                          {settings->formulas, settings->model.config, settings->rates.path}},
                      error))
        return false;
    if (!check_model_options(settings, count, count > 0 ? operands[0] : "", error))
        return false;
    if (settings->model.config)
        return count_model(settings, error);
    if (settings->formulas && !user_formulas_read(&wanted.formulas, settings->formulas, error))
        return false;
    wanted.is_deepspeed = strcmp(report_names[settings->page.format], "deepspeed") == 0;
    wanted.view = view_of(settings, wanted.is_deepspeed);
    wanted.steps = settings->steps;
    wanted.depth_asked = settings->depth;
    wanted.top_asked = settings->top;
    is_done = session_open(&session, operands, count, error) &&
              flops_count_in(&session, settings, &wanted, error);
    user_formulas_clear(&wanted.formulas);
    return is_done;
}

/* The arguments are noted as they are parsed: they are part of the question by which an answer
 * is found again. */
static bool run_flops(int count, char **arguments, struct error *error)
{
    struct flops_settings settings = {.steps = {INT64_MIN, INT64_MAX},
                                      .depth = -1,
                                      .top = -1,
                                      .rank = -1,
                                      .shows_progress = true};
    bool is_done =
        parse_options_noting(flops_options, &settings,
                             &(struct noted_arguments){arguments, &count, &settings.cache.asked},
                             error) &&
        flops_with(&settings, arguments, count, error);

    bytes_clear(&settings.cache.asked);
    return is_done;
}

const struct command flops_command = {
    .name = "flops",
    .summary = "FLOPs, MACs, bytes and latency by module",
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
        "--step-time the MFU. --phase decode or prefill counts one step of an inference server "
        "instead: FLOPs, bytes of weights and KV cache, and the most tokens/s that a device can "
        "give.",
    .examples = "flopledger flops trace.json.gz\n"
                "    all modules of the model\n"
                "flopledger flops --depth 2 --sort flops trace.json.gz\n"
                "    the upper modules, the largest first\n"
                "flopledger flops --format deepspeed --top 3 trace.json.gz\n"
                "    the text of DeepSpeed's Flops Profiler\n"
                "flopledger flops --model config.json --batch 512 --seq 8192 --devices 64 "
                "--step-time 11.2s --device H100-SXM\n"
                "    what a model costs, and the MFU of its run as each tool would print it\n"
                "flopledger flops --model config.json --phase decode --batch 32 --context 8192 "
                "--device H100-SXM\n"
                "    one decode step of a server: what it reads, and how fast it can be",
    .options = flops_options,
    .run = run_flops,
};
