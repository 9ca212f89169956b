/* Reads traces and runs all analyses on them, several files at once. */
#include "commands/analyse_files.h"

#include "analyses/run_analyses.h"
#include "base/attributes.h"
#include "base/progress.h"
#include "readers/open_trace.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One file on its way to results. */
struct file_job {
    const struct input_file *file;
    struct results results;
    struct error error;
    int64_t rank; /* -1: not known */
    bool is_read;
    bool is_damaged;
    bool has_no_step;
};

/* What the threads share. */
struct job_list {
    struct file_job *jobs;
    size_t count;
    atomic_size_t next;
    unsigned threads_per_file;
    const struct analyse_options *options;
    struct progress *progress;
};

/* The trace and its ledger are gone again before this returns: only results stay. */
static void analyse_file(struct file_job *job, const struct job_list *list)
{
    struct read_options read_options = {.threads = list->threads_per_file,
                                        .progress = list->progress};
    SCOPED(trace) trace = {0};
    SCOPED(ledger) ledger = {0};
    struct analysis_input input = {
        .trace = &trace, .ledger = &ledger, .options = &list->options->analysis};

    results_init(&job->results);
    job->is_read = open_trace(&trace, job->file->path, &read_options, &job->error);
    if (!job->is_read)
        return;
    book_ledger(&ledger, &trace, &list->options->ledger);
    run_analyses(&job->results, &input);
    job->rank = trace.facts.rank;
    job->is_damaged = trace.read.is_truncated || trace.read.damaged_events > 0;
    job->has_no_step = ledger.step_count == 0;
}

static void *work_through(void *argument)
{
    struct job_list *list = argument;

    for (;;) {
        size_t index = atomic_fetch_add(&list->next, 1);

        if (index >= list->count)
            return NULL;
        analyse_file(&list->jobs[index], list);
    }
}

/* The calling thread works too. */
static void work_in_parallel(struct job_list *list, unsigned workers)
{
    pthread_t *threads = calloc(workers, sizeof *threads);
    unsigned started = 0;

    if (!threads)
        abort();
    while (started + 1 < workers &&
           pthread_create(&threads[started], NULL, work_through, list) == 0)
        started++;
    work_through(list);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static int compare_jobs(const void *a, const void *b)
{
    const struct file_job *const *first = a;
    const struct file_job *const *second = b;

    if ((*first)->rank != (*second)->rank) /* -1, not known, behind all others */
        return (uint64_t)(*first)->rank < (uint64_t)(*second)->rank ? -1 : 1;
    return strcmp((*first)->file->path, (*second)->file->path);
}

/* Counts the job, and names it as a problem where it failed. */
static void account_for(struct analysed_files *outcome, struct results *results,
                        const struct file_job *job)
{
    if (job->is_read) {
        outcome->read_count++;
        outcome->damaged_count += job->is_damaged;
        outcome->empty_count += job->has_no_step;
        return;
    }
    if (outcome->failed_count++ == 0)
        outcome->first_error = job->error;
    results_add_problem(results, (struct finding){.what = results_text(results, job->error.message),
                                                  .cost_ns = -1,
                                                  .is_warning = true});
}

static void gather(struct analysed_files *outcome, struct results *results, struct job_list *list)
{
    struct file_job **sorted = calloc(list->count, sizeof(struct file_job *));
    size_t read_count = 0;

    if (!sorted)
        abort();
    for (size_t i = 0; i < list->count; i++) {
        account_for(outcome, results, &list->jobs[i]);
        if (list->jobs[i].is_read)
            sorted[read_count++] = &list->jobs[i];
    }
    qsort(sorted, read_count, sizeof(struct file_job *), compare_jobs);
    for (size_t i = 0; i < read_count; i++)
        results_take(results, &sorted[i]->results);
    if (read_count > 1)
        add_overview(results);
    free(sorted);
}

void analyse_files(struct analysed_files *outcome, struct results *results,
                   const struct input_files *files, const struct analyse_options *options)
{
    unsigned workers = files->count < options->threads ? (unsigned)files->count : options->threads;
    struct job_list list = {
        .count = files->count, .options = options, .threads_per_file = options->threads / workers};

    list.jobs = calloc(files->count, sizeof *list.jobs);
    if (!list.jobs)
        abort();
    for (size_t i = 0; i < files->count; i++)
        list.jobs[i].file = &files->files[i];
    list.progress = progress_new("reading", files->bytes_in_all, options->shows_progress);
    work_in_parallel(&list, workers);
    progress_free(list.progress);
    gather(outcome, results, &list);
    for (size_t i = 0; i < files->count; i++)
        results_clear(&list.jobs[i].results);
    free(list.jobs);
}
