/* Event files of TensorBoard, a folder for each rank where there are several. */
#include "base/core/attributes.h"
#include "base/text/owned_text.h"
#include "output/exports/export_format.h"
#include "output/exports/tensorboard_run.h"
#include "output/exports/tensorboard_summary.h"
#include "output/results/metrics.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* In front of the names of a rank's files, among several: "rank3/", or what the label leaves as a
 * name of a folder. free() it. The last byte is the slash, and stays. */
static char *run_folder(const struct results *results, size_t index)
{
    const struct rank_results *rank = &results->ranks[index];
    char *name;

    if (results->rank_count == 1)
        name = text_copy("");
    else if (rank->rank >= 0)
        name = text_format("rank%lld/", (long long)rank->rank);
    else
        name = text_format("%zu_%s/", index, rank->label);
    for (char *at = name; *at && at[1]; at++)
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
            *at = '_';
    return name;
}

/* The same trace writes the same file again; "tfevents" is what TensorBoard looks for in names.
 * The time in the name is that of the run, and not of the export: writing the same trace once
 * more replaces the file, where a new name would show its steps twice. */
static char *event_name(const char *folder, const struct rank_results *rank)
{
    struct value number =
        metric_cell(metric_column(rank, METRIC_STEP_DURATION).table, 0, METRIC_STEP);
    char *name = text_format("%sevents.out.tfevents.%010lld.flopledger.step%lld", folder,
                             (long long)tensorboard_run_start(rank),
                             value_is_number(&number) ? (long long)number.integer : 0);

    return name;
}

static bool write_run(struct output_folder *folder, const char *name,
                      const struct rank_results *rank, const char *report, struct error *error)
{
    SCOPED(output_file) file = {0};

    if (!output_folder_add(folder, &file, name, error))
        return false;
    event_file_begin(file.stream, tensorboard_run_start(rank));
    tensorboard_add_run(file.stream, rank, report);
    return output_file_close(&file, error);
}

/* A folder is a run in TensorBoard: one for each rank makes their curves stand in the same
 * charts, with a color of each. */
static bool write_tensorboard(struct output_folder *folder, const struct export_content *content,
                              struct error *error)
{
    const struct results *results = content->results;
    bool is_done = true;

    for (size_t i = 0; i < results->rank_count && is_done; i++) {
        char *run = run_folder(results, i);
        char *name = event_name(run, &results->ranks[i]);

        is_done = write_run(folder, name, &results->ranks[i], content->reports[i], error);
        free(run);
        free(name);
    }
    return is_done;
}

const struct export_format tensorboard_export = {
    .name = "tensorboard",
    .summary = "event files, a folder for each rank",
    .place = EXPORT_FOLDER,
    .wants_reports = true,
    .write_folder = write_tensorboard,
};
