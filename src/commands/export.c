/* `flopledger export FORMAT TRACE...`: the results, for other programs. */
#include "base/core/attributes.h"
#include "commands/attribution_options.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "commands/recording_options.h"
#include "output/exports/export_format.h"
#include "pipeline/exported_results.h"
#include "pipeline/read_ranks.h"
#include "pipeline/session.h"
#include "pipeline/subcommands.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct export_settings {
    struct attribution_settings attribution;
    int64_t rank;
    const char *output;
    bool is_forced;
    int64_t threads;
    bool shows_progress;
    const char *labels;
    bool packs;
};

#define FIELD(name) offsetof(struct export_settings, name)

static const struct option export_options[] = {
    TEXT_OPTION("output", FIELD(output), "PATH",
                "the file or folder to write (default: standard output, where the format is text)",
                .letter = 'o'),
    TEXT_OPTION("logdir", FIELD(output), "FOLDER", "the same as --output, as TensorBoard calls it"),
    FORCE_OPTION(struct export_settings, is_forced),
    ATTRIBUTION_OPTIONS(struct export_settings),
    INTEGER_OPTION("rank", FIELD(rank), "N", 0, INT32_MAX,
                   "of several ranks: only this one (default: all)", .letter = 'r'),
    LABEL_OPTION(struct export_settings, labels),
    FLAG_OPTION(
        "pack", FIELD(packs),
        "parquet: pack the runs that lie in the folder into one file a week, which is faster "
        "to read"),
    READING_OPTIONS(struct export_settings),
    {0},
};

/* ---- which format ---------------------------------------------------------------------------- */

/* Parquet and Arrow are written by the Python package, so no table of this program has their
 * names; a user need not know that. */
static bool no_such_format(const char *name, struct error *error)
{
    const struct export_format *const *all = all_exports();
    char names[256] = "";

    for (size_t i = 0; all[i]; i++) {
        size_t used = strlen(names);

        (void)snprintf(names + used, sizeof names - used, "%s, ", all[i]->name);
    }
    strcat(names, "parquet or arrow");
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

/* What it writes, where that is data. An export may replace an earlier export of its own kind,
 * but never other data, without --force. */
static enum file_content replaced_by(const struct export_format *format)
{
    return format->place == EXPORT_TRACE  ? CONTENT_EXPORTED_TRACE
           : format->place == EXPORT_FILE ? CONTENT_EXPORTED_DATABASE
                                          : CONTENT_OTHER;
}

static struct output_place export_place_of(const struct export_format *format,
                                           const struct export_settings *settings)
{
    return (struct output_place){.path = settings->output,
                                 .option = "--output",
                                 .what = "export",
                                 .is_forced = settings->is_forced,
                                 .replaces = replaced_by(format)};
}

/* All rows, all modules, and operators by shape as well: a program can leave out what it does
 * not want. */
static bool export_files(struct session *session, const struct export_format *format,
                         const struct export_settings *settings, struct error *error)
{
    struct analysis_plan plan = {
        .attribution = attribution_options_of(&settings->attribution),
        .analysis = {.top = UINT32_MAX, .all_modules = true, .also_by_shape = true},
        .with_memory = true,
    };
    struct output_place place = export_place_of(format, settings);
    struct rank_reading reading = {
        .threads = session_threads(session, settings->threads),
        .shows_progress = settings->shows_progress,
        .in_full = EVERY_RANK_HOWEVER_MANY,
        .rank = settings->rank,
        .plan = &plan,
    };

    return session_report(session, reading, error) &&
           export_results(&session->results, format, &place, error) &&
           session_check(session, error);
}

/* These formats hold the trace itself with tracks added, so they are made from the files, not
 * from results. */
static bool export_traces(const struct session *session, const struct export_format *format,
                          const struct export_settings *settings, struct error *error)
{
    const struct chrome_plan plan = {
        .attribution = attribution_options_of(&settings->attribution),
        .rank = settings->rank,
        .threads = session_threads(session, settings->threads),
    };

    return (strcmp(format->name, "perfetto") == 0 ? export_perfetto : export_chrome)(
        settings->output, &session->files, &plan, error);
}

/* The place is checked before any trace is read: a file that would be overwritten is told at
 * once and not after minutes of reading. */
static bool export_run_with(struct export_settings *settings, char **operands, int count,
                            struct error *error)
{
    SCOPED(session) session = {0};
    const struct export_format *format = find_format(count > 0 ? operands[0] : NULL, error);
    struct output_place place;
    struct output_inputs inputs = {
        operands + 1, count > 0 ? count - 1 : 0, {settings->attribution.rates.path}};

    if (!format)
        return false;
    place = export_place_of(format, settings);
    return attribution_resolve(&settings->attribution, error) &&
           check_export_place(format, &place, &inputs, error) &&
           session_open(&session, operands + 1, count - 1, error) &&
           (format->place == EXPORT_TRACE ? export_traces(&session, format, settings, error)
                                          : export_files(&session, format, settings, error));
}

/* `operands`: the format, then the traces. */
static bool check_packing(char **operands, int count, struct error *error)
{
    if (count == 0 || strcmp(operands[0], "parquet") != 0)
        return error_set(error, ERROR_USAGE,
                         "--pack is of Parquet files: flopledger export parquet --pack -o FOLDER");
    if (count > 1)
        return error_set(error, ERROR_USAGE,
                         "--pack packs what lies in the folder, and takes no trace: export '%s' "
                         "first, without --pack",
                         operands[1]);
    return true;
}

/* Parquet and Arrow are written by libraries of Python, which are given the line as it was. */
static bool export_to_fleet(char **line, int count, const struct export_settings *settings,
                            struct error *error)
{
    if (!settings->output)
        return error_set(error, ERROR_USAGE,
                         "this export writes a folder: say which with --output FOLDER");
    if (settings->rank >= 0)
        return error_set(error, ERROR_USAGE,
                         "--rank is not for this export: it holds all ranks of a run");
    return export_by_python(line, count, error);
}

/* The line is copied before parsing, which moves operands: Python gets it as it was typed. */
static bool export_run_export(int count, char **arguments, struct error *error)
{
    SCOPED(arena) arena = {0};
    int line_count = count;
    char **line = arena_allocate(&arena, ((size_t)count + 1) * sizeof *line);
    struct export_settings settings = {
        .attribution = ATTRIBUTION_DEFAULTS, .rank = -1, .shows_progress = true};
    bool is_done;

    memcpy(line, arguments, (size_t)count * sizeof *line);
    if (!parse_options(export_options, &settings, arguments, &count, error))
        return false;
    if (settings.packs && !check_packing(arguments, count, error))
        is_done = false;
    else if (count > 0 && is_fleet_format(arguments[0]))
        is_done = export_to_fleet(line, line_count, &settings, error);
    else
        is_done = export_run_with(&settings, arguments, count, error);
    attribution_settings_clear(&settings.attribution);
    return is_done;
}

const struct command export_command = {
    .name = "export",
    .summary = "export to CSV, SQLite, JSON Lines, Prometheus, TensorBoard, Perfetto, Parquet",
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
        "name ends in .gz;\n\n"
        "perfetto: what was recorded in Perfetto's own format, of every recorder and all ranks, "
        "with tracks for steps and accounts; packed where the name ends in .gz;\n\n"
        "parquet, arrow: tables of the run for a folder that holds those of many runs, one file "
        "each (needs pyarrow; see 'flopledger help fleet').\n\n"
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
                "flopledger export perfetto -o out.pftrace.gz traces/\n"
                "    the same, smaller, and of every recorder\n"
                "flopledger export parquet -o fleet/ --label team=nlp traces/\n"
                "    one run more in a folder of many\n"
                "flopledger export parquet --pack -o fleet/\n"
                "    all runs of a week in one file, to ask about thousands\n"
                "flopledger export prometheus -o flopledger.prom trace.json.gz\n"
                "    for node_exporter's textfile collector",
    .options = export_options,
    .run = export_run_export,
};
