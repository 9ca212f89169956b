/* Writes results for another program, itself or by the Python package, which has the libraries that
 * some exports need; and the report on one rank as a text. */
#include "pipeline/exported_results.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/io/output_file.h"
#include "base/io/output_folder.h"
#include "base/text/display_text.h"
#include "live/run/run_parts.h"
#include "output/reports/write_report.h"
#include "output/results/device_words.h"
#include "pipeline/capture_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPORT_WIDTH = 100 };

/* A view of one rank: ranks and texts stay where they are, and nothing is copied. */
const char *print_rank_report(struct results *results, size_t index, struct error *error)
{
    struct report_options options = {.width = REPORT_WIDTH, .use_unicode = true};
    struct results alone = {.ranks = &results->ranks[index], .rank_count = 1};
    char *text = NULL;
    const char *kept = NULL;
    size_t size;
    FILE *stream = require_memory(open_memstream(&text, &size));
    bool is_done;

    results_use_device_words(results);
    is_done = all_reports()[0]->write(stream, &alone, &options, error);
    if (fclose(stream) != 0)
        end_out_of_memory();
    if (is_done)
        kept = results_text(results, text);
    free(text);
    return kept;
}

/* Only text may go to standard output: several files cannot, and a database has to be written
 * at many places. */
bool check_export_place(const struct export_format *format, const struct output_place *place,
                        const struct output_inputs *inputs, struct error *error)
{
    bool is_folder = format->place == EXPORT_FOLDER;

    if (format->place != EXPORT_TEXT && (!place->path || strcmp(place->path, "-") == 0))
        return error_set(error, ERROR_USAGE, "export %s writes a %s: name it with --output %s",
                         format->name, is_folder ? "folder" : "file",
                         is_folder ? "FOLDER" : "FILE");
    return is_folder ? check_output_folder(place, error) : check_output_place(place, inputs, error);
}

static bool exported_results_write_file(const char *path, const struct export_format *format,
                                        const struct export_content *content, struct error *error)
{
    SCOPED(output_file) file = {0};

    if (!path || strcmp(path, "-") == 0)
        return format->write(stdout, content, error);
    return output_file_open(&file, path, error) && format->write(file.stream, content, error) &&
           output_file_close(&file, error);
}

/* A file that holds data is refused unless forced, since a trace that is overwritten cannot be
 * recorded again. The count is taken before the folder is closed, which clears it. */
static bool exported_results_write_folder(const struct output_place *place,
                                          const struct export_format *format,
                                          const struct export_content *content, struct error *error)
{
    SCOPED(output_folder) folder = {0};
    size_t count;

    if (!output_folder_open(&folder, place->path, error))
        return false;
    folder.data_in_file = place->is_forced ? NULL : data_that_file_holds;
    if (!format->write_folder(&folder, content, error))
        return false;
    count = folder.count;
    if (!output_folder_close(&folder, error))
        return false;
    (void)printf("%zu file%s in %s\n", count, count == 1 ? "" : "s", show_text(place->path).text);
    return true;
}

/* NULL with `error` set where one can't be made. All are printed before the first byte is
 * written: a failure then leaves no half of an export. */
static const char *const *exported_results_print_reports(struct results *results,
                                                         struct error *error)
{
    const char **reports =
        results_allocate(results, (results->rank_count + 1) * sizeof(const char *));

    for (size_t i = 0; i < results->rank_count; i++) {
        reports[i] = print_rank_report(results, i, error);
        if (!reports[i])
            return NULL;
    }
    return reports;
}

/* Reports as text are made only for formats that carry them, as they take a pass over all
 * results. */
bool export_results(struct results *results, const struct export_format *format,
                    const struct output_place *place, struct error *error)
{
    struct export_content content = {.results = results};

    results_use_device_words(results);
    if (format->wants_reports) {
        content.reports = exported_results_print_reports(results, error);
        if (!content.reports)
            return false;
    }
    return format->place == EXPORT_FOLDER
               ? exported_results_write_folder(place, format, &content, error)
               : exported_results_write_file(place->path, format, &content, error);
}

static const char *const fleet_formats[] = {"parquet", "arrow"};

bool is_fleet_format(const char *name)
{
    for (size_t i = 0; name && i < sizeof fleet_formats / sizeof *fleet_formats; i++)
        if (strcmp(name, fleet_formats[i]) == 0)
            return true;
    return false;
}

static void set_for_python(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        end_out_of_memory();
}

static const char *path_with(struct arena *arena, const char *first, const char *rest)
{
    size_t size = strlen(first) + (rest ? strlen(rest) : 0) + 2;
    char *joined = arena_allocate(arena, size);

    snprintf(joined, size, "%s%s%s", first, rest && rest[0] ? ":" : "", rest ? rest : "");
    return joined;
}

/* The package is found, asks this program, and records nothing. Set in this process, which is
 * replaced by Python in a moment, or whose child it is. Capturing is switched off: the exporter
 * is a Python program, too, and would else record itself. */
static bool ready_environment(struct arena *arena, struct error *error)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *start = find_python_package(arena, error);
    char *above;
    char *slash;

    if (!start)
        return false;
    above = arena_copy_text(arena, start, strlen(start));
    for (int up = 0; up < 2; up++) { /* from flopledger/start to what holds flopledger */
        slash = strrchr(above, '/');
        if (slash && slash != above)
            *slash = '\0';
    }
    set_for_python("PYTHONPATH", path_with(arena, above, getenv("PYTHONPATH")));
    unsetenv("FLOPLEDGER_CAPTURE");
    if (length > 0) {
        self[length] = '\0';
        set_for_python("FLOPLEDGER", self);
    }
    return true;
}

/* What is started: the module, then `arguments`. Room for python, the two words of the module
 * and the NULL. */
static char **fleet_command(struct arena *arena, char **arguments, int count)
{
    static const char *const module[] = {"-m", "flopledger.fleet"};
    const char *python = python_to_run(arena);
    char **command = arena_allocate(arena, ((size_t)count + 4) * sizeof *command);
    int used = 0;

    command[used++] = arena_copy_text(arena, python, strlen(python));
    for (size_t i = 0; i < sizeof module / sizeof *module; i++)
        command[used++] = arena_copy_text(arena, module[i], strlen(module[i]));
    for (int i = 0; i < count; i++)
        command[used++] = arguments[i];
    command[used] = NULL;
    return command;
}

/* execvp comes back only if it failed. */
bool export_by_python(char **arguments, int count, struct error *error)
{
    SCOPED(arena) arena = {0};
    char **command;

    if (!ready_environment(&arena, error))
        return false;
    command = fleet_command(&arena, arguments, count);
    execvp(command[0], command);
    return error_set(error, ERROR_FAILURE,
                     "cannot start '%s' (%s), which writes Parquet and Arrow files with pyarrow",
                     command[0], strerror(errno));
}

/* A failure is printed here and told by the result only: the capture itself is complete, and
 * can be added to the fleet later. */
bool add_to_fleet(const char *fleet, const char *labels, const char *capture)
{
    SCOPED(arena) arena = {0};
    struct error error = {0};
    char *words[] = {"parquet", "--output", NULL, "--label", NULL, NULL};
    int status = 1;

    words[2] = arena_copy_text(&arena, fleet, strlen(fleet));
    words[4] = arena_copy_text(&arena, labels ? labels : "", labels ? strlen(labels) : 0);
    words[5] = arena_copy_text(&arena, capture, strlen(capture));
    if (!ready_environment(&arena, &error) ||
        !run_program(fleet_command(&arena, words, 6), &status, &error))
        fprintf(stderr, "flopledger: %s\n", error.message);
    return status == 0;
}
