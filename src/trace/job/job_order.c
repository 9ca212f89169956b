/* Puts the files of a job into the order of time, and joins what they tell. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/core/string_pool.h"
#include "trace/job/job_build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* How a source is sorted. */
struct source_place {
    uint32_t source;
    int64_t key;
};

/* What the steps of a source reach over. */
struct step_range {
    int64_t first;
    int64_t last;
    bool is_any;
};

/* Of each source; free() them. */
static struct step_range *steps_of_sources(const struct job *job)
{
    struct step_range *ranges = require_memory(calloc(job->source_count + 1, sizeof *ranges));

    for (size_t i = 0; i < job->attempt_count; i++) {
        const struct job_attempt *attempt = &job->attempts[i];
        struct step_range *range = &ranges[attempt->source];

        if (!attempt->step_count)
            continue;
        if (!range->is_any || attempt->steps[0].step < range->first)
            range->first = attempt->steps[0].step;
        if (!range->is_any || attempt->steps[attempt->step_count - 1].step > range->last)
            range->last = attempt->steps[attempt->step_count - 1].step;
        range->is_any = true;
    }
    return ranges;
}

/* The length of "train.log" in "train.log.3"; 0: the name does not end as rotation ends it. Nine
 * digits at most, as rotation numbers have few. */
static size_t stem_of(const char *name)
{
    size_t length = strlen(name), stem = length;

    while (stem > 0 && isdigit((unsigned char)name[stem - 1]))
        stem--;
    return stem == length || stem < 2 || name[stem - 1] != '.' || length - stem > 9 ? 0 : stem - 1;
}

/* Of each source: 3 for "train.log.3" where "train.log" is among the names; 0 for "train.log" where
 * one like "train.log.3" is; -1: neither. free() them. "train.log.3" is older than
 * "train.log.1", and both than "train.log" (logrotate). */
static int64_t *rotations_of(const struct job *job)
{
    int64_t *rotations = require_memory(calloc(job->source_count + 1, sizeof *rotations));
    struct string_pool names = {0}, stems = {0};

    for (size_t i = 0; i < job->source_count; i++) {
        const char *name = job->sources[i].name;

        string_pool_add(&names, name, strlen(name));
        string_pool_add(&stems, name, stem_of(name));
    }
    for (size_t i = 0; i < job->source_count; i++) {
        const char *name = job->sources[i].name;
        size_t stem = stem_of(name);

        if (stem && string_pool_find(&names, name, stem) != UINT32_MAX)
            rotations[i] = strtoll(name + stem + 1, NULL, 10);
        else
            rotations[i] =
                !stem && string_pool_find(&stems, name, strlen(name)) != UINT32_MAX ? 0 : -1;
    }
    string_pool_clear(&names);
    string_pool_clear(&stems);
    return rotations;
}

static int compare_ranges(const void *first, const void *second)
{
    const struct step_range *a = first, *b = second;

    return (a->first > b->first) - (a->first < b->first);
}

/* All sources but the first have steps, and no two share one. */
static bool are_apart(const struct step_range *ranges, size_t count)
{
    struct step_range *sorted = require_memory(calloc(count + 1, sizeof *sorted));
    size_t kept = 0;
    bool are = true;

    for (size_t i = 0; i < count; i++) {
        are = are && (ranges[i].is_any || i == 0);
        if (ranges[i].is_any)
            sorted[kept++] = ranges[i];
    }
    if (kept > 0)
        qsort(sorted, kept, sizeof *sorted, compare_ranges);
    for (size_t i = 1; i < kept; i++)
        are = are && sorted[i - 1].last < sorted[i].first;
    free(sorted);
    return are;
}

/* Fills the keys by what there is: times; else names as log rotation gives them; else step numbers
 * where no two files share one; else the order given. Evidence from strong to weak; one kind for
 * all files, as keys of two kinds do not compare. */
static void place_sources(const struct job *job, const int64_t *rotations,
                          struct source_place *places)
{
    struct step_range *ranges = steps_of_sources(job);
    bool have_times = true, are_rotated = true;
    bool have_ranges = are_apart(ranges, job->source_count);

    for (uint32_t i = 0; i < job->source_count; i++) {
        have_times = have_times && job->sources[i].first_ns != JOB_NOT_KNOWN;
        are_rotated = are_rotated && rotations[i] >= 0;
    }
    for (uint32_t i = 0; i < job->source_count; i++)
        places[i] = (struct source_place){
            .source = i,
            .key = have_times    ? job->sources[i].first_ns
                   : are_rotated ? -rotations[i]
                   : have_ranges ? ranges[i].first
                                 : (int64_t)i,
        };
    free(ranges);
}

static int compare_places(const void *first, const void *second)
{
    const struct source_place *a = first, *b = second;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->source < b->source ? -1 : a->source > b->source;
}

/* What the beginning of an attempt lacks, where the next file holds it. */
static void collect_beginning(struct job_attempt *attempt, const struct job_attempt *next)
{
    if (attempt->start_ns == JOB_NOT_KNOWN)
        attempt->start_ns = next->start_ns;
    if (attempt->training_ns == JOB_NOT_KNOWN && attempt->step_count == 0) {
        attempt->training_ns = next->training_ns;
        attempt->is_training_known = next->is_training_known;
    }
    if (attempt->restored_step == JOB_NOT_KNOWN && attempt->step_count == 0)
        attempt->restored_step = next->restored_step;
    if (next->last_step != JOB_NOT_KNOWN)
        attempt->last_step = next->last_step;
    if (next->devices > 0)
        attempt->devices = next->devices;
}

/* What the earlier file tells stays; what it does not is taken from the next one. */
static void append_attempt(struct job_attempt *attempt, struct job_attempt *next)
{
    collect_beginning(attempt, next);
    for (size_t i = 0; i < next->span_count; i++) {
        ARRAY_ROOM(attempt->spans, attempt->span_count);
        attempt->spans[attempt->span_count] = next->spans[i];
        attempt->spans[attempt->span_count++].after += attempt->step_count;
    }
    if (attempt->step_count && next->step_count && next->steps[0].count == 0)
        next->steps[0].count =
            (int32_t)(next->steps[0].step - attempt->steps[attempt->step_count - 1].step);
    for (size_t i = 0; i < next->step_count; i++) {
        ARRAY_ADD(attempt->steps, attempt->step_count, next->steps[i]);
    }
    if (next->end_ns != JOB_NOT_KNOWN)
        attempt->end_ns = next->end_ns;
    if (next->step_count || next->why) {
        free(attempt->why);
        attempt->ending = next->ending;
        attempt->why = next->why;
        next->why = NULL;
    }
    job_attempt_clear(next);
}

/* Does the file begin in the middle of the attempt that the file before ends in? A file that was
 * rotated goes on where the last one ended; other files must continue the step numbers without a
 * gap. */
static bool goes_on(const int64_t *rotations, const struct job_attempt *before,
                    const struct job_attempt *attempt)
{
    const struct job_step *last;
    int64_t distance;

    if (before->source == attempt->source)
        return false;
    if (rotations[before->source] >= 0 && rotations[attempt->source] >= 0) {
        if (!before->step_count && before->ending == JOB_ENDING_NOT_KNOWN)
            return true;
        if (!attempt->step_count && !attempt->has_start)
            return true;
    }
    if (attempt->has_start || before->ending != JOB_ENDING_NOT_KNOWN || !before->step_count)
        return false;
    last = &before->steps[before->step_count - 1];
    if (!attempt->step_count)
        return true;
    distance = attempt->steps[0].step - last->step;
    return distance > 0 && (distance <= last->count || distance <= attempt->steps[0].count ||
                            (attempt->step_count > 1 && distance <= attempt->steps[1].count));
}

/* The order of sources, then that of each file; copies go. */
static void arrange_attempts(struct job *job, const int64_t *rotations,
                             const struct source_place *places)
{
    struct job_attempt *all = job->attempts;
    size_t count = job->attempt_count;
    size_t kept = 0;

    job->attempts = require_memory(calloc(array_room_of(count), sizeof *job->attempts));
    for (size_t place = 0; place < job->source_count; place++) {
        uint32_t source = places[place].source;
        size_t first = LOWER_BOUND(k, 0, count, all[k].source < source);

        for (size_t i = first; i < count && all[i].source == source; i++) {
            if (job->sources[source].is_copy)
                job_attempt_clear(&all[i]);
            else if (kept > 0 && goes_on(rotations, &job->attempts[kept - 1], &all[i]))
                append_attempt(&job->attempts[kept - 1], &all[i]);
            else
                job->attempts[kept++] = all[i];
            all[i].source = source; /* also of one that was cleared: they are searched by it */
        }
    }
    job->attempt_count = kept;
    free(all);
}

/* What only the following entries tell: how many steps the first stands for. The first entry's
 * interval is like the second's, unless the checkpoint it was loaded from says more. */
static void resolve_attempt(struct job_attempt *attempt)
{
    struct job_step *first = attempt->steps;

    if (!attempt->step_count)
        return;
    if (first->count == 0) {
        int64_t interval = attempt->step_count > 1 ? first[1].count : 1;

        if (attempt->restored_step != JOB_NOT_KNOWN && attempt->restored_step < first->step)
            interval = first->step - attempt->restored_step;
        else if (interval > first->step + 1) /* steps count from 0 or from 1 */
            interval = first->step;
        first->count = (int32_t)(interval > 0 && interval < INT32_MAX ? interval : 1);
    }
    attempt->restored_step = first->step - first->count;
    if (attempt->training_ns == JOB_NOT_KNOWN && first->end_ns != JOB_NOT_KNOWN &&
        first->each_ns != JOB_NOT_KNOWN && first->each_ns < INT64_MAX / 4 / first->count) {
        attempt->training_ns = first->end_ns - first->each_ns * first->count;
        if (attempt->training_ns < attempt->start_ns)
            attempt->start_ns = attempt->training_ns;
    }
    if (attempt->ending == JOB_ENDING_NOT_KNOWN && attempt->last_step != JOB_NOT_KNOWN &&
        attempt->steps[attempt->step_count - 1].step >= attempt->last_step)
        attempt->ending = JOB_ENDING_COMPLETED;
}

/* When the attempt's last step ended; else its start. */
static int64_t last_step_end(const struct job_attempt *attempt)
{
    for (size_t i = attempt->step_count; i-- > 0;)
        if (attempt->steps[i].end_ns != JOB_NOT_KNOWN)
            return attempt->steps[i].end_ns;
    return attempt->start_ns;
}

/* An attempt ends when the next one starts, at the latest; if it steps on, that is another job. */
static bool part_attempts(struct job *job, struct error *error)
{
    for (size_t i = 1; i < job->attempt_count; i++) {
        struct job_attempt *before = &job->attempts[i - 1], *attempt = &job->attempts[i];
        int64_t last_ns = last_step_end(before);

        if (attempt->start_ns == JOB_NOT_KNOWN || before->end_ns == JOB_NOT_KNOWN ||
            attempt->start_ns >= before->end_ns)
            continue;
        if (last_ns <= attempt->start_ns && before->start_ns <= attempt->start_ns) {
            before->end_ns = attempt->start_ns;
            continue;
        }
        if (attempt->training_ns != JOB_NOT_KNOWN && last_ns <= attempt->training_ns) {
            attempt->start_ns = before->end_ns = last_ns;
            continue;
        }
        return error_set(error, ERROR_INPUT,
                         "'%s' and '%s' are logs of two jobs that trained at the same time (one "
                         "made steps while the other did): give the logs of one job at a time",
                         job->sources[before->source].name, job->sources[attempt->source].name);
    }
    return true;
}

/* In this order: the clock of the last attempt, copies out, files in order, and then what
 * needs neighbors. */
bool job_finish(struct job *job, struct error *error)
{
    enum { RETURNS_OF_TWO_JOBS = 3 };
    struct source_place *places;
    int64_t *rotations;

    if (job->building && job->building->returns >= RETURNS_OF_TWO_JOBS)
        return error_set(error, ERROR_INPUT,
                         "the lines of several jobs are mixed: the step numbers go back and forth "
                         "between %lld places (give the log of one job; 'grep' its lines out)",
                         (long long)job->building->returns + 1);
    job_resolve(job);
    job_leave_out_copies(job);
    rotations = rotations_of(job);
    places = require_memory(calloc(job->source_count ? job->source_count : 1, sizeof *places));
    place_sources(job, rotations, places);
    qsort(places, job->source_count, sizeof *places, compare_places);
    arrange_attempts(job, rotations, places);
    free(places);
    free(rotations);
    for (size_t i = 0; i < job->attempt_count; i++)
        resolve_attempt(&job->attempts[i]);
    return part_attempts(job, error);
}
