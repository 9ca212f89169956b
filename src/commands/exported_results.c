/* Writes results for another program. */
#include "commands/exported_results.h"

#include "base/folders.h"
#include "base/out_of_memory.h"
#include "base/output_file.h"
#include "commands/page_options.h"
#include "commands/printed_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool check_export_place(const struct export_format *format, const char *output, struct error *error)
{
    struct page_settings page = {.output = output};
    bool is_folder = format->place == EXPORT_FOLDER;

    if (format->place != EXPORT_TEXT && (!output || strcmp(output, "-") == 0))
        return error_set(error, ERROR_USAGE, "export %s writes a %s: name it with --output %s",
                         format->name, is_folder ? "folder" : "file",
                         is_folder ? "FOLDER" : "FILE");
    return is_folder || check_output(&page, error);
}

static bool write_stream(FILE *output, const struct export_format *format,
                         const struct export_content *content, struct error *error)
{
    if (!format->write(output, content, error))
        return false;
    return !ferror(output) ||
           error_set(error, ERROR_FAILURE, "cannot write the export: is the disk full?");
}

static bool write_file(const char *path, const struct export_format *format,
                       const struct export_content *content, struct error *error)
{
    SCOPED(output_file) file = {0};

    if (!path || strcmp(path, "-") == 0)
        return write_stream(stdout, format, content, error);
    if (!output_file_open(&file, path, error) || !write_stream(file.stream, format, content, error))
        return false;
    return output_file_close(&file, error);
}

static bool write_folder(const char *path, const struct export_format *format,
                         const struct export_content *content, struct error *error)
{
    char *folder = strdup(path);
    size_t file_count = 0;
    bool is_done;

    if (!folder)
        end_out_of_memory();
    is_done = make_folders(folder) ||
              error_set(error, ERROR_FAILURE, "cannot make '%s': %s", path, strerror(errno));
    is_done = is_done && format->write_folder(folder, content, &file_count, error);
    free(folder);
    if (is_done)
        (void)printf("%zu file%s in %s\n", file_count, file_count == 1 ? "" : "s", path);
    return is_done;
}

/* NULL with `error` set where one can't be made. */
static const char *const *print_reports(struct results *results, struct error *error)
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

bool export_results(struct results *results, const struct export_format *format, const char *output,
                    struct error *error)
{
    struct export_content content = {.results = results};

    if (format->wants_reports) {
        content.reports = print_reports(results, error);
        if (!content.reports)
            return false;
    }
    return format->place == EXPORT_FOLDER ? write_folder(output, format, &content, error)
                                          : write_file(output, format, &content, error);
}
