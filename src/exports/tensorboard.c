/* Event files of TensorBoard, a folder for each rank where there are several. */
#include "base/attributes.h"
#include "base/folders.h"
#include "base/out_of_memory.h"
#include "base/output_file.h"
#include "exports/event_file.h"
#include "exports/export_format.h"
#include "exports/tensorboard_run.h"
#include "results/find_results.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The folder of a rank among several: "rank3", or what the label leaves as a name of a file. free()
 * it. */
static char *run_folder(const char *folder, const struct results *results, size_t index)
{
    const struct rank_results *rank = &results->ranks[index];
    char *path;
    int length;

    if (results->rank_count == 1)
        length = asprintf(&path, "%s", folder);
    else if (rank->rank >= 0)
        length = asprintf(&path, "%s/rank%lld", folder, (long long)rank->rank);
    else
        length = asprintf(&path, "%s/%zu_%s", folder, index, rank->label);
    if (length < 0)
        end_out_of_memory();
    for (char *at = path + strlen(folder) + 1; results->rank_count > 1 && *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
            *at = '_';
    return path;
}

/* The same trace writes the same file again; "tfevents" is what TensorBoard looks for in names. */
static char *event_path(const char *folder, const struct rank_results *rank)
{
    struct value number =
        find_cell_at(find_table(find_section(rank, "step_ledger"), "steps"), 0, "step");
    char *path;

    if (asprintf(&path, "%s/events.out.tfevents.%010lld.flopledger.step%lld", folder,
                 (long long)tensorboard_run_start(rank),
                 value_is_number(&number) ? (long long)number.integer : 0) < 0)
        end_out_of_memory();
    return path;
}

static bool write_run(const char *path, const struct rank_results *rank, const char *report,
                      struct error *error)
{
    SCOPED(output_file) file = {0};

    if (!output_file_open(&file, path, error))
        return false;
    event_file_begin(file.stream, tensorboard_run_start(rank));
    tensorboard_add_run(file.stream, rank, report);
    return output_file_close(&file, error);
}

static bool write_tensorboard(const char *folder, const struct export_content *content,
                              size_t *file_count, struct error *error)
{
    const struct results *results = content->results;

    for (size_t i = 0; i < results->rank_count; i++) {
        char *run = run_folder(folder, results, i);
        char *path = event_path(run, &results->ranks[i]);
        bool is_done = make_folders(run) || error_set(error, ERROR_FAILURE, "cannot make '%s': %s",
                                                      run, strerror(errno));

        is_done = is_done && write_run(path, &results->ranks[i], content->reports[i], error);
        free(run);
        free(path);
        if (!is_done)
            return false;
        ++*file_count;
    }
    return true;
}

const struct export_format tensorboard_export = {
    .name = "tensorboard",
    .summary = "event files, a folder for each rank",
    .place = EXPORT_FOLDER,
    .wants_reports = true,
    .write_folder = write_tensorboard,
};
