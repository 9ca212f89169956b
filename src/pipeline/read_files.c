/* Reads traces, several files at once, and makes results of each. */
#include "pipeline/read_files.h"

#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/io/progress.h"
#include "base/text/owned_text.h"
#include "pipeline/file_kind.h"
#include "readers/open_trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One rank of one file on its way to results. */
struct file_job {
    const struct input_file *file;
    const struct trace_source *source;
    uint32_t part;
    uint32_t parts_before; /* of the files before it: what its rank counts from, where the file only
                              counts */
    struct results results;
    struct error error;
    int64_t rank;              /* -1: not known */
    uint32_t merged_processes; /* that turned out to be in the file: it is to be read for each */
    bool is_used;
    bool is_damaged;
};

/* What the threads share. */
struct job_list {
    struct file_job *jobs;
    size_t count;
    const struct input_files *files;
    atomic_size_t next;
    bool has_parts; /* some file is of several ranks: numbers in names are then of hosts, or none */
    unsigned threads_per_file;
    const struct file_reading *reading;
    struct progress *progress;
};

/* The order of what tells the rank: the trace itself; the name of its file; the place in a file of
 * several ranks, which counts on from the files before. Where some file has several, a number in
 * the name of another only tells its place, too. */
static void set_rank(struct run_facts *facts, const struct file_job *job, bool has_parts)
{
    if (facts->rank < 0 && job->file->rank >= 0) {
        facts->rank = has_parts ? 0 : job->file->rank;
        facts->is_rank_by_order = has_parts;
    }
    if (facts->is_rank_by_order)
        facts->rank += job->parts_before;
}

/* Recordings that were merged into one file: read once more where it is the only one. Beside others
 * it may hold what they do. */
static bool turns_out_merged(struct file_job *job, const struct trace *trace,
                             const struct job_list *list)
{
    uint32_t count = trace->read.merged_processes;

    if (count < 2 || job->source->part_count > 1 || trace->sums)
        return false;
    if (list->files->count > 1)
        (void)error_set(&job->error, ERROR_INPUT,
                        "'%s' is left out: recordings of %" PRIu32
                        " processes were merged into it, which may be those of other files here; "
                        "name it alone to read it",
                        job->source->path, count);
    else
        job->merged_processes = count;
    return true;
}

/* All writing goes to the job's own fields, so that threads share nothing but the list's counter.
 */
static void do_job(struct file_job *job, const struct job_list *list)
{
    struct read_options options = {.threads = list->threads_per_file,
                                   .progress = list->progress,
                                   .part = job->part,
                                   .part_count = job->source->part_count,
                                   .keeps_memory = list->reading->keeps_memory,
                                   .skips_details = list->reading->skips_details};
    SCOPED(trace) trace = {0};

    if (job->error.class != ERROR_NONE) /* its file could not even be looked into */
        return;
    if (!open_trace_part(&trace, job->source, &options, &job->error)) {
        (void)explain_file_kind(job->source->path, "report", &job->error);
        return;
    }
    if (turns_out_merged(job, &trace, list))
        return;
    trace.name = job->file->name;
    set_rank(&trace.facts, job, list->has_parts);
    job->rank = trace.facts.rank;
    job->is_damaged = read_is_partial(&trace.read);
    if (list->reading->captures &&
        !attribute_graphs_of(&trace, list->reading->captures, &job->results, &job->error))
        return;
    job->is_used = list->reading->use(&job->results, &trace, list->reading->context, &job->error);
}

/* A counter that is fetched and raised at once hands each job to one thread; a large file
 * keeps one thread busy while the others take the small ones. */
static void *work_through(void *argument)
{
    struct job_list *list = argument;

    for (;;) {
        size_t index = atomic_fetch_add(&list->next, 1);

        if (index >= list->count)
            return NULL;
        do_job(&list->jobs[index], list);
    }
}

/* The calling thread works too. A thread that cannot be started is no error: the others do its
 * work, and the calling thread is one of them. */
static void work_in_parallel(struct job_list *list, unsigned workers)
{
    pthread_t *threads = calloc(workers, sizeof *threads);
    unsigned started = 0;

    if (!threads)
        end_out_of_memory();
    while (started + 1 < workers &&
           pthread_create(&threads[started], NULL, work_through, list) == 0)
        started++;
    work_through(list);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

/* Unknown ranks are -1, which as an unsigned number is above all others. The path is the last
 * word, and no two jobs agree in path and part. */
static int compare_jobs(const void *a, const void *b)
{
    const struct file_job *const *first = a;
    const struct file_job *const *second = b;

    if ((*first)->rank != (*second)->rank) /* -1, not known, behind all others */
        return (uint64_t)(*first)->rank < (uint64_t)(*second)->rank ? -1 : 1;
    if ((*first)->part != (*second)->part && (*first)->source == (*second)->source)
        return (*first)->part < (*second)->part ? -1 : 1;
    return strcmp((*first)->source->path, (*second)->source->path);
}

/* Counts the job, and names it as a problem where it failed. The first error is told to the
 * user, but one of a kind that can be repaired goes before "no data", which several files of a
 * folder may well have. */
static void account_for(struct files_read *outcome, struct results *results,
                        const struct file_job *job, const struct file_reading *reading)
{
    if (job->is_used) {
        outcome->used_count++;
        outcome->damaged_count += job->is_damaged;
        return;
    }
    outcome->failed_count++;
    if (outcome->failed_count == 1 ||
        (outcome->first_error.class == ERROR_NO_DATA && job->error.class != ERROR_NO_DATA))
        outcome->first_error = job->error;
    if (reading->fail) {
        reading->fail(job->file, &job->error, reading->context);
        return;
    }
    results_add_failure(results, &job->error);
}

/* Results come in the order of ranks, not of threads: the report is the same with one thread
 * and with many. */
static void read_files_gather(struct files_read *outcome, struct results *results,
                              struct job_list *list)
{
    struct file_job **sorted = calloc(list->count, sizeof(struct file_job *));
    size_t used_count = 0;

    if (!sorted)
        end_out_of_memory();
    for (size_t i = 0; i < list->count; i++) {
        account_for(outcome, results, &list->jobs[i], list->reading);
        if (list->jobs[i].is_used)
            sorted[used_count++] = &list->jobs[i];
    }
    qsort(sorted, used_count, sizeof(struct file_job *), compare_jobs);
    for (size_t i = 0; i < used_count; i++)
        results_take(results, &sorted[i]->results);
    free(sorted);
}

/* A job of each rank in the file. */
static void add_jobs(struct job_list *list, const struct input_file *file,
                     const struct trace_source *source, uint32_t parts_before,
                     const struct error *error)
{
    for (uint32_t part = 0; part < source->part_count; part++)
        ARRAY_ADD(list->jobs, list->count,
                  (struct file_job){.file = file,
                                    .source = source,
                                    .part = part,
                                    .parts_before = parts_before,
                                    .error = *error});
    list->has_parts = list->has_parts || source->part_count > 1;
}

/* Looks into the files, and makes a job of each rank in them; free() the jobs. A file that
 * cannot be opened is a job as well, which fails with that error: then all files are counted in
 * one place. Sources must not move, since jobs point to them: the caller has made room for all. */
static void list_jobs(struct job_list *list, struct trace_source *sources)
{
    const struct input_files *files = list->files;
    uint32_t parts_before = 0;

    for (size_t i = 0; i < files->count; i++) {
        struct error error = {0};

        if (!trace_source_open(&sources[i], files->files[i].path, &error))
            sources[i] =
                (struct trace_source){.path = text_copy(files->files[i].path), .part_count = 1};
        add_jobs(list, &files->files[i], &sources[i], parts_before, &error);
        parts_before += sources[i].part_count;
    }
}

/* Does what there is to do, with as many threads as that needs. */
static void do_jobs(struct job_list *list)
{
    const struct file_reading *reading = list->reading;
    unsigned workers = list->count < reading->threads ? (unsigned)list->count : reading->threads;

    workers = workers > 0 ? workers : 1;
    list->threads_per_file = reading->threads / workers;
    list->next = 0;
    for (size_t i = 0; i < list->count; i++)
        results_init(&list->jobs[i].results);
    list->progress = progress_new("reading", list->files->bytes_in_all, reading->shows_progress);
    work_in_parallel(list, workers);
    progress_free(list->progress);
}

/* The only file turned out to hold several recordings: a job of each. */
static void do_merged(struct job_list *list, struct trace_source *source)
{
    static const struct error none = {0};
    struct file_job *first = list->jobs;

    source->part_count = first->merged_processes;
    results_clear(&first->results);
    free(first);
    list->jobs = NULL;
    list->count = 0;
    add_jobs(list, &list->files->files[0], source, 0, &none);
    do_jobs(list);
}

/* Threads go to files first, and what is left to each file: 16 threads read 4 files with 4 each. */
void read_files(struct files_read *outcome, struct results *results,
                const struct input_files *files, const struct file_reading *reading)
{
    struct trace_source *sources = require_memory(calloc(files->count, sizeof *sources));
    struct job_list list = {.reading = reading, .files = files};

    list_jobs(&list, sources);
    do_jobs(&list);
    if (list.count == 1 && list.jobs[0].merged_processes)
        do_merged(&list, &sources[0]);
    read_files_gather(outcome, results, &list);
    for (size_t i = 0; i < list.count; i++)
        results_clear(&list.jobs[i].results);
    for (size_t i = 0; i < files->count; i++)
        trace_source_clear(&sources[i]);
    free(list.jobs);
    free(sources);
}

unsigned default_thread_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores > 0 ? (unsigned)cores : 1;
}

/* One reason, the worst: files that were not used at all before damage in those that were. */
bool check_files_read(const struct files_read *outcome, struct error *error)
{
    if (outcome->failed_count == 1)
        return error_set(error, ERROR_PARTIAL, "%s (the report is of the rest)",
                         outcome->first_error.message);
    if (outcome->failed_count > 1)
        return error_set(error, ERROR_PARTIAL, "%zu of %zu files could not be used; the first: %s",
                         outcome->failed_count, outcome->failed_count + outcome->used_count,
                         outcome->first_error.message);
    if (outcome->damaged_count > 0)
        return error_set(error, ERROR_PARTIAL,
                         "part of the input is cut or damaged: the report is of the rest");
    return true;
}
