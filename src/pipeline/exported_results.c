/* Writes results for another program, and the report on one rank as a text. */
#include "pipeline/exported_results.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/io/output_file.h"
#include "base/io/output_folder.h"
#include "base/text/display_text.h"
#include "output/reports/write_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    bool is_done = all_reports()[0]->write(stream, &alone, &options, error);

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

    if (format->wants_reports) {
        content.reports = exported_results_print_reports(results, error);
        if (!content.reports)
            return false;
    }
    return format->place == EXPORT_FOLDER
               ? exported_results_write_folder(place, format, &content, error)
               : exported_results_write_file(place->path, format, &content, error);
}
