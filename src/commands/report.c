/* `flopledger report TRACE...`: where the time of a run went. */
#include "base/output_file.h"
#include "base/terminal.h"
#include "commands/analyse_files.h"
#include "commands/command.h"
#include "commands/input_files.h"
#include "reports/write_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct step_range {
    int64_t first;
    int64_t last;
};

struct report_settings {
    int format;
    const char *output;
    struct step_range steps;
    int window;
    int64_t top;
    int sort;
    int by;
    int64_t rank;
    int64_t device;
    int64_t threads;
    int64_t width;
    int color;
    bool shows_progress;
};

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

static const char *const window_names[] = {"auto", "steps", "optimizer", "whole", NULL};
static const char *const sort_names[] = {"time", "count", "mean", "max", "name", NULL};
static const char *const by_names[] = {"name", "shape", NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL};

static bool take_number(const char **text, int64_t *number)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *number = strtoll(*text, &end, 10);
    *text = end;
    return *number < INT64_MAX;
}

/* "3", "3-5", "3-", "-5" */
static bool parse_step_range(const char *text, void *field)
{
    struct step_range range = {.first = INT64_MIN, .last = INT64_MAX};
    bool has_first = take_number(&text, &range.first);

    if (!has_first && *text != '-')
        return false;
    if (*text == '\0') {
        range.last = range.first;
    } else {
        if (*text++ != '-' || (*text == '\0' && !has_first))
            return false;
        if (*text != '\0' && !take_number(&text, &range.last))
            return false;
    }
    if (*text != '\0' || range.first > range.last)
        return false;
    *(struct step_range *)field = range;
    return true;
}

#define FIELD(name) .offset = offsetof(struct report_settings, name)

static const struct option report_options[] = {
    {.name = "format",
     .letter = 'f',
     .kind = OPTION_CHOICE,
     .metavar = "NAME",
     .choices = report_names,
     FIELD(format),
     .help = "how to print: text (for people, the default) or json (for programs)"},
    {.name = "json",
     .kind = OPTION_ALIAS,
     .alias_of = "format",
     .alias_value = "json",
     .help = "short for --format json"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .metavar = "FILE",
     FIELD(output),
     .help = "write to FILE, which appears whole or not at all (default: standard output)"},
    {.name = "steps",
     .letter = 's',
     .kind = OPTION_PARSED,
     .metavar = "RANGE",
     FIELD(steps),
     .parse = parse_step_range,
     .accepts = "a step (3), a range of steps (3-5) or an open one (3-)",
     .help = "only these steps, by their numbers in the trace: 3, 3-5 or 3- (default: all)"},
    {.name = "window",
     .letter = 'w',
     .kind = OPTION_CHOICE,
     .metavar = "KIND",
     .choices = window_names,
     FIELD(window),
     .help =
         "what a step is: steps (ProfilerStep marks), optimizer (from one Optimizer.step to the next), whole (the "
         "whole trace as one) or auto, the first of these that the trace has (default)"},
    {.name = "top",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(top),
     .minimum = 0,
     .maximum = UINT32_MAX - 1,
     .help = "rows of long tables; 0 for all (default: 10)"},
    {.name = "sort",
     .kind = OPTION_CHOICE,
     .metavar = "KEY",
     .choices = sort_names,
     FIELD(sort),
     .help = "order of kernels and operators: time (total, the default), count, mean, max or name"},
    {.name = "by",
     .kind = OPTION_CHOICE,
     .metavar = "KEY",
     .choices = by_names,
     FIELD(by),
     .help = "operators in one row by name (default), or by name and input shapes: shape"},
    {.name = "rank",
     .letter = 'r',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(rank),
     .minimum = 0,
     .maximum = INT32_MAX,
     .help =
         "of several ranks: the one to print in full (default: all in json, the lowest in text)"},
    {.name = "device",
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(device),
     .minimum = 0,
     .maximum = INT32_MAX,
     .help = "the device to book, where a trace has several (default: the busiest)"},
    {.name = "threads",
     .letter = 'j',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(threads),
     .minimum = 1,
     .maximum = 1024,
     .help = "threads to read with (default: one for each processor core)"},
    {.name = "width",
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(width),
     .minimum = 40,
     .maximum = 1000,
     .help = "columns of the page (default: those of the terminal, 80 without one)"},
    {.name = "color",
     .kind = OPTION_CHOICE,
     .metavar = "WHEN",
     .choices = color_names,
     FIELD(color),
     .help = "auto (on a terminal and without NO_COLOR, the default), always or never"},
    {.name = "no-progress",
     .kind = OPTION_NEGATED,
     FIELD(shows_progress),
     .help = "no progress bar (there is one on a terminal, for work over a second)"},
    {0},
};

static struct analyse_options analyse_options_of(const struct report_settings *settings)
{
    static const enum window_choice window_choices[] = {
        WINDOW_CHOICE_AUTO, WINDOW_CHOICE_STEPS, WINDOW_CHOICE_OPTIMIZER, WINDOW_CHOICE_WHOLE};
    static const enum sort_order sort_orders[] = {SORT_TIME, SORT_COUNT, SORT_MEAN, SORT_MAX,
                                                  SORT_NAME};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return (struct analyse_options){
        .ledger = {.choice = window_choices[settings->window],
                   .first_step = settings->steps.first,
                   .last_step = settings->steps.last,
                   .device = (int32_t)settings->device},
        .analysis = {.top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top,
                     .sort = sort_orders[settings->sort],
                     .by_shape = settings->by == 1},
        .threads = settings->threads > 0 ? (unsigned)settings->threads
                   : cores > 0           ? (unsigned)cores
                                         : 1,
        .shows_progress = settings->shows_progress,
    };
}

static bool write_to(FILE *output, const struct results *results,
                     const struct report_settings *settings, struct error *error)
{
    struct report_options options = {
        .width = settings->width > 0 ? (int)settings->width : terminal_width(output),
        .use_color = settings->color == COLOR_ALWAYS ||
                     (settings->color == COLOR_AUTO && terminal_shows_color(output)),
        .use_unicode = locale_is_utf8(),
    };

    return all_reports()[settings->format]->write(output, results, &options, error);
}

static bool print_report(const struct results *results, const struct report_settings *settings,
                         struct error *error)
{
    SCOPED(output_file) file = {0};

    if (!settings->output || strcmp(settings->output, "-") == 0)
        return write_to(stdout, results, settings, error);
    if (!output_file_open(&file, settings->output, error))
        return false;
    if (!write_to(file.stream, results, settings, error))
        return false;
    return output_file_close(&file, error);
}

/* Says in one place how well the input was read, once the report is printed. */
static bool judge(const struct analysed_files *outcome, struct error *error)
{
    if (outcome->failed_count == 1)
        return error_set(error, ERROR_PARTIAL, "%s (the report is of the other %zu)",
                         outcome->first_error.message, outcome->read_count);
    if (outcome->failed_count > 1)
        return error_set(error, ERROR_PARTIAL, "%zu of %zu files could not be read; the first: %s",
                         outcome->failed_count, outcome->failed_count + outcome->read_count,
                         outcome->first_error.message);
    if (outcome->damaged_count > 0)
        return error_set(error, ERROR_PARTIAL,
                         "part of the input is cut or damaged: the report is of what is there");
    return true;
}

static bool report_on(const struct input_files *files, const struct report_settings *settings,
                      struct error *error)
{
    struct analyse_options options = analyse_options_of(settings);
    struct analysed_files outcome = {0};
    SCOPED(results) results = {0};

    results_init(&results);
    analyse_files(&outcome, &results, files, &options);
    if (outcome.read_count == 0) {
        *error = outcome.first_error;
        return false;
    }
    if (!print_report(&results, settings, error))
        return false;
    return judge(&outcome, error);
}

static bool run_report(int count, char **arguments, struct error *error)
{
    struct report_settings settings = {.steps = {INT64_MIN, INT64_MAX},
                                       .top = 10,
                                       .rank = -1,
                                       .device = -1,
                                       .shows_progress = true};
    SCOPED(input_files) files = {0};

    if (!parse_options(report_options, &settings, arguments, count, &count, error))
        return false;
    if (!find_input_files(&files, arguments, count, error))
        return false;
    return report_on(&files, &settings, error);
}

const struct command report_command = {
    .name = "report",
    .summary = "where the time of a run went, from its profiler traces",
    .usage = "TRACE...",
    .description =
        "Reads traces of torch.profiler (.json, .json.gz, .json.zst, '-' for standard input), books every nanosecond of "
        "every step to one account, and prints what the time went to: the step ledger, idle time by cause, kernels, "
        "operators, copies, collectives, overlap and launches.\n\n"
        "Give several files, or a folder of them, for a run of several ranks: they are compared, and one is printed in "
        "full.",
    .examples = "flopledger report trace.json.gz\n"
                "    the report of one trace\n"
                "flopledger report --steps 3-5 --top 20 trace.json.gz\n"
                "    steps 3 to 5 only, and longer tables\n"
                "flopledger report --json --output report.json traces/\n"
                "    all ranks in a folder, for a program",
    .options = report_options,
    .run = run_report,
};
