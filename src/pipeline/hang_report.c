/* What hangs in a job, by the dumps of its flight recorders: finds the files that a command line
 * names, reads them side by side, and prints what they tell together. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/worker_threads.h"
#include "base/io/input_stream.h"
#include "base/io/progress.h"
#include "base/text/owned_text.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/read_files.h"
#include "pipeline/subcommands.h"
#include "ranks/hang/flight_causes.h"
#include "readers/flight_recorder/read_flight_dump.h"
#include "sections/hang/flight_sections.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- which files ---- */

struct dump_file {
    char *path;
    int64_t bytes;
};

/* A zeroed one is empty. */
struct dump_files {
    struct dump_file *files; /* [count]: in the order given, those of a folder by name */
    size_t count;
    int64_t bytes; /* in all */
};

static void dump_files_add_file(struct dump_files *files, char *path, int64_t bytes)
{
    ARRAY_ADD(files->files, files->count, (struct dump_file){.path = path, .bytes = bytes});
    files->bytes += bytes;
}

/* The name first: of a folder's many files few end in a rank, and only these are opened. */
static bool is_dump(const char *path)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;
    uint32_t rank;

    if (!flight_rank_of_name(path, &rank) || !input_stream_open(&input, path, false, NULL))
        return false;
    head = input_stream_peek(&input);
    return head.length > 0 && looks_like_flight_dump(head.text, head.length);
}

static int dump_files_is_no_hidden_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* versionsort: rank 10 comes behind rank 9. Other files are passed over, since logs stand in
 * such folders too; no dump at all is an error. */
static bool dump_files_add_folder(struct dump_files *files, const char *folder, struct error *error)
{
    struct dirent **entries = NULL;
    size_t count_before = files->count;
    int count = scandir(folder, &entries, dump_files_is_no_hidden_file, versionsort);

    if (count < 0)
        return error_set(error, ERROR_INPUT, "cannot read the folder '%s': %s", folder,
                         strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat status;
        char *path = path_join(folder, entries[i]->d_name);

        if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && is_dump(path))
            dump_files_add_file(files, path, status.st_size);
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    return files->count > count_before ||
           error_set(error, ERROR_INPUT,
                     "no dump of a flight recorder in the folder '%s' (other files: %d): their "
                     "names end with the rank, as in nccl_trace_rank_3",
                     folder, count);
}

/* Files given by name are taken as they are; of a folder those that begin as a dump does and whose
 * name holds a number. Errors: no operand (ERROR_USAGE), a folder that cannot be read or holds no
 * dump (ERROR_INPUT). */
static bool find_dump_files(struct dump_files *files, char **operands, int count,
                            struct error *error)
{
    if (count == 0)
        return error_set(error, ERROR_USAGE,
                         "no dump given: name the files that PyTorch's flight recorder wrote, one "
                         "of each rank (by default /tmp/nccl_trace_rank_N), or their folder");
    for (int i = 0; i < count; i++) {
        struct stat status = {0};

        if (stat(operands[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            if (!dump_files_add_folder(files, operands[i], error))
                return false;
            continue;
        }
        dump_files_add_file(files, text_copy(operands[i]), status.st_size);
    }
    return true;
}

static void dump_files_clear(struct dump_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->files[i].path);
    free(files->files);
    memset(files, 0, sizeof *files);
}

/* ---- reading ---- */

/* One of the files that are read side by side. */
struct read_dump {
    const char *path;
    struct pickle_tree tree;
    struct error error;
    bool is_read;
};

static void read_one(void *argument, size_t index)
{
    struct read_dump *dump = (struct read_dump *)argument + index;

    dump->is_read = read_flight_tree(&dump->tree, dump->path, &dump->error);
}

/* What became of the files. */
struct dumps_read {
    size_t failed_count;
    size_t damaged_count;
    struct error first_error;
    struct hash_map dump_of_rank; /* rank -> index in dumps */
};

static void hang_note_failure(struct results *results, struct dumps_read *outcome,
                              const struct error *error)
{
    if (outcome->failed_count++ == 0)
        outcome->first_error = *error;
    results_add_failure(results, error);
}

/* A dump does not hold its own rank; the recorder puts it at the end of the file's name. */
static void parse_dump(struct flight_dumps *dumps, struct read_dump *read, struct results *results,
                       struct dumps_read *outcome)
{
    uint32_t rank = 0;
    uint32_t known = NO_VALUE;
    bool is_taken = read->is_read;

    if (is_taken && !flight_rank_of_name(read->path, &rank))
        is_taken = error_set(&read->error, ERROR_INPUT,
                             "'%s': the name holds no number, so the rank is not known: name dumps "
                             "as the recorder does, nccl_trace_rank_3",
                             read->path);
    if (is_taken)
        known = hash_map_find(&outcome->dump_of_rank, rank);
    /* Two dumps of one rank are of two moments: which is meant cannot be known. */
    if (known != NO_VALUE && dumps->dumps)
        is_taken = error_set(&read->error, ERROR_INPUT,
                             "'%s': a second dump of rank %u, beside '%s': name one of them "
                             "(the rank is the last number of a file's name)",
                             read->path, rank, dumps->dumps[known].path);
    if (is_taken)
        is_taken = add_flight_dump(dumps, &read->tree, read->path, rank, &read->error);
    if (is_taken)
        (void)hash_map_set(&outcome->dump_of_rank, rank, (uint32_t)dumps->dump_count - 1);
    if (!is_taken)
        hang_note_failure(results, outcome, &read->error);
    else
        outcome->damaged_count += note_file_rest(results, read->path, &read->tree.rest);
    pickle_tree_clear(&read->tree);
}

/* As many files at once as there are threads; they are taken in their order. */
static void read_dumps(struct flight_dumps *dumps, const struct dump_files *files,
                       const struct hang_report *wanted, struct results *results,
                       struct dumps_read *outcome)
{
    unsigned threads = wanted->threads > 0 ? (unsigned)wanted->threads : default_thread_count();
    struct read_dump *batch = require_memory(calloc(threads, sizeof *batch));
    struct progress *progress = progress_new("reading", files->bytes, wanted->shows_progress);

    for (size_t done = 0; done < files->count;) {
        size_t count = files->count - done < threads ? files->count - done : threads;

        memset(batch, 0, threads * sizeof *batch);
        for (size_t i = 0; i < count; i++)
            batch[i].path = files->files[done + i].path;
        run_side_by_side(threads, count, read_one, batch);
        for (size_t i = 0; i < count; i++) {
            parse_dump(dumps, &batch[i], results, outcome);
            progress_advance(progress, files->files[done + i].bytes);
        }
        done += count;
    }
    progress_free(progress);
    free(batch);
    hash_map_clear(&outcome->dump_of_rank);
    flight_dumps_finish(dumps);
}

/* ---- the page ---- */

/* In this order: mismatches are of joined calls, and causes of stalls. */
static void hang_describe_job(struct results *results, const struct flight_dumps *dumps,
                              const struct hang_report *wanted)
{
    SCOPED(flight_join) join = {0};
    SCOPED(flight_mismatches) mismatches = {0};
    SCOPED(flight_stalls) stalls = {0};
    SCOPED(flight_causes) causes = {0};
    struct flight_view view = {
        .dumps = dumps,
        .join = &join,
        .mismatches = &mismatches,
        .stalls = &stalls,
        .causes = &causes,
        .top = wanted->top,
    };
    struct rank_results *page =
        results_add_rank(results, "job", "flight recorder", -1,
                         speakers_by_backend(flight_text(dumps, dumps->backend)));
    struct section *unfinished;

    flight_join_calls(&join, dumps);
    flight_find_mismatches(&mismatches, &join);
    flight_find_stalls(&stalls, &join);
    flight_find_causes(&causes, &stalls, &join);
    page->headline = flight_headline(results, &view);
    rank_add_section(results, page, describe_flight_verdict(results, &view));
    unfinished = describe_flight_stalls(results, &view);
    if (unfinished)
        rank_add_section(results, page, unfinished);
    rank_add_section(results, page, describe_flight_ranks(results, &view));
}

/* What was read is shown before what was not is told: half of the dumps may name the rank that
 * all wait for. */
static bool print_hang(const struct dump_files *files, const struct hang_report *wanted,
                       struct error *error)
{
    SCOPED(flight_dumps) dumps = {0};
    SCOPED(results) results = {0};
    struct dumps_read outcome = {0};

    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    read_dumps(&dumps, files, wanted, &results, &outcome);
    if (dumps.dump_count == 0) {
        *error = outcome.first_error;
        return false;
    }
    hang_describe_job(&results, &dumps, wanted);
    if (!print_page(&results, wanted->page, error))
        return false;
    if (outcome.failed_count > 0)
        return error_set(error, ERROR_PARTIAL, "%zu of %zu dumps cannot be used",
                         outcome.failed_count, files->count);
    return outcome.damaged_count == 0 ||
           error_set(error, ERROR_PARTIAL, "%zu of %zu dumps are damaged behind their end",
                     outcome.damaged_count, files->count);
}

/* The list of files is freed here however the report ends. */
bool print_hang_of_dumps(char **operands, int count, const struct hang_report *wanted,
                         struct error *error)
{
    struct dump_files files = {0};
    bool is_done =
        find_dump_files(&files, operands, count, error) && print_hang(&files, wanted, error);

    dump_files_clear(&files);
    return is_done;
}
