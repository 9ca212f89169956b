/* `flopledger memory --format internevo`: the files of InternEvo's SimpleMemoryProfiler. */
#include "pipeline/memory_internevo.h"

#include "base/io/output_file.h"
#include "base/io/output_folder.h"
#include "base/text/display_text.h"
#include "base/text/owned_text.h"
#include "memory/internevo_log.h"
#include "memory/internevo_page.h"
#include "pipeline/input_files.h"
#include "pipeline/output_place.h"
#include "pipeline/read_files.h"
#include "pipeline/recorded_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A folder, and what goes there. */
struct folder_writing {
    struct output_folder *folder;
    const struct memory_run *run;
    int32_t device;
};

/* Page number `page`, or the log where it is INTERNEVO_PAGE_COUNT. */
static bool memory_internevo_write_file(struct folder_writing *writing, int page,
                                        struct error *error)
{
    SCOPED(output_file) file = {0};
    bool is_log = page == INTERNEVO_PAGE_COUNT;
    const char *name = is_log ? "memory.log" : internevo_page_file((enum internevo_page)page);

    if (!output_folder_add(writing->folder, &file, name, error))
        return false;
    if (is_log)
        internevo_log_write(file.stream, writing->run, writing->device);
    else
        internevo_page_write(file.stream, writing->run, writing->device, (enum internevo_page)page);
    return output_file_close(&file, error);
}

static int64_t memory_internevo_or_zero(int64_t number)
{
    return number < 0 ? 0 : number;
}

static char *name_folder(const struct memory_settings *settings, const struct memory_batch *batch)
{
    char *path = text_format("%s/memory_trace/rank%lld_dp%lld_tp%lld",
                             settings->page.output ? settings->page.output : ".",
                             (long long)memory_internevo_or_zero(batch->rank),
                             (long long)memory_internevo_or_zero(batch->data_rank),
                             (long long)memory_internevo_or_zero(batch->tensor_rank));

    return path;
}

static bool memory_internevo_write_folder(struct results *results, const struct trace *trace,
                                          const void *context, struct error *error)
{
    const struct memory_settings *settings = context;
    SCOPED(recorded_memory) memory = {.run = {.trace = NULL}};
    SCOPED(output_folder) folder = {0};
    struct folder_writing writing = {.folder = &folder, .run = &memory.run};
    char *path;
    bool is_written;

    if (!recorded_memory_read(&memory, trace, error) ||
        !recorded_memory_device(&memory, settings->device, &writing.device, error))
        return false;
    if (memory.side.mark_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "no marks of tensors stand beside '%s': record with 'flopledger run "
                         "--memory'",
                         trace_text(trace, trace->path));
    path = name_folder(settings, &memory.batch);
    is_written = output_folder_open(&folder, path, error);
    folder.data_in_file = settings->page.is_forced ? NULL : data_that_file_holds;
    for (int page = 0; page <= INTERNEVO_PAGE_COUNT && is_written; page++)
        is_written = memory_internevo_write_file(&writing, page, error);
    is_written = is_written && output_folder_close(&folder, error);
    if (is_written)
        results_add_rank(results, "", results_text(results, path), memory.batch.rank);
    free(path);
    return is_written;
}

bool write_internevo_folders(char **paths, int count, const struct memory_settings *settings,
                             struct error *error)
{
    SCOPED(input_files) files = {0};
    SCOPED(results) results = {0};
    struct file_reading reading = {
        .threads = settings->threads > 0 ? (unsigned)settings->threads : default_thread_count(),
        .shows_progress = settings->shows_progress,
        .keeps_memory = true,
        .use = memory_internevo_write_folder,
        .context = settings,
    };
    struct files_read outcome = {0};

    if (!find_input_files(&files, paths, count, error))
        return false;
    results_init(&results);
    read_files(&outcome, &results, &files, &reading);
    for (size_t i = 0; i < results.rank_count; i++)
        (void)printf("%s\n", show_text(results.ranks[i].file).text);
    if (outcome.used_count == 0) {
        *error = outcome.first_error;
        return false;
    }
    return check_files_read(&outcome, error);
}
