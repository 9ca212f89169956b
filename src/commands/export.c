/* `flopledger export FORMAT TRACE...`: the results, for other programs. */
#include "base/attributes.h"
#include "commands/analysed_trace.h"
#include "commands/booking_options.h"
#include "commands/command.h"
#include "commands/export_chrome.h"
#include "commands/exported_results.h"
#include "commands/input_files.h"
#include "commands/page_options.h"
#include "commands/read_files.h"
#include "commands/read_ranks.h"
#include "exports/export_format.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct export_settings {
    struct booking_settings booking;
    int64_t rank;
    const char *output;
    bool is_forced;
    int64_t threads;
    bool shows_progress;
};

#define FIELD(name) .offset = offsetof(struct export_settings, name)

static const struct option export_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .metavar = "PATH",
     FIELD(output),
     .help = "the file or folder to write (default: standard output, where the format is text)"},
    {.name = "logdir",
     .kind = OPTION_TEXT,
     .metavar = "FOLDER",
     FIELD(output),
     .help = "the same as --output, as TensorBoard calls it"},
    FORCE_OPTION(struct export_settings, is_forced),
    BOOKING_OPTIONS(struct export_settings),
    {.name = "rank",
     .letter = 'r',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(rank),
     .minimum = 0,
     .maximum = INT32_MAX,
     .help = "of several ranks: only this one (default: all)"},
    READING_OPTIONS(struct export_settings),
    {0},
};

/* ---- which format ---------------------------------------------------------------------------- */

static bool no_such_format(const char *name, struct error *error)
{
    const struct export_format *const *all = all_exports();
    char names[256] = "";

    for (size_t i = 0; all[i]; i++) {
        size_t used = strlen(names);

        (void)snprintf(names + used, sizeof names - used, "%s%s",
                       i == 0       ? ""
                       : all[i + 1] ? ", "
                                    : " or ",
                       all[i]->name);
    }
    if (!name)
        return error_set(error, ERROR_USAGE,
                         "no format given: flopledger export FORMAT TRACE..., "
                         "FORMAT being %s",
                         names);
    return error_set(error, ERROR_USAGE, "there is no export '%s': give %s, then the traces", name,
                     names);
}

/* NULL with `error` set where there is none of the name. */
static const struct export_format *find_format(const char *name, struct error *error)
{
    for (const struct export_format *const *format = all_exports(); name && *format; format++)
        if (strcmp((*format)->name, name) == 0)
            return *format;
    no_such_format(name, error);
    return NULL;
}

/* ---- from the command line ------------------------------------------------------------------- */

/* What it writes, where that is data. */
static enum file_content replaced_by(const struct export_format *format)
{
    return format->place == EXPORT_TRACE  ? CONTENT_EXPORTED_TRACE
           : format->place == EXPORT_FILE ? CONTENT_EXPORTED_DATABASE
                                          : CONTENT_OTHER;
}

static struct output_place place_of(const struct export_format *format,
                                    const struct export_settings *settings)
{
    return (struct output_place){.path = settings->output,
                                 .option = "--output",
                                 .what = "export",
                                 .is_forced = settings->is_forced,
                                 .replaces = replaced_by(format)};
}

static bool export_files(const struct input_files *files, const struct export_format *format,
                         const struct export_settings *settings, struct error *error)
{
    struct analysis_plan plan = {
        .booking = booking_plan_of(&settings->booking),
        .analysis = {.top = UINT32_MAX, .all_modules = true, .also_by_shape = true},
        .with_memory = true,
    };
    struct mpi_world alone = {0};
    struct output_place place = place_of(format, settings);
    struct rank_reading reading = {
        .threads = settings->threads > 0 ? (unsigned)settings->threads : default_thread_count(),
        .shows_progress = settings->shows_progress,
        .in_full = EVERY_RANK_HOWEVER_MANY,
        .rank = settings->rank,
        .plan = &plan,
        .world = &alone,
    };
    SCOPED(results) results = {0};
    SCOPED(digest_set) set = {0};

    results_init(&results);
    return read_run(&set, &results, files, &reading, error) &&
           export_results(&results, format, &place, error) && judge_ranks_read(&set, error);
}

static bool export_traces(const struct input_files *files, const struct export_settings *settings,
                          struct error *error)
{
    const struct chrome_plan plan = {
        .booking = booking_plan_of(&settings->booking),
        .rank = settings->rank,
        .threads = settings->threads > 0 ? (unsigned)settings->threads : default_thread_count(),
    };

    return export_chrome(settings->output, files, &plan, error);
}

static bool run_with(struct export_settings *settings, char **operands, int count,
                     struct error *error)
{
    SCOPED(input_files) files = {0};
    const struct export_format *format = find_format(count > 0 ? operands[0] : NULL, error);
    struct output_place place;
    struct output_inputs inputs = {operands + 1, count > 0 ? count - 1 : 0, {NULL}};

    if (!format)
        return false;
    place = place_of(format, settings);
    return booking_settle(&settings->booking, error) &&
           check_export_place(format, &place, &inputs, error) &&
           find_input_files(&files, operands + 1, count - 1, error) &&
           (format->place == EXPORT_TRACE ? export_traces(&files, settings, error)
                                          : export_files(&files, format, settings, error));
}

static bool run_export(int count, char **arguments, struct error *error)
{
    struct export_settings settings = {
        .booking = BOOKING_DEFAULTS, .rank = -1, .shows_progress = true};
    bool is_done;

    if (!parse_options(export_options, &settings, arguments, &count, error))
        return false;
    is_done = run_with(&settings, arguments, count, error);
    booking_settings_clear(&settings.booking);
    return is_done;
}

const struct command export_command = {
    .name = "export",
    .summary = "the numbers of a report, as other programs want them",
    .usage = "FORMAT TRACE...",
    .description =
        "Reads what 'flopledger report' reads, and writes all of its numbers and rows for another "
        "program. FORMAT is one of\n\n"
        "csv: a folder of tables, one file each;\n\n"
        "sqlite: one database with the same tables;\n\n"
        "jsonl: a line of JSON for each step, for Weights & Biases, MLflow and the like;\n\n"
        "prometheus: Prometheus' text format;\n\n"
        "tensorboard: event files with the scalars of each step, the report and the advice, "
        "settings of the run, and a layout of charts; several ranks are several runs;\n\n"
        "chrome: the traces themselves for Perfetto, several ranks in one file, with tracks for "
        "steps, accounts, idle gaps and their causes, and modules on the device; packed where the "
        "name ends in .gz.\n\n"
        "Of a run that 'flopledger run --memory' recorded, what held the memory is exported, too.",
    .examples = "flopledger export csv -o tables/ trace.json.gz\n"
                "    a file for each table\n"
                "flopledger export sqlite -o run.sqlite traces/\n"
                "    all ranks of a folder in one database\n"
                "flopledger export jsonl trace.json.gz\n"
                "    a line for each step\n"
                "flopledger export tensorboard --logdir runs/x trace.json.gz\n"
                "    then: tensorboard --logdir runs\n"
                "flopledger export chrome -o out.json.gz traces/\n"
                "    all ranks in one trace, for https://ui.perfetto.dev\n"
                "flopledger export prometheus -o flopledger.prom trace.json.gz\n"
                "    for node_exporter's textfile collector",
    .options = export_options,
    .run = run_export,
};
