/* The step records of recorded runs as the events of a job. */
#include "pipeline/recorded_job.h"

#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/io/folders.h"
#include "base/text/format.h"
#include "base/text/owned_text.h"
#include "pipeline/recorded_attempt.h"
#include "pipeline/running_capture.h"
#include "readers/step_record/read_step_record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The records of one rank, in the order of time. */
struct attempt_files {
    struct recorded_attempt *attempts;
    size_t count;
    struct error first_error; /* of those that cannot be read: the first */
};

static void attempt_files_clear(struct attempt_files *files)
{
    free(files->attempts);
}

bool is_recorded_job(const char *path)
{
    struct stat about;
    char head[8];
    int descriptor;
    bool is_record;

    if (stat(path, &about) != 0 || S_ISDIR(about.st_mode))
        return stat(path, &about) == 0;
    if (!S_ISREG(about.st_mode))
        return false;
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    is_record = descriptor >= 0 && read(descriptor, head, sizeof head) == (ssize_t)sizeof head &&
                looks_like_step_record(head, sizeof head);
    if (descriptor >= 0)
        close(descriptor);
    return is_record;
}

static void add_problem(struct results *results, const char *text)
{
    results_add_problem(
        results,
        (struct finding){.what = results_text(results, text), .cost_ns = -1, .is_warning = true});
}

static void recorded_job_add_file(struct attempt_files *files, struct results *results,
                                  const char *path)
{
    struct recorded_attempt attempt = {0};
    struct error error = {0};

    if (!recorded_attempt_look(&attempt, results_text(results, path), &error)) {
        add_problem(results, error.message);
        if (!files->first_error.message[0])
            files->first_error = error;
        return;
    }
    ARRAY_ADD(files->attempts, files->count, attempt);
}

static void add_matching(struct attempt_files *files, struct results *results, const char *folder,
                         const char *pattern)
{
    glob_t found;

    find_paths(&found, folder, pattern);
    for (size_t i = 0; i < found.gl_pathc; i++)
        recorded_job_add_file(files, results, found.gl_pathv[i]);
    globfree(&found);
}

/* By rank, then by time: within one boot of one machine by its own clock, which cannot be set. */
static int compare_attempts(const void *a, const void *b)
{
    const struct recorded_attempt *first = a;
    const struct recorded_attempt *second = b;

    if (first->header.rank != second->header.rank)
        return first->header.rank < second->header.rank ? -1 : 1;
    if (strcmp(first->header.boot_id, second->header.boot_id) == 0 &&
        first->header.opened_ns != second->header.opened_ns)
        return first->header.opened_ns < second->header.opened_ns ? -1 : 1;
    if (first->header.opened_unix_ns != second->header.opened_unix_ns)
        return first->header.opened_unix_ns < second->header.opened_unix_ns ? -1 : 1;
    return strcmp(first->path, second->path);
}

/* Leaves those of the lowest rank, and of them those of the newest one's job; returns how many of
 * that rank are left out. */
static size_t keep_one_job(struct attempt_files *files, bool are_of_one_capture)
{
    const struct recorded_attempt *newest;
    size_t of_rank = 0;
    size_t kept = 0;

    if (files->count == 0)
        return 0;
    qsort(files->attempts, files->count, sizeof *files->attempts, compare_attempts);
    while (of_rank < files->count &&
           files->attempts[of_rank].header.rank == files->attempts[0].header.rank)
        of_rank++;
    files->count = of_rank;
    if (are_of_one_capture)
        return 0;
    newest = &files->attempts[of_rank - 1];
    for (size_t i = 0; i < of_rank; i++) {
        struct recorded_attempt attempt = files->attempts[i];

        if (i == of_rank - 1 ||
            (*newest->header.job && strcmp(attempt.header.job, newest->header.job) == 0))
            files->attempts[kept++] = attempt;
    }
    files->count = kept;
    return of_rank - kept;
}

/* Did one begin to record before the other ended, though maybe one waited while the other made its
 * steps? Of one machine, as long as it was not started anew: the clocks of others do not compare.
 */
static bool ran_side_by_side(const struct recorded_attempt *one,
                             const struct recorded_attempt *other)
{
    return one->steps > 0 && other->steps > 0 && *one->header.boot_id &&
           strcmp(one->header.boot_id, other->header.boot_id) == 0 &&
           one->header.opened_ns < other->ended_ns && other->header.opened_ns < one->ended_ns;
}

/* Of one capture and rank: a process that trained while another ran (a child of fork() that
 * trains, too) is no attempt of its job. The one that made most steps counts, else the first. */
static void leave_out_children(struct attempt_files *files, struct results *results)
{
    size_t kept = 0;

    if (files->count < 2)
        return;
    for (size_t i = 0; i < files->count; i++)
        recorded_attempt_measure(&files->attempts[i]);
    for (size_t i = 0; i < files->count; i++) {
        struct recorded_attempt attempt = files->attempts[i], *beside = NULL;

        for (size_t j = 0; j < kept && !beside; j++)
            if (ran_side_by_side(&files->attempts[j], &attempt))
                beside = &files->attempts[j];
        if (!beside) {
            files->attempts[kept++] = attempt;
            continue;
        }
        if (attempt.steps > beside->steps) {
            struct recorded_attempt less = *beside;

            *beside = attempt;
            attempt = less;
        }
        add_problem(results,
                    results_format(results,
                                   "'%s' is left out: process %lld trained while process %lld of "
                                   "'%s' ran (name the file to see its %s steps)",
                                   attempt.path, (long long)attempt.header.pid,
                                   (long long)beside->header.pid, beside->path,
                                   format_count(attempt.steps).text));
    }
    files->count = kept;
}

static void find_files(struct attempt_files *files, struct results *results, const char *path)
{
    struct stat about;
    size_t left_out;
    bool is_one = true;

    if (stat(path, &about) == 0 && !S_ISDIR(about.st_mode)) {
        recorded_job_add_file(files, results, path);
    } else {
        add_matching(files, results, path, "steps/rank*.steps");
        is_one = files->count > 0;
        if (!is_one) {
            add_matching(files, results, path, "*/steps/rank*.steps");
            add_matching(files, results, path, "*/*/steps/rank*.steps");
        }
    }
    left_out = keep_one_job(files, is_one);
    if (is_one)
        leave_out_children(files, results);
    if (left_out > 0)
        add_problem(results,
                    results_format(results,
                                   "%zu older record%s below '%s' left out: not of the job of the "
                                   "newest one by job id (name captures one by one to join them)",
                                   left_out, left_out == 1 ? " is" : "s are", path));
}

bool add_recorded_job(struct job *job, struct results *results, const char *path,
                      struct recorded_job *read, struct error *error)
{
    SCOPED(attempt_files) files = {0};
    SCOPED(saved_checkpoints) saved = {0};
    struct attempt_before before = {.saved = &saved};

    *read = (struct recorded_job){0};
    find_files(&files, results, path);
    if (files.count == 0 && files.first_error.message[0])
        return error_set(error, ERROR_INPUT, "no step record can be read in it: %s",
                         files.first_error.message);
    if (files.count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "no step record can be read in it: name a log, or the folder of a capture "
                         "of 'flopledger run' (captures/NAME/START TIME)");
    before.first = &files.attempts[0];
    for (size_t i = 0; i < files.count; i++) {
        struct attempt_outcome outcome;

        job_begin_source(job, files.attempts[i].path);
        if (!recorded_attempt_add(job, &files.attempts[i], &before, &outcome, error))
            return false;
        before.reached = outcome.last_step;
        read->entries += outcome.entries;
        read->bytes += outcome.entries * STEP_RECORD_ENTRY_BYTES;
        read->damaged += outcome.damaged;
        if (outcome.damaged > 0)
            add_problem(results,
                        results_format(results, "'%s': %s damaged entr%s left out",
                                       files.attempts[i].path, format_count(outcome.damaged).text,
                                       outcome.damaged == 1 ? "y is" : "ies are"));
        if (outcome.lost > 0)
            add_problem(results,
                        results_format(results, "'%s': %s entries found no room on the disk",
                                       files.attempts[i].path, format_count(outcome.lost).text));
        if (i > 0 && !outcome.is_base_known)
            add_problem(results,
                        results_format(results,
                                       "'%s' does not tell at which step it went on (its optimizer "
                                       "does not count steps on the host, and it loaded no "
                                       "checkpoint that an attempt before is seen to save): that "
                                       "no step was lost is assumed",
                                       files.attempts[i].path));
    }
    return true;
}
