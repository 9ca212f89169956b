/* Reads the files of a training job: logs of any format. */
#include "pipeline/read_job.h"

#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "base/io/progress.h"
#include "pipeline/recorded_job.h"
#include "readers/logs/read_log.h"

#include <stdlib.h>
#include <string.h>

/* All that reading the files needs. */
struct job_files {
    struct job *job;
    struct results *results;
    struct log_carry carry;
    struct progress *progress;
    struct job_reading *reading;
};

/* Nothing was recognised: says what would help. */
static bool refuse_unknown(const struct job *job, const struct log_outcome *outcome,
                           const struct log_pattern *pattern, struct error *error)
{
    const struct job_attempt *last =
        job->attempt_count ? &job->attempts[job->attempt_count - 1] : NULL;
    bool is_of_this = last && last->source == job->source_count - 1 && last->why;

    if (pattern)
        return error_set(error, ERROR_INPUT, "--pattern matches no line (of %lld)",
                         (long long)outcome->lines);
    return error_set(error, ERROR_INPUT,
                     "no line (of %lld) tells of a training step in a format that is known "
                     "%s%s%s(if it is a log of training, --pattern says how its lines read; "
                     "'flopledger ettr --help' lists the formats)",
                     (long long)outcome->lines, is_of_this ? "(its last words: " : "",
                     is_of_this ? last->why : "", is_of_this ? ") " : "");
}

/* Lines of the format, but no step: the source tells nothing that can be counted. */
static bool read_job_has_steps(const struct job *job)
{
    for (size_t i = 0; i < job->attempt_count; i++)
        if (job->attempts[i].source == job->source_count - 1 && job->attempts[i].step_count)
            return true;
    return false;
}

static void note_format_name(struct job_files *files, const char *name)
{
    struct job_reading *reading = files->reading;

    if (!reading->formats)
        reading->formats = name;
    else if (!strstr(reading->formats, name))
        reading->formats = results_format(files->results, "%s, %s", reading->formats, name);
}

/* What our own recorder kept. */
static bool read_records(struct job_files *files, const char *path, struct error *error)
{
    struct recorded_job read;

    if (!add_recorded_job(files->job, files->results, path, &read, error))
        return false;
    files->reading->bytes += read.bytes;
    files->reading->damaged_entries += read.damaged;
    files->reading->lines += read.entries;
    files->reading->step_lines += read.entries;
    note_format_name(files, "step-record");
    return true;
}

static bool read_job_read_file(struct job_files *files, const char *path, struct error *error)
{
    SCOPED(input_stream) input = {0};
    struct log_outcome outcome;

    if (is_recorded_job(path))
        return read_records(files, path, error);
    if (!input_stream_open(&input, path, true, error))
        return false;
    input.progress = files->progress;
    progress_title(files->progress, path);
    if (!read_log(files->job, &input, &files->carry, &outcome, error))
        return error_in(error, "'%s'", path);
    files->reading->bytes += input.text_bytes;
    files->reading->lines += outcome.lines;
    files->reading->step_lines += outcome.step_lines;
    files->reading->long_lines += outcome.long_lines;
    if (!outcome.format || (files->carry.pattern && !read_job_has_steps(files->job)))
        return refuse_unknown(files->job, &outcome, files->carry.pattern, error) ||
               error_in(error, "'%s'", path);
    note_format_name(files, outcome.format->name);
    files->reading->cut_count += outcome.is_broken;
    return true;
}

/* A file of which no line was of use, beside others that were, may still tell when the job died. */
static void read_job_note_failure(struct job_files *files, const struct error *error)
{
    if (files->reading->failed_count++ == 0)
        files->reading->first_error = *error;
    results_add_failure(files->results, error);
}

/* "train.log.2" is older than "train.log.1", and that than "train.log"; other names by their text:
 * one file may hold what is needed to read the next. */
static int compare_rotations(const void *first, const void *second)
{
    const char *a = *(const char *const *)first, *b = *(const char *const *)second;
    size_t length = 0;

    while (a[length] && a[length] == b[length])
        length++;
    while (length > 0 && a[length - 1] >= '0' && a[length - 1] <= '9')
        length--;
    if (length > 0 && a[length - 1] == '.' && b[length - 1] == '.') {
        char *end_a, *end_b;
        long number_a = strtol(a + length, &end_a, 10), number_b = strtol(b + length, &end_b, 10);

        if (end_a != a + length && end_b != b + length && !*end_a && !*end_b)
            return number_a > number_b ? -1 : number_a < number_b;
    }
    if (!a[length] != !b[length] && (a[length] == '.' || b[length] == '.'))
        return a[length] ? -1 : 1;
    return strcmp(a, b);
}

bool read_job(struct job *job, struct results *results, const struct job_input *input,
              struct job_reading *reading, struct error *error)
{
    struct job_files files = {
        .job = job, .results = results, .carry = {.pattern = input->pattern}, .reading = reading};
    size_t count = (size_t)input->count;
    char **ordered = require_memory(malloc(count * sizeof *ordered));

    *reading = (struct job_reading){0};
    files.progress = progress_new("reading", -1, input->shows_progress);
    memcpy(ordered, input->paths, count * sizeof *ordered);
    qsort(ordered, count, sizeof *ordered, compare_rotations);
    for (size_t i = 0; i < count; i++) {
        if (read_job_read_file(&files, ordered[i], error))
            reading->used_count++;
        else
            read_job_note_failure(&files, error);
    }
    free(ordered);
    progress_free(files.progress);
    if (reading->used_count == 0) {
        *error = reading->first_error;
        return false;
    }
    return job_finish(job, error);
}
