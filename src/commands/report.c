/* `flopledger report TRACE...`: where the time of a run went. */
#include "analyses/run_analyses.h"
#include "architectures/read_architecture.h"
#include "base/attributes.h"
#include "commands/command.h"
#include "commands/input_files.h"
#include "commands/page_options.h"
#include "commands/peak_options.h"
#include "commands/read_files.h"
#include "commands/step_range.h"
#include "efficiency/efficiency.h"
#include "efficiency/step_costs.h"
#include "efficiency/work_totals.h"
#include "ledger/step_ledger.h"
#include "modules/model_description.h"
#include "reports/write_report.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct report_settings {
    struct page_settings page;
    struct step_range steps;
    int window;
    const char *step_range;
    struct step_pattern pattern; /* of step_range */
    int64_t top;
    int sort;
    int by;
    int64_t rank;
    struct device_option device;
    const char *device_name;
    struct peak_settings peaks;
    const struct convention *convention;
    const char *model;
    struct architecture architecture; /* of `model` */
    int64_t threads;
    bool shows_progress;
};

static const char *const window_names[] = {"auto", "steps", "optimizer", "ranges", "whole", NULL};
static const char *const sort_names[] = {"time", "count", "mean", "max", "name", NULL};
static const char *const by_names[] = {"name", "shape", NULL};

#define FIELD(name) .offset = offsetof(struct report_settings, name)

static const struct option report_options[] = {
    {.name = "steps",
     .letter = 's',
     .kind = OPTION_PARSED,
     .metavar = "RANGE",
     FIELD(steps),
     .parse = parse_step_range,
     .accepts = step_range_accepted,
     .help = "only these steps, by their numbers in the trace: 3, 3-5 or 3- (default: all)"},
    {.name = "window",
     .letter = 'w',
     .kind = OPTION_CHOICE,
     .metavar = "KIND",
     .choices = window_names,
     FIELD(window),
     .help = "what a step is: steps (ProfilerStep marks), optimizer (from one Optimizer.step to "
             "the next), ranges (those that the program called iteration 5, train_step or the "
             "like), whole (the whole trace as one) or auto, the first of these that the trace "
             "has (default)"},
    {.name = "step-range",
     .kind = OPTION_TEXT,
     .metavar = "REGEX",
     FIELD(step_range),
     .help = "the ranges (NVTX or record_function) that are the steps: those whose names the "
             "extended regular expression matches (default: see --window)"},
    {.name = "rank",
     .letter = 'r',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(rank),
     .minimum = 0,
     .maximum = INT32_MAX,
     .help =
         "of several ranks: the one to print in full (default: the lowest in text, all in json)"},
    {.name = "device",
     .kind = OPTION_PARSED,
     .metavar = "N|NAME",
     FIELD(device),
     .parse = parse_device,
     .accepts = device_accepted,
     .help = "a number: the device to book, where a trace has several (default: the one with the "
             "most events); a name: the device to measure against, in place of the trace's own"},
    {.name = "device-name",
     .kind = OPTION_TEXT,
     .metavar = "NAME",
     FIELD(device_name),
     .help = "the name alone, for use beside --device N"},
    {.name = "peak",
     .kind = OPTION_PARSED,
     .metavar = "TFLOPS[:DTYPE]",
     FIELD(peaks),
     .parse = parse_peak,
     .accepts = peak_accepted,
     .help = "dense peak of the device in TFLOP/s, of one number format or of all; several with "
             "commas (default: the table of `flopledger device`)"},
    {.name = "dtype",
     .kind = OPTION_PARSED,
     .metavar = "DTYPE",
     FIELD(peaks),
     .parse = parse_precision,
     .accepts = precision_accepted,
     .help = "measure all matrix work against the peak of this number format (default: that of "
             "each operator's inputs)"},
    {.name = "convention",
     .kind = OPTION_PARSED,
     .metavar = "NAME",
     FIELD(convention),
     .parse = parse_convention,
     .accepts = convention_accepted,
     .help = "print the MFU as this tool would: exact (default), full, megatron, torchtitan, "
             "nanogpt, palm, maxtext, internevo, deepspeed, nemo, olmo-core, llm-foundry, ..."},
    {.name = "model",
     .kind = OPTION_TEXT,
     .metavar = "FILE",
     FIELD(model),
     .help = "the model's config.json, for --convention (default: what capture.json says)"},
    {.name = "top",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(top),
     .minimum = 0,
     .maximum = INT32_MAX,
     .help = "rows of long tables; 0 for all (default: 10)"},
    {.name = "sort",
     .kind = OPTION_CHOICE,
     .metavar = "KEY",
     .choices = sort_names,
     FIELD(sort),
     .help =
         "order of kernels and operators: time (in all, the default), count, mean, max or name"},
    {.name = "by",
     .kind = OPTION_CHOICE,
     .metavar = "KEY",
     .choices = by_names,
     FIELD(by),
     .help = "what operators share a row: those of one name (default), or of one name and input "
             "shape"},
    PAGE_OPTIONS(struct report_settings),
    READING_OPTIONS(struct report_settings),
    {0},
};

/* What is done with each trace. */
struct analysis_plan {
    struct ledger_options ledger;
    struct peak_settings peaks;
    struct analysis_options analysis;
};

static struct analysis_plan plan_of(const struct report_settings *settings)
{
    static const enum window_choice window_choices[] = {WINDOW_CHOICE_AUTO, WINDOW_CHOICE_STEPS,
                                                        WINDOW_CHOICE_OPTIMIZER,
                                                        WINDOW_CHOICE_RANGES, WINDOW_CHOICE_WHOLE};
    static const enum sort_order sort_orders[] = {SORT_TIME, SORT_COUNT, SORT_MEAN, SORT_MAX,
                                                  SORT_NAME};

    return (struct analysis_plan){
        .ledger = {.choice = window_choices[settings->window],
                   .first_step = settings->steps.first,
                   .last_step = settings->steps.last,
                   .device = (int32_t)settings->device.number,
                   .step_pattern = settings->pattern.is_set ? &settings->pattern.regex : NULL},
        .peaks = settings->peaks,
        .analysis = {.top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top,
                     .sort = sort_orders[settings->sort],
                     .by_shape = settings->by == 1,
                     .convention = settings->convention,
                     .architecture = settings->model ? &settings->architecture : NULL},
    };
}

/* Says which steps the trace has, where it has none of those asked for. */
static bool no_such_step(const struct trace *trace, const struct ledger_options *options,
                         struct error *error)
{
    const char *path = trace_text(trace, trace->path);
    SCOPED(step_windows) windows = {0};

    if (options->step_pattern)
        find_steps_by_pattern(&windows, trace, options->step_pattern);
    else
        find_step_windows(&windows, trace, options->choice, options->device);
    if (windows.count > 0)
        return error_set(error, ERROR_NO_DATA,
                         "none of the steps asked for is in '%s': it has %u, numbered %lld to %lld",
                         path, windows.count, (long long)windows.windows[0].number,
                         (long long)windows.windows[windows.count - 1].number);
    if (options->step_pattern)
        return error_set(error, ERROR_NO_DATA,
                         "no step in '%s': no range has a name that --step-range matches, "
                         "'flopledger nsys-stats' and 'inspect' show what is there",
                         path);
    if (options->choice == WINDOW_CHOICE_AUTO || options->choice == WINDOW_CHOICE_WHOLE)
        return error_set(error, ERROR_NO_DATA,
                         "nothing to report in '%s': it holds no timed event%s", path,
                         options->device >= 0 ? " of that device" : "");
    return error_set(error, ERROR_NO_DATA,
                     "no step in '%s': it holds no mark of the kind asked for, try --window auto",
                     path);
}

/* "0, 2": the devices that worked. */
static const char *devices_at_work(struct results *results, const struct trace *trace)
{
    const char *list = "none";

    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        const struct device *device = &trace->devices[i];

        if (device->event_count > 0)
            list = strcmp(list, "none") == 0
                       ? results_format(results, "%d", device->number)
                       : results_format(results, "%s, %d", list, device->number);
    }
    return list;
}

/* True where the user named no device, or one that worked. */
static bool has_device(struct results *results, const struct trace *trace, int32_t number,
                       struct error *error)
{
    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        if (trace->devices[i].number == number && trace->devices[i].event_count > 0)
            return true;
    }
    return number < 0 ||
           error_set(error, ERROR_NO_DATA, "no work of device %d in '%s': devices that worked: %s",
                     number, trace_text(trace, trace->path), devices_at_work(results, trace));
}

static bool analyse(struct results *results, const struct trace *trace, const void *context,
                    struct error *error)
{
    const struct analysis_plan *plan = context;
    SCOPED(model_description) description = {0};
    SCOPED(ledger) ledger = {0};
    SCOPED(module_costs) costs = {0};
    SCOPED(efficiency) efficiency = {0};
    SCOPED(work_totals) work = {0};
    struct analysis_input input = {.trace = trace,
                                   .ledger = &ledger,
                                   .costs = &costs,
                                   .efficiency = &efficiency,
                                   .work = &work,
                                   .description = &description,
                                   .options = &plan->analysis};
    struct error side_error = {0};

    if (!has_device(results, trace, plan->ledger.device, error))
        return false;
    book_ledger(&ledger, trace, &plan->ledger);
    if (ledger.step_count == 0)
        return no_such_step(trace, &plan->ledger, error);
    /* a damaged side file is told by `flopledger flops`; here only what it says is missing */
    if (!model_description_find(&description, trace_text(trace, trace->path), &side_error))
        model_description_clear(&description);
    measure_step_costs(&costs, trace, &ledger, &description);
    measure_efficiency(&efficiency, trace, &ledger, &costs, &plan->peaks);
    measure_work_totals(&work, &efficiency);
    run_analyses(results, &input);
    return true;
}

/* Leaves only rank `rank` in the results, behind the overview of all. */
static bool choose_rank(struct results *results, int64_t rank, struct error *error)
{
    for (size_t i = 0; i < results->rank_count; i++) {
        if (results->ranks[i].rank == rank) {
            results->ranks = &results->ranks[i];
            results->rank_count = 1;
            return true;
        }
    }
    return error_set(error, ERROR_NO_DATA, "no trace of rank %lld among those given",
                     (long long)rank);
}

static bool report_on(const struct input_files *files, const struct report_settings *settings,
                      struct error *error)
{
    struct analysis_plan plan = plan_of(settings);
    struct file_reading reading = {
        .threads = settings->threads > 0 ? (unsigned)settings->threads : default_thread_count(),
        .shows_progress = settings->shows_progress,
        .use = analyse,
        .context = &plan,
    };
    struct files_read outcome = {0};
    SCOPED(results) results = {0};

    results_init(&results);
    read_files(&outcome, &results, files, &reading);
    if (outcome.used_count == 0) {
        *error = outcome.first_error;
        return false;
    }
    note_passed_over(&results, files);
    if (results.rank_count > 1)
        add_overview(&results);
    if (settings->rank >= 0 && !choose_rank(&results, settings->rank, error))
        return false;
    if (!print_page(&results, &settings->page, error))
        return false;
    return judge_files_read(&outcome, error);
}

static bool run_with(struct report_settings *settings, char **operands, int count,
                     struct error *error)
{
    SCOPED(input_files) files = {0};

    if (!settle_device(&settings->peaks, &settings->device, settings->device_name, error))
        return false;
    if (!check_output(&settings->page, error))
        return false;
    if (settings->model && !architecture_read(&settings->architecture, settings->model, error))
        return false;
    if (!find_input_files(&files, operands, count, error))
        return false;
    return report_on(&files, settings, error);
}

static bool run_report(int count, char **arguments, struct error *error)
{
    struct report_settings settings = {.steps = {INT64_MIN, INT64_MAX},
                                       .top = 10,
                                       .rank = -1,
                                       .device = {.number = -1},
                                       .shows_progress = true};
    bool is_done;

    if (!parse_options(report_options, &settings, arguments, &count, error))
        return false;
    if (!step_pattern_compile(&settings.pattern, settings.step_range, error))
        return false;
    is_done = run_with(&settings, arguments, count, error);
    step_pattern_clear(&settings.pattern);
    return is_done;
}

const struct command report_command = {
    .name = "report",
    .summary = "where the time of a run went, from its profiler traces",
    .usage = "TRACE...",
    .description =
        "Reads traces of torch.profiler (.json, .json.gz, .json.zst, '-' for standard input) and "
        "databases of Nsight Systems (what 'nsys export --type sqlite' wrote, or a .nsys-rep where "
        "nsys is installed; each process that used a device is a rank), books every nanosecond "
        "of every step to one account, and prints what the time went to: the step ledger, "
        "idle time by cause, kernels, operators, copies, collectives, overlap and launches.\n\n"
        "Give several files, or a folder of them, for a run of several ranks: they are compared, "
        "and one is printed in full.",
    .examples = "flopledger report trace.json.gz\n"
                "    the report of one trace\n"
                "flopledger report --steps 3-5 --top 20 trace.json.gz\n"
                "    steps 3 to 5 only, and longer tables\n"
                "flopledger report --json --output report.json traces/\n"
                "    all ranks in a folder, for a program",
    .options = report_options,
    .run = run_report,
};
