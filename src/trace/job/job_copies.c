/* Which files of a job tell once more what another of them tells.
 *
 * An attempt is a copy of another where nine tenths of its steps are there at the same time. So of
 * its first tenth of steps, and one more, at least one is: the attempts that have one of those are
 * found in an order of all steps, and only they are compared as a whole, each once. No job's files
 * tell of one step at the same time more often than they have copies, so that NEAR_ONES_MAX others
 * that are none are enough to look at. */
#include "base/core/invariant.h"
#include "base/core/saturated.h"
#include "base/core/search.h"
#include "base/core/sort.h"
#include "trace/job/job_build.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { NEAR_ONES_MAX = 64 };

static const int64_t ns_per_second = 1000000000;

/* A step where it is looked for: by its number, and by its time or, where it tells a loss, by
 * that. */
struct known_step {
    int64_t step;
    bool is_by_loss;
    int64_t key; /* when it ended, or the bits of its loss */
    size_t attempt;
    size_t next; /* behind it in the order; beyond copies, once it is known to be of one */
};

struct known_steps {
    const struct job *job;
    struct known_step *steps;
    size_t count;
};

static int compare_known(const void *first, const void *second)
{
    const struct known_step *a = first, *b = second;

    if (a->step != b->step)
        return ORDER_OF(a->step, b->step);
    if (a->is_by_loss != b->is_by_loss)
        return ORDER_OF(a->is_by_loss, b->is_by_loss);
    return a->key != b->key ? ORDER_OF(a->key, b->key) : ORDER_OF(a->attempt, b->attempt);
}

/* Equal losses have equal bits, so they sort together; NaN is never asked. */
static int64_t bits_of_loss(double loss)
{
    union {
        double loss;
        int64_t bits;
    } both = {.loss = loss == 0 ? 0.0 : loss}; /* -0 is 0 */

    return both.bits;
}

/* Of all attempts; free() .steps. */
static struct known_steps know_steps(const struct job *job)
{
    struct known_steps known = {.job = job};
    size_t room = 1;

    for (size_t i = 0; i < job->attempt_count; i++)
        room += 2 * job->attempts[i].step_count;
    known.steps = require_memory(calloc(room, sizeof *known.steps));
    for (size_t i = 0; i < job->attempt_count; i++) {
        for (size_t j = 0; j < job->attempts[i].step_count; j++) {
            const struct job_step *step = &job->attempts[i].steps[j];

            if (step->end_ns != JOB_NOT_KNOWN)
                known.steps[known.count++] =
                    (struct known_step){.step = step->step, .key = step->end_ns, .attempt = i};
            if (!isnan(step->loss))
                known.steps[known.count++] = (struct known_step){.step = step->step,
                                                                 .is_by_loss = true,
                                                                 .key = bits_of_loss(step->loss),
                                                                 .attempt = i};
        }
    }
    if (known.count > 0)
        qsort(known.steps, known.count, sizeof *known.steps, compare_known);
    for (size_t i = 0; i < known.count; i++)
        known.steps[i].next = i + 1;
    return known;
}

static bool is_of_copy(const struct job *job, const struct known_step *step)
{
    return job->sources[job->attempts[step->attempt].source].is_copy;
}

/* The first from `from` on that is not of a copy. Each way over copies is gone once. */
static size_t first_original(struct known_steps *known, size_t from)
{
    size_t found = from;

    while (found < known->count && is_of_copy(known->job, &known->steps[found]))
        found = known->steps[found].next;
    while (from < found) {
        size_t next = known->steps[from].next;

        known->steps[from].next = found;
        from = next;
    }
    return found;
}

static const struct job_step *step_numbered(const struct job_attempt *attempt, int64_t number)
{
    size_t low = LOWER_BOUND(i, 0, attempt->step_count, attempt->steps[i].step < number);

    return low < attempt->step_count && attempt->steps[low].step == number ? &attempt->steps[low]
                                                                           : NULL;
}

/* How far the times of one step in two files may lie apart. */
static int64_t near_ns(const struct job_step *step)
{
    return step->each_ns > 2 * ns_per_second ? step->each_ns : 2 * ns_per_second;
}

/* Do both tell of the same step at the same time (or, without times, with the same loss and
 * length)? Times of two ranks' files lie apart by what it takes to write; losses alone also need
 * equal lengths, since short runs repeat losses. */
static bool is_same_step(const struct job_step *a, const struct job_step *b)
{
    if (a->end_ns != JOB_NOT_KNOWN && b->end_ns != JOB_NOT_KNOWN)
        return llabs(a->end_ns - b->end_ns) <= near_ns(b);
    return !isnan(a->loss) && a->loss == b->loss &&
           (a->each_ns == b->each_ns ||
            (a->each_ns != JOB_NOT_KNOWN && b->each_ns != JOB_NOT_KNOWN &&
             llabs(a->each_ns - b->each_ns) <= a->each_ns / 10));
}

/* Is the attempt told once more by another rank's file? */
static bool is_copy_of(const struct job_attempt *attempt, const struct job_attempt *other)
{
    size_t same = 0;

    if (attempt->source == other->source || !attempt->step_count || !other->step_count)
        return false;
    for (size_t i = 0; i < attempt->step_count; i++) {
        const struct job_step *step = step_numbered(other, attempt->steps[i].step);

        same += step && is_same_step(step, &attempt->steps[i]);
    }
    return same * 10 >= attempt->step_count * 9;
}

/* The attempt is a copy of this other, and the other is not the copy of the two. Of two copies
 * of each other one stays: that with more steps, else the earlier file. */
static bool goes_for(const struct job *job, const struct job_attempt *attempt,
                     const struct job_attempt *other)
{
    const struct job_source *source = &job->sources[other->source];

    return !source->is_history && is_copy_of(attempt, other) &&
           (other->step_count > attempt->step_count || other->source < attempt->source ||
            !is_copy_of(other, attempt));
}

/* The attempts that one was compared with. */
struct compared {
    size_t attempts[NEAR_ONES_MAX];
    size_t count;
};

/* Beyond the room an attempt counts as compared: a missed copy is a smaller mistake than a
 * search without end. */
static bool is_first_time(struct compared *compared, size_t attempt)
{
    for (size_t i = 0; i < compared->count; i++)
        if (compared->attempts[i] == attempt)
            return false;
    if (compared->count == NEAR_ONES_MAX)
        return false;
    compared->attempts[compared->count++] = attempt;
    return true;
}

/* Is the attempt a copy of one that has its step, from `first` to the key `last`? */
static bool goes_for_one_near(struct known_steps *known, struct compared *compared,
                              const struct job_attempt *attempt, const struct known_step *first,
                              int64_t last)
{
    size_t at = LOWER_BOUND(i, 0, known->count, compare_known(&known->steps[i], first) < 0);

    for (int seen = 0; seen < NEAR_ONES_MAX; seen++) {
        const struct known_step *near;

        at = first_original(known, at);
        if (at == known->count)
            break;
        near = &known->steps[at++];
        if (near->step != first->step || near->is_by_loss != first->is_by_loss || near->key > last)
            break;
        if (is_first_time(compared, near->attempt) &&
            goes_for(known->job, attempt, &known->job->attempts[near->attempt]))
            return true;
    }
    return false;
}

/* Only the first tenth of the steps is looked at: one of them that another attempt has, too, is
 * enough. By time where there is one, within what clocks of one step may differ, or by the loss,
 * whose bits two runs hardly share. */
static bool is_copied_attempt(struct known_steps *known, const struct job_attempt *attempt)
{
    struct compared compared = {.count = 0};

    for (size_t i = 0; i < attempt->step_count / 10 + 1; i++) {
        const struct job_step *step = &attempt->steps[i];
        struct known_step from = {.step = step->step};

        if (step->end_ns != JOB_NOT_KNOWN) {
            from.key = saturated_difference(step->end_ns, near_ns(step));
            if (goes_for_one_near(known, &compared, attempt, &from,
                                  saturated_sum(step->end_ns, near_ns(step))))
                return true;
        }
        if (!isnan(step->loss)) {
            from.is_by_loss = true;
            from.key = bits_of_loss(step->loss);
            if (goes_for_one_near(known, &compared, attempt, &from, from.key))
                return true;
        }
    }
    return false;
}

/* Of two histories: does the other tell all that this one does? A history (a state file, a
 * diary) tells of steps without times: it is a copy where a longer one says the same. */
static bool is_within(const struct job_attempt *attempt, const struct job_attempt *other)
{
    const struct job_step *last = &attempt->steps[attempt->step_count - 1];
    const struct job_step *last_of_other = &other->steps[other->step_count - 1];

    if (last->step > last_of_other->step)
        return false;
    for (size_t i = 0; i < attempt->step_count; i++) {
        const struct job_step *step = step_numbered(other, attempt->steps[i].step);

        if (!isnan(attempt->steps[i].loss) && (!step || step->loss != attempt->steps[i].loss))
            return false;
    }
    if (last->step != last_of_other->step)
        return true;
    if ((last->each_ns == JOB_NOT_KNOWN) != (last_of_other->each_ns == JOB_NOT_KNOWN))
        return last->each_ns == JOB_NOT_KNOWN;
    return other->source < attempt->source;
}

/* A file that is no history and has steps tells them at first hand; of another history this is
 * asked for: does it hold all that this one tells? */
static bool is_known_elsewhere(const struct job *job, const struct job_attempt *attempt)
{
    for (size_t i = 0; i < job->attempt_count; i++) {
        const struct job_attempt *other = &job->attempts[i];

        if (other->source == attempt->source || !other->step_count)
            continue;
        if (!job->sources[other->source].is_history || is_within(attempt, other))
            return true;
    }
    return false;
}

/* A source is a copy where all its attempts with steps, those from `first` on, are. */
static bool is_copied_source(const struct job *job, struct known_steps *known, uint32_t source,
                             size_t first)
{
    bool has_steps = false;

    for (size_t i = first; i < job->attempt_count && job->attempts[i].source == source; i++) {
        const struct job_attempt *attempt = &job->attempts[i];

        if (!attempt->step_count)
            continue;
        has_steps = true;
        if (!(job->sources[source].is_history ? is_known_elsewhere(job, attempt)
                                              : is_copied_attempt(known, attempt)))
            return false;
    }
    return has_steps;
}

/* Sources in order, each compared with those that are not copies yet: of several equal ones
 * the first stays. */
void job_leave_out_copies(struct job *job)
{
    struct known_steps known;

    if (job->source_count < 2)
        return;
    known = know_steps(job);
    for (uint32_t i = 0; i < job->source_count; i++) {
        size_t first = LOWER_BOUND(k, 0, job->attempt_count, job->attempts[k].source < i);

        if (!is_copied_source(job, &known, i, first))
            continue;
        job->sources[i].is_copy = true;
        job_add_remark(job, (struct job_remark){.kind = JOB_SOURCE_IS_COPY, .source = i});
    }
    free(known.steps);
}
