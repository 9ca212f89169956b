/* `flopledger nsys-stats PROFILE [REPORT...]`: the reports of `nsys stats`, without nsys. */
#include "base/core/attributes.h"
#include "base/io/output_file.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "pipeline/output_place.h"
#include "readers/nsys/nsys_report_export.h"
#include "readers/nsys_stats/stats_report.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const format_names[] = {"table", "csv", "json", NULL};

struct nsys_stats_settings {
    struct stats_page_settings page;
    const char *output;
    bool is_forced;
};

#define FIELD(name) offsetof(struct nsys_stats_settings, name)

static const struct option nsys_stats_options[] = {
    CHOICE_OPTION("format", FIELD(page.format), "NAME", format_names,
                  "how to print: table (for people, the default), csv or json (as nsys stats does)",
                  .letter = 'f'),
    ALIAS_OPTION("json", "format", "json", "short for --format json"),
    TEXT_OPTION("output", FIELD(output), "FILE",
                "write to FILE, atomically (default: standard output)", .letter = 'o'),
    FORCE_OPTION(struct nsys_stats_settings, is_forced),
    INTEGER_OPTION("width", FIELD(page.width), "N", 40, 10000,
                   "columns of a table (default: those of the terminal, 80 without one)"),
    MEMORY_LIMIT_OPTION,
    {0},
};

/* The report is of what could be read: says what could not. */
static bool check_database(const struct nsys_database *database, struct error *error)
{
    if (database->file.missing_bytes > 0)
        return error_set(error, ERROR_PARTIAL,
                         "the database is cut, %lld bytes are missing: the reports are of the rest",
                         (long long)database->file.missing_bytes);
    if (database->file.damage[0])
        return error_set(error, ERROR_PARTIAL,
                         "part of the database cannot be read (%s): the reports are of the rest",
                         database->file.damage);
    return true;
}

/* Damage of a database shows only as its rows are read, so it is told behind the reports. */
static bool nsys_stats_print_reports(struct nsys_database *database,
                                     const struct chosen_stats *chosen,
                                     const struct nsys_stats_settings *settings,
                                     struct error *error)
{
    SCOPED(output_file) file = {0};

    if (!settings->output || strcmp(settings->output, "-") == 0)
        return stats_write_reports(stdout, database, chosen, &settings->page, error) &&
               check_database(database, error);
    if (!output_file_open(&file, settings->output, error))
        return false;
    return stats_write_reports(file.stream, database, chosen, &settings->page, error) &&
           output_file_close(&file, error) && check_database(database, error);
}

/* The name of the file is put before errors of reading; those of the command line and of
 * output have their own. */
static bool nsys_stats_report_on(const char *path, const struct chosen_stats *chosen,
                                 const struct nsys_stats_settings *settings, struct error *error)
{
    SCOPED(nsys_database) database = {0};
    SCOPED(nsys_export) exported = {0};
    bool is_done = false;

    if (is_nsys_report(path) && !nsys_report_export(&exported, path, error))
        return error_in(error, "'%s'", path);
    if (nsys_database_open(&database, exported.database ? exported.database : path, NULL, error))
        is_done = nsys_stats_print_reports(&database, chosen, settings, error);
    if (!is_done && error->class != ERROR_USAGE && error->class != ERROR_PARTIAL &&
        error->class != ERROR_FAILURE)
        (void)error_in(error, "'%s'", path);
    return is_done;
}

/* The place of the output is checked before the reports are chosen: a wrong name of a report
 * and a file in the way are both told before the profile is opened. */
static bool run_nsys_stats(int count, char **arguments, struct error *error)
{
    struct nsys_stats_settings settings = {0};
    struct chosen_stats chosen = {0};
    struct output_place place;

    if (!parse_options(nsys_stats_options, &settings, arguments, &count, error))
        return false;
    if (count == 0)
        return error_set(error, ERROR_USAGE,
                         "no profile given: name the .sqlite file that 'nsys export --type sqlite' "
                         "wrote, then the reports");
    place = (struct output_place){.path = settings.output,
                                  .option = "--output",
                                  .what = "report",
                                  .is_forced = settings.is_forced};
    if (!check_output_place(&place, &(struct output_inputs){arguments, 1, {NULL}}, error))
        return false;
    if (!choose_stats_reports(&chosen, arguments + 1, count - 1, error))
        return false;
    return nsys_stats_report_on(arguments[0], &chosen, &settings, error);
}

const struct command nsys_stats_command = {
    .name = "nsys-stats",
    .summary = "the reports of nsys stats from an exported profile, without nsys",
    .usage = "PROFILE [REPORT...]",
    .description =
        "Reads a database that 'nsys export --type sqlite' wrote (or a .nsys-rep where nsys is "
        "installed) and prints reports with the columns and numbers that 'nsys stats' gives.\n\n"
        "Reports: cuda_gpu_kern_sum, cuda_api_sum, cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, "
        "cuda_gpu_trace, cuda_api_trace, cuda_kern_exec_sum, nvtx_sum, nvtx_pushpop_sum, "
        "nvtx_gpu_proj_sum, nvtx_kern_sum, osrt_sum. Those of kernels take ':base' (names without "
        "template arguments) or ':mangled' behind their names. Without any: nvtx_sum, osrt_sum, "
        "cuda_api_sum, cuda_gpu_kern_sum, cuda_gpu_mem_time_sum and cuda_gpu_mem_size_sum.",
    .examples = "flopledger nsys-stats profile.sqlite\n"
                "    the usual summaries\n"
                "flopledger nsys-stats --format csv profile.sqlite cuda_gpu_kern_sum\n"
                "    one report for a script\n"
                "flopledger nsys-stats --format csv profile.sqlite cuda_gpu_kern_sum:base\n"
                "    kernels by their short names",
    .options = nsys_stats_options,
    .run = run_nsys_stats,
};
