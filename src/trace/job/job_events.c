/* The life of a training job as its attempts: from what its files tell, one thing after another. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/saturated.h"
#include "base/text/owned_text.h"
#include "trace/job/job.h"
#include "trace/job/job_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000;

/* No interval between two lines is longer: three years. */
static const int64_t LONGEST_NS = INT64_C(100000000000000000);

/* Where a step number goes back by at most so many entries, it may be another rank's line. */
enum { ENTRIES_OF_OTHER_RANKS = 16 };

/* All that a line does not say is "not known", which readers then need not spell out. */
struct job_event job_event_of(enum job_event_kind kind)
{
    return (struct job_event){
        .kind = kind,
        .time_ns = JOB_NOT_KNOWN,
        .step = JOB_NOT_KNOWN,
        .count = JOB_NOT_KNOWN,
        .each_ns = JOB_NOT_KNOWN,
        .last_step = JOB_NOT_KNOWN,
        .skipped = JOB_NOT_KNOWN,
        .data_wait_ns = JOB_NOT_KNOWN,
        .loss = NAN,
        .flops_per_second = NAN,
        .mfu = NAN,
        .tokens_per_second = NAN,
        .tokens_per_second_of_job = NAN,
    };
}

/* A thousand remarks are more than anybody reads; a hostile log must not fill memory. */
void job_add_remark(struct job *job, struct job_remark remark)
{
    enum { REMARKS_MAX = 1000 };

    if (job->remark_count == REMARKS_MAX)
        return;
    ARRAY_ADD(job->remarks, job->remark_count, remark);
}

static struct job_attempt *current_attempt(struct job *job)
{
    return job->building->attempt == SIZE_MAX ? NULL : &job->attempts[job->building->attempt];
}

/* Which of the two kinds of times count: a step's, else those that tell when training began, else
 * those that reach further. A log may have local times and UTC in different lines. Only one kind
 * may order them, or hours would appear between two lines. */
static enum job_clock clock_that_counts(const struct job_source *source,
                                        const struct job_clock_times times[JOB_CLOCKS])
{
    const struct job_clock_times *local = &times[JOB_CLOCK_LOCAL], *utc = &times[JOB_CLOCK_UTC];

    if (source->is_clock_settled)
        return source->clock;
    if ((local->training_ns == JOB_NOT_KNOWN) != (utc->training_ns == JOB_NOT_KNOWN))
        return local->training_ns == JOB_NOT_KNOWN ? JOB_CLOCK_UTC : JOB_CLOCK_LOCAL;
    if (local->start_ns == JOB_NOT_KNOWN || utc->start_ns == JOB_NOT_KNOWN)
        return local->start_ns == JOB_NOT_KNOWN ? JOB_CLOCK_UTC : JOB_CLOCK_LOCAL;
    return utc->end_ns - utc->start_ns >= local->end_ns - local->start_ns ? JOB_CLOCK_UTC
                                                                          : JOB_CLOCK_LOCAL;
}

/* The current attempt gets the times of the clock that counts. */
static void resolve_last_attempt(struct job *job)
{
    const struct job_clock_times *times = job->building->times;
    struct job_attempt *attempt = current_attempt(job);
    struct job_source *source;
    enum job_clock clock;

    if (!attempt)
        return;
    source = &job->sources[attempt->source];
    clock = clock_that_counts(source, times);
    if (times[clock].start_ns == JOB_NOT_KNOWN)
        return;
    if (source->first_ns == JOB_NOT_KNOWN) {
        source->first_ns = times[clock].start_ns;
        source->clock = clock;
    }
    attempt->start_ns = times[clock].start_ns;
    attempt->end_ns = times[clock].end_ns;
    attempt->training_ns = times[clock].training_ns;
    attempt->is_training_known = attempt->training_ns != JOB_NOT_KNOWN;
}

/* Keeps the time for its kind of clock; where the source's clock is known, one of the other kind is
 * left out. */
static void resolve_clock(struct job *job, struct job_event *event)
{
    struct job_source *source = &job->sources[job->source_count - 1];

    if (event->time_ns == JOB_NOT_KNOWN)
        return;
    if (event->kind == JOB_STEP && !source->is_clock_settled) {
        source->is_clock_settled = true;
        source->clock = event->clock;
        source->first_ns = JOB_NOT_KNOWN;
        resolve_last_attempt(job);
    }
    if (source->is_clock_settled && source->clock != event->clock) {
        if (!source->has_other_clock)
            job_add_remark(job, (struct job_remark){.kind = JOB_CLOCKS_DIFFER,
                                                    .source = (uint32_t)(job->source_count - 1),
                                                    .line = event->line});
        source->has_other_clock = true;
        event->time_ns = JOB_NOT_KNOWN;
        return;
    }
    event->time_ns += source->shift_ns;
}

/* The attempt lived at the event's time. Every line with a time is a sign of life. */
static void job_widen(struct job *job, const struct job_event *event)
{
    struct job_clock_times *times = &job->building->times[event->clock];

    if (event->time_ns == JOB_NOT_KNOWN)
        return;
    if (times->start_ns == JOB_NOT_KNOWN)
        times->start_ns = event->time_ns;
    if (times->end_ns == JOB_NOT_KNOWN || times->end_ns < event->time_ns)
        times->end_ns = event->time_ns;
}

/* Nothing is known of an attempt that begins. */
static void remember_nothing(struct job_building *building, size_t attempt)
{
    const struct job_clock_times none = {JOB_NOT_KNOWN, JOB_NOT_KNOWN, JOB_NOT_KNOWN};

    *building = (struct job_building){
        .attempt = attempt, .times = {none, none}, .returns = building->returns};
}

/* What is remembered of the file before must not join with lines of this one. */
void job_begin_source(struct job *job, const char *name)
{
    if (!job->building) {
        job->building = require_memory(calloc(1, sizeof *job->building));
        job->building->attempt = SIZE_MAX;
    }
    ARRAY_ROOM(job->sources, job->source_count);
    resolve_last_attempt(job);
    job->sources[job->source_count++] =
        (struct job_source){.name = text_copy(name), .first_ns = JOB_NOT_KNOWN};
    remember_nothing(job->building, SIZE_MAX);
}

void job_reports_history(struct job *job)
{
    job->sources[job->source_count - 1].is_history = true;
}

/* The attempt before is resolved first: its end may only be known by this start. */
static struct job_attempt *begin_attempt(struct job *job, bool has_start)
{
    resolve_last_attempt(job);
    ARRAY_ROOM(job->attempts, job->attempt_count);
    job->attempts[job->attempt_count] = (struct job_attempt){
        .source = (uint32_t)(job->source_count - 1),
        .has_start = has_start,
        .start_ns = JOB_NOT_KNOWN,
        .training_ns = JOB_NOT_KNOWN,
        .end_ns = JOB_NOT_KNOWN,
        .restored_step = JOB_NOT_KNOWN,
        .last_step = JOB_NOT_KNOWN,
    };
    remember_nothing(job->building, job->attempt_count);
    return &job->attempts[job->attempt_count++];
}

/* The attempt before has done something that only one that has started does. */
static bool is_over(const struct job_attempt *attempt)
{
    return attempt->step_count > 0 || attempt->ending != JOB_ENDING_NOT_KNOWN;
}

/* The clock cannot go back between two attempts: where it does, by how much at least. The clock
 * of a source is shifted from this line on: its later times stay consistent with each other. */
static void move_clock(struct job *job, struct job_event *event, int64_t by_ns)
{
    const int64_t latest_ns = INT64_C(8000000000000000000); /* in the year 2223 */

    if (by_ns > 0 && event->time_ns > latest_ns - by_ns)
        return;
    job->sources[job->source_count - 1].shift_ns += by_ns;
    event->time_ns += by_ns;
    job_add_remark(
        job, (struct job_remark){.kind = by_ns > 0 ? JOB_CLOCK_WENT_BACK : JOB_CLOCK_CHANGED_ZONE,
                                 .source = (uint32_t)(job->source_count - 1),
                                 .line = event->line,
                                 .step = event->step,
                                 .amount_ns = by_ns});
}

/* A start right behind another one is the same start, told by another rank or another layer. */
static struct job_attempt *attempt_that_starts(struct job *job, struct job_event *event)
{
    struct job_attempt *attempt = current_attempt(job);
    int64_t end_ns = job->building->times[event->clock].end_ns;

    if (attempt && !is_over(attempt)) {
        attempt->has_start = true;
        return attempt;
    }
    if (attempt && event->time_ns != JOB_NOT_KNOWN && end_ns != JOB_NOT_KNOWN &&
        event->time_ns < end_ns - 2 * ns_per_second)
        move_clock(job, event, end_ns - event->time_ns);
    return begin_attempt(job, true);
}

/* A restore begins an attempt where none is open, as it comes before the first step. The step
 * that it went on from is kept: steps behind it were lost. */
static void collect_restore(struct job *job, struct job_event *event)
{
    struct job_attempt *attempt = attempt_that_starts(job, event);

    if (event->step != JOB_NOT_KNOWN)
        attempt->restored_step = event->step;
    job_widen(job, event);
    if (event->kind == JOB_RESTORE_BEGIN)
        job_begin_span(job->building, attempt, JOB_SPAN_RESTORE, event);
    else
        job_end_span(job->building, attempt, JOB_SPAN_RESTORE, event);
}

/* Training cannot begin before its attempt: where it seems to, the clock went back in between. */
static void collect_training(struct job *job, struct job_event *event)
{
    struct job_attempt *attempt = attempt_that_starts(job, event);
    struct job_clock_times *times = &job->building->times[event->clock];

    if (event->time_ns != JOB_NOT_KNOWN) {
        if (times->start_ns != JOB_NOT_KNOWN && event->time_ns < times->start_ns)
            move_clock(job, event, times->end_ns - event->time_ns);
        times->training_ns = event->time_ns;
    }
    job_widen(job, event);
    if (event->step != JOB_NOT_KNOWN && event->step >= 0)
        attempt->restored_step = event->step;
}

/* Does the line tell of steps that another rank's line has told of? All ranks may write to one
 * log: the same step again within its own length is another rank's line. */
static bool is_repeated(const struct job_attempt *attempt, const struct job_event *event)
{
    size_t oldest = attempt->step_count > ENTRIES_OF_OTHER_RANKS
                        ? attempt->step_count - ENTRIES_OF_OTHER_RANKS
                        : 0;

    if (attempt->ending != JOB_ENDING_NOT_KNOWN)
        return false;
    for (size_t i = attempt->step_count; i-- > oldest;) {
        const struct job_step *step = &attempt->steps[i];
        int64_t near_ns = 2 * ns_per_second;

        if (step->step != event->step)
            continue;
        if (event->time_ns == JOB_NOT_KNOWN || step->end_ns == JOB_NOT_KNOWN)
            return step->loss == (float)event->loss ||
                   (i + 1 == attempt->step_count && (isnan(step->loss) || isnan(event->loss)));
        if (step->each_ns > near_ns)
            near_ns = step->each_ns;
        return event->time_ns - step->end_ns <= near_ns;
    }
    return false;
}

/* How long the `count` steps behind the attempt's last took, as far as it can be told without the
 * clock; 0: it cannot. */
static int64_t steps_expected_ns(const struct job_attempt *attempt, const struct job_event *event,
                                 int64_t count)
{
    const struct job_step *last = &attempt->steps[attempt->step_count - 1];
    int64_t each_ns = event->each_ns;

    if (each_ns == JOB_NOT_KNOWN)
        each_ns = last->each_ns;
    if (each_ns == JOB_NOT_KNOWN && attempt->step_count > 1 && last->count > 0 &&
        last[-1].end_ns != JOB_NOT_KNOWN)
        each_ns = (last->end_ns - last[-1].end_ns) / last->count;
    return each_ns > 0 && each_ns < LONGEST_NS / count ? each_ns * count : 0;
}

/* The first step with a time cannot have ended before training began. */
static void repair_first_time(struct job *job, struct job_event *event)
{
    const struct job_clock_times *times = &job->building->times[event->clock];
    int64_t begin_ns = times->training_ns != JOB_NOT_KNOWN ? times->training_ns : times->start_ns;

    if (event->time_ns != JOB_NOT_KNOWN && begin_ns != JOB_NOT_KNOWN && event->time_ns < begin_ns)
        move_clock(job, event,
                   begin_ns - event->time_ns +
                       (event->each_ns != JOB_NOT_KNOWN ? event->each_ns : 0));
}

/* Mends a clock that was put back, or forward by an hour as clocks are once a year. */
static void repair_clock(struct job *job, const struct job_attempt *attempt,
                         struct job_event *event)
{
    const struct job_step *before = &attempt->steps[attempt->step_count - 1];
    int64_t count = event->step - before->step;
    int64_t wall_ns, steps_ns, spans_ns, tolerance_ns = 2 * ns_per_second;
    bool is_length_known = event->each_ns != JOB_NOT_KNOWN && !event->is_length_loose;

    if (before->end_ns == JOB_NOT_KNOWN)
        repair_first_time(job, event);
    if (event->time_ns == JOB_NOT_KNOWN || before->end_ns == JOB_NOT_KNOWN ||
        (event->count != JOB_NOT_KNOWN && event->count < count))
        return;
    wall_ns = event->time_ns - before->end_ns;
    steps_ns = steps_expected_ns(attempt, event, count);
    spans_ns = job_spans_since(attempt);
    if (steps_ns / 50 > tolerance_ns)
        tolerance_ns = steps_ns / 50;
    if (wall_ns < 0 || (is_length_known && wall_ns < steps_ns - tolerance_ns))
        move_clock(job, event, steps_ns + spans_ns - wall_ns);
    else if (is_length_known && event->clock == JOB_CLOCK_LOCAL &&
             job_is_spring_forward(event->time_ns, wall_ns - steps_ns - spans_ns))
        move_clock(job, event, -3600 * ns_per_second);
}

/* How many steps the entry stands for; 0: settled later, when the next one tells the interval.
 * The distance to the last entry, unless the entry says less: then steps are missing, by a file
 * that was cut or a log level that changed. */
static int64_t job_count_of(struct job *job, const struct job_attempt *attempt,
                            const struct job_event *event)
{
    const struct job_step *before;
    int64_t distance, interval;

    if (attempt->step_count == 0)
        return event->count == JOB_NOT_KNOWN ? 0 : event->count;
    before = &attempt->steps[attempt->step_count - 1];
    distance = saturated_difference(event->step, before->step);
    /* What an entry usually stands for: by its own word, as the one before, or the distance
     * where the numbers are multiples of it. */
    interval = event->count != JOB_NOT_KNOWN                      ? event->count
               : before->count > 0                                ? before->count
               : before->step <= 1 || event->step % distance == 0 ? distance
                                                                  : 1;
    if (event->count != JOB_NOT_KNOWN && event->count <= distance) {
        if (event->count < distance)
            job_add_remark(job, (struct job_remark){.kind = JOB_STEPS_MISSING,
                                                    .source = (uint32_t)(job->source_count - 1),
                                                    .line = event->line,
                                                    .step = before->step,
                                                    .amount_ns = distance - event->count});
        return event->count;
    }
    /* A logging interval that was changed is within ten of the usual ones. */
    if (distance <= saturated_product(10, interval) || distance <= 10)
        return distance;
    /* As much time has passed as so many steps take: they were made, and not told. */
    if (event->time_ns != JOB_NOT_KNOWN && before->end_ns != JOB_NOT_KNOWN &&
        (event->each_ns == JOB_NOT_KNOWN || saturated_difference(event->time_ns, before->end_ns) >=
                                                saturated_product(event->each_ns / 2, distance)))
        return distance;
    job_add_remark(job, (struct job_remark){.kind = JOB_STEPS_MISSING,
                                            .source = (uint32_t)(job->source_count - 1),
                                            .line = event->line,
                                            .step = before->step,
                                            .amount_ns = distance - interval});
    return interval;
}

/* A line that goes on where the attempt before the last left off: two jobs write to one file. */
static void watch_for_returns(struct job *job, const struct job_event *event)
{
    size_t attempt = job->building->attempt;

    for (size_t back = 1; back <= 2 && attempt >= back; back++) {
        const struct job_attempt *other = &job->attempts[attempt - back];

        if (other->step_count > 1 && !job->attempts[attempt].has_start &&
            event->step == saturated_sum(other->steps[other->step_count - 1].step,
                                         other->steps[other->step_count - 1].count))
            job->building->returns++;
    }
}

/* Below 0 where the event does not tell. */
static int32_t skipped_of(const struct job_event *event, int64_t most)
{
    int64_t skipped = event->skipped < most ? event->skipped : most;

    return skipped < 0 ? -1 : skipped < INT32_MAX ? (int32_t)skipped : INT32_MAX;
}

/* One entry may stand for several steps, where a log tells of every tenth. */
static void job_add_step(struct job *job, struct job_attempt *attempt,
                         const struct job_event *event)
{
    int64_t count = job_count_of(job, attempt, event);

    ARRAY_ADD(attempt->steps, attempt->step_count,
              (struct job_step){
                  .step = event->step,
                  .end_ns = event->time_ns,
                  .each_ns = event->each_ns,
                  .count = (int32_t)(count < INT32_MAX ? count : INT32_MAX),
                  .skipped = skipped_of(event, INT32_MAX),
                  .loss = (float)event->loss,
                  .mfu = (float)event->mfu,
                  .flops_per_second = event->flops_per_second,
                  .tokens_per_second = (float)event->tokens_per_second,
                  .tokens_per_second_of_job = (float)event->tokens_per_second_of_job,
                  .is_traced = event->is_traced,
                  .process_step = event->process_step,
                  .data_wait_ns = event->data_wait_ns,
              });
    if (event->last_step != JOB_NOT_KNOWN)
        attempt->last_step = event->last_step;
    job_widen(job, event);
}

/* It steps on: what looked like its end was none. */
static void undo_ending(struct job_attempt *attempt)
{
    attempt->ending = JOB_ENDING_NOT_KNOWN;
    free(attempt->why);
    attempt->why = NULL;
}

static void collect_first_step(struct job *job, struct job_attempt *attempt,
                               struct job_event *event)
{
    repair_first_time(job, event);
    if (event->step < attempt->restored_step)
        attempt->restored_step = JOB_NOT_KNOWN; /* weights of another run */
    undo_ending(attempt);
    job_add_step(job, attempt, event);
}

/* Does the line tell rates or a loss of the last step, which the line that told the step did not?
 * Takes them. */
static bool completes_step(struct job_step *last, const struct job_event *event)
{
    if (event->step != last->step || event->each_ns != JOB_NOT_KNOWN ||
        event->count != JOB_NOT_KNOWN || !isnan(last->flops_per_second) || !isnan(last->loss) ||
        (isnan(event->flops_per_second) && isnan(event->loss)))
        return false;
    last->flops_per_second = event->flops_per_second;
    last->loss = (float)event->loss;
    last->skipped = skipped_of(event, last->count);
    return true;
}

/* A step number that goes back begins a new attempt: the job was restarted from a checkpoint.
 * Several returns to where another attempt stood mean two jobs in one file. */
static void job_take_step(struct job *job, struct job_event *event)
{
    struct job_attempt *attempt = current_attempt(job);
    const struct job_step *before;

    if (!attempt)
        attempt = begin_attempt(job, false);
    if (attempt->step_count == 0) {
        collect_first_step(job, attempt, event);
        return;
    }
    before = &attempt->steps[attempt->step_count - 1];
    if (completes_step(&attempt->steps[attempt->step_count - 1], event)) {
        job_widen(job, event);
        return;
    }
    if (event->step <= before->step) {
        if (is_repeated(attempt, event)) {
            job->repeated_lines++;
            job_widen(job, event);
            return;
        }
        watch_for_returns(job, event);
        attempt = begin_attempt(job, false);
    } else {
        /* A jump forward may be the line of another job in the same file. */
        if (event->step > saturated_sum(before->step, 10 * (int64_t)before->count))
            watch_for_returns(job, event);
        /* Steps go on: what looked like an ending was none. */
        undo_ending(attempt);
        repair_clock(job, attempt, event);
    }
    job_add_step(job, attempt, event);
}

static bool has_begun(const struct job_attempt *attempt)
{
    return attempt->has_start || attempt->step_count || attempt->span_count;
}

/* The first sign of an ending counts: what follows a crash is its echo on other ranks. */
static void collect_ending(struct job *job, const struct job_event *event, enum job_ending ending)
{
    struct job_attempt *attempt = current_attempt(job);

    if (event->is_weak && (!attempt || !has_begun(attempt)))
        return;
    if (!attempt)
        attempt = begin_attempt(job, false);
    job_widen(job, event);
    if (attempt->ending != JOB_ENDING_NOT_KNOWN)
        return;
    attempt->ending = ending;
    if (event->text)
        attempt->why = require_memory(strndup(event->text, event->text_length));
}

/* An end without a begin, or either before any start: the file begins in the middle of an
 * attempt. */
static void collect_span(struct job *job, const struct job_event *event, enum job_span_kind kind,
                         bool is_end)
{
    struct job_attempt *attempt = current_attempt(job);

    if (!attempt)
        attempt = begin_attempt(job, false);
    job_widen(job, event);
    if (is_end)
        job_end_span(job->building, attempt, kind, event);
    else
        job_begin_span(job->building, attempt, kind, event);
}

static void collect_start(struct job *job, struct job_event *event)
{
    const struct job_attempt *attempt = current_attempt(job);

    if (event->is_weak && attempt && attempt->step_count > 0)
        event->devices = 0; /* of processes that train nothing */
    else
        (void)attempt_that_starts(job, event);
    job_widen(job, event);
}

/* What the source told of the attempt's steps is forgotten, and so is the remark on it. */
static void forget_steps(struct job *job)
{
    struct job_attempt *attempt = current_attempt(job);
    size_t kept = 0;

    if (attempt)
        attempt->step_count = 0;
    for (size_t i = 0; attempt && i < attempt->span_count; i++)
        attempt->spans[i].after = 0;
    for (size_t i = 0; i < job->remark_count; i++)
        if (job->remarks[i].kind != JOB_STEPS_ARE_LINES ||
            job->remarks[i].source + 1 != job->source_count)
            job->remarks[kept++] = job->remarks[i];
    job->remark_count = kept;
}

/* Every line of every log ends here, in the order of its file: an attempt is what these events
 * make of each other. */
void job_add(struct job *job, const struct job_event *given)
{
    struct job_event event = *given;

    resolve_clock(job, &event);
    switch (event.kind) {
    case JOB_SIGN_OF_LIFE:
        if (event.time_ns != JOB_NOT_KNOWN && !current_attempt(job))
            begin_attempt(job, false);
        job_widen(job, &event);
        break;
    case JOB_UNNUMBERED:
        job_add_remark(job, (struct job_remark){.kind = JOB_STEPS_ARE_LINES,
                                                .source = (uint32_t)(job->source_count - 1),
                                                .line = event.line});
        break;
    case JOB_STEPS_ANEW:
        forget_steps(job);
        break;
    case JOB_START:
        collect_start(job, &event);
        break;
    case JOB_RESTORE_BEGIN:
    case JOB_RESTORE_END:
        collect_restore(job, &event);
        break;
    case JOB_TRAINING:
        collect_training(job, &event);
        break;
    case JOB_STEP:
        job_take_step(job, &event);
        break;
    case JOB_CHECKPOINT_BEGIN:
    case JOB_CHECKPOINT_END:
        collect_span(job, &event, JOB_SPAN_CHECKPOINT, event.kind == JOB_CHECKPOINT_END);
        break;
    case JOB_EVALUATION_BEGIN:
    case JOB_EVALUATION_END:
        collect_span(job, &event, JOB_SPAN_EVALUATION, event.kind == JOB_EVALUATION_END);
        break;
    case JOB_CRASH:
        collect_ending(job, &event, JOB_ENDING_FAILED);
        break;
    case JOB_STOP:
        collect_ending(job, &event, JOB_ENDING_STOPPED);
        break;
    case JOB_END:
        collect_ending(job, &event, JOB_ENDING_COMPLETED);
        break;
    }
    /* Any line may tell devices, and what it tells holds for its attempt. */
    if (event.devices > 0 && current_attempt(job))
        current_attempt(job)->devices = event.devices;
}

void job_resolve(struct job *job)
{
    if (job->building)
        resolve_last_attempt(job);
}

void job_attempt_clear(struct job_attempt *attempt)
{
    free(attempt->why);
    free(attempt->steps);
    free(attempt->spans);
    *attempt = (struct job_attempt){0};
}

void job_clear(struct job *job)
{
    for (size_t i = 0; i < job->source_count; i++)
        free(job->sources[i].name);
    for (size_t i = 0; i < job->attempt_count; i++)
        job_attempt_clear(&job->attempts[i]);
    for (size_t i = 0; i < job->incident_count; i++)
        free(job->incidents[i].what);
    free(job->incidents);
    free(job->sources);
    free(job->attempts);
    free(job->remarks);
    free(job->building);
    *job = (struct job){0};
}

/* All that a diary may leave out is "not known" at first; the entry's own lines fill it in. */
struct job_incident *job_add_incident(struct job *job, int64_t time_ns, const char *what,
                                      size_t length)
{
    ARRAY_ROOM(job->incidents, job->incident_count);
    job->incidents[job->incident_count] = (struct job_incident){
        .time_ns = time_ns,
        .what = require_memory(strndup(what, length)),
        .restored_step = JOB_NOT_KNOWN,
        .start_ns = JOB_NOT_KNOWN,
        .lost_ns = JOB_NOT_KNOWN,
        .source = (uint32_t)(job->source_count - 1),
    };
    return &job->incidents[job->incident_count++];
}

int64_t job_first_step(const struct job_attempt *attempt)
{
    return attempt->step_count ? attempt->steps[0].step - attempt->steps[0].count + 1
                               : JOB_NOT_KNOWN;
}

int64_t job_steps_made(const struct job_attempt *attempt)
{
    int64_t count = 0;

    for (size_t i = 0; i < attempt->step_count; i++)
        count += attempt->steps[i].count;
    return count;
}
