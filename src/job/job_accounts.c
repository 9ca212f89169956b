/* Level A of the ledger: each second of a job, booked to exactly one account. */
#include "job/job_accounts.h"

#include "base/core/invariant.h"
#include "base/core/saturated.h"

#include <stdlib.h>

static const struct {
    const char *key;
    const char *title;
} account_names[JOB_ACCOUNT_COUNT] = {
    [JOB_KEPT] = {"kept_steps", "kept steps"},
    [JOB_SKIPPED] = {"skipped_updates", "skipped updates"},
    [JOB_DISCARDED] = {"discarded_steps", "discarded steps"},
    [JOB_CHECKPOINTS] = {"checkpoints", "checkpoints"},
    [JOB_EVALUATIONS] = {"evaluations", "evaluations"},
    [JOB_OTHER] = {"other_between_steps", "other between steps"},
    [JOB_HANG] = {"hang_and_detection", "hang and detection"},
    [JOB_STARTUP] = {"startup", "startup"},
    [JOB_DOWN] = {"down", "downtime"},
};

/* A stretch of an attempt between two times that are known: the steps and spans in it. */
struct interval {
    size_t first_step; /* index in steps[] */
    size_t end_step;
    size_t first_span; /* index in spans[] */
    size_t end_span;
};

/* What the log says of a stretch. */
struct interval_times {
    int64_t steps_ns;
    bool are_steps_known;
    int64_t spans_ns[JOB_SPAN_EVALUATION + 1];
    unsigned unknown_kinds; /* a bit for each kind of span whose length is not told */
};

/* Where the walk over an attempt stands. */
struct account_walk {
    const struct job *job;
    const struct job_attempt *attempt;
    struct attempt_accounts *accounts;
    int64_t at_ns; /* up to here all is booked; JOB_NOT_KNOWN: no time yet */
    struct interval interval;
};

const char *job_account_key(enum job_account account)
{
    return account_names[account].key;
}

const char *job_account_title(enum job_account account)
{
    return account_names[account].title;
}

/* total * part / whole, for part <= whole: their product may be too long for 64 bits. */
static int64_t job_accounts_share_of(int64_t total, int64_t part, int64_t whole)
{
    __extension__ __int128 product = (__int128)total * part;

    return (int64_t)(product / whole);
}

static int64_t job_accounts_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* mean * count; as good as endless where that overflows. */
static int64_t steps_length(const struct job_step *step)
{
    return step->each_ns > INT64_MAX / 4 / (step->count + INT64_C(1)) ? INT64_MAX / 4
                                                                      : step->each_ns * step->count;
}

/* Where no line says how an attempt ended, another one after it means that it did not
 * complete; the last may still run. */
bool job_attempt_failed(const struct job *job, size_t attempt)
{
    switch (job->attempts[attempt].ending) {
    case JOB_ENDING_FAILED:
    case JOB_ENDING_STOPPED:
        return true;
    case JOB_ENDING_NOT_KNOWN:
        return attempt + 1 < job->attempt_count;
    case JOB_ENDING_COMPLETED:
        break;
    }
    return false;
}

/* Sums stay below their bounds, whatever a log tells: INT64_MAX / 2 + 2 * (INT64_MAX / 8) is
 * less than INT64_MAX. */
static struct interval_times times_known(const struct account_walk *walk)
{
    const struct job_attempt *attempt = walk->attempt;
    struct interval_times times = {.are_steps_known = true};

    for (size_t i = walk->interval.first_step; i < walk->interval.end_step; i++) {
        if (attempt->steps[i].each_ns == JOB_NOT_KNOWN)
            times.are_steps_known = false;
        else
            times.steps_ns = job_accounts_smaller(times.steps_ns + steps_length(&attempt->steps[i]),
                                                  INT64_MAX / 2);
    }
    for (size_t i = walk->interval.first_span; i < walk->interval.end_span; i++) {
        const struct job_span *span = &attempt->spans[i];

        if (span->duration_ns == JOB_NOT_KNOWN)
            times.unknown_kinds |= span->is_in_steps ? 0U : 1U << span->kind;
        else
            times.spans_ns[span->kind] =
                job_accounts_smaller(times.spans_ns[span->kind] + span->duration_ns, INT64_MAX / 8);
    }
    return times;
}

/* Books `total_ns` to the steps of the stretch, by their lengths where these are told, else by
 * their number. The last step of the interval gets what is left, so that the parts sum to the
 * total exactly. A step is kept, skipped or discarded by its number; an entry of many steps is
 * split by how many of them are. */
static void job_accounts_attribute_steps(struct account_walk *walk,
                                         const struct interval_times *times, int64_t total_ns)
{
    const struct job_attempt *attempt = walk->attempt;
    struct attempt_accounts *accounts = walk->accounts;
    int64_t whole = 0, left_ns = total_ns;

    for (size_t i = walk->interval.first_step; i < walk->interval.end_step; i++)
        whole +=
            times->are_steps_known ? steps_length(&attempt->steps[i]) : attempt->steps[i].count;
    for (size_t i = walk->interval.first_step; i < walk->interval.end_step; i++) {
        const struct job_step *step = &attempt->steps[i];
        int64_t part = times->are_steps_known ? steps_length(step) : step->count;
        int64_t ns = i + 1 == walk->interval.end_step || whole == 0 ? left_ns
                     : total_ns == whole
                         ? part
                         : (int64_t)((double)total_ns * ((double)part / (double)whole));
        int64_t before = saturated_difference(step->step, step->count);
        int64_t kept = accounts->kept_until < before ? 0
                       : accounts->kept_until > step->step
                           ? step->count
                           : saturated_difference(accounts->kept_until, before);
        int64_t skipped = job_accounts_smaller(step->skipped > 0 ? step->skipped : 0, step->count);
        int64_t kept_ns;

        /* Rounding may have given the steps before a nanosecond too many. */
        ns = job_accounts_smaller(ns, left_ns);
        left_ns -= ns;
        kept_ns = job_accounts_share_of(ns, kept, step->count);
        accounts->ns[JOB_DISCARDED] += ns - kept_ns;
        accounts->ns[JOB_SKIPPED] += job_accounts_share_of(kept_ns, skipped, step->count);
        accounts->ns[JOB_KEPT] += kept_ns - job_accounts_share_of(kept_ns, skipped, step->count);
        accounts->each_ns[i] = ns / step->count;
    }
}

/* Books spans up to `room_ns`; returns what is left of it. Checkpoints first: where a log's
 * lengths together are more than the time there is, evaluations lose. */
static int64_t attribute_spans(struct account_walk *walk, const struct interval_times *times,
                               int64_t room_ns)
{
    int64_t checkpoints_ns = job_accounts_smaller(times->spans_ns[JOB_SPAN_CHECKPOINT], room_ns);
    int64_t evaluations_ns =
        job_accounts_smaller(times->spans_ns[JOB_SPAN_EVALUATION], room_ns - checkpoints_ns);

    walk->accounts->ns[JOB_CHECKPOINTS] += checkpoints_ns;
    walk->accounts->ns[JOB_EVALUATIONS] += evaluations_ns;
    return room_ns - checkpoints_ns - evaluations_ns;
}

/* Time between the ends of two steps that neither steps nor spans with a length explain: of the
 * only kind of span without one, or of none. */
static enum job_account account_of_rest(const struct account_walk *walk,
                                        const struct interval_times *times)
{
    if (walk->interval.end_step - walk->interval.first_step > 1)
        return JOB_OTHER;
    if (times->unknown_kinds == 1U << JOB_SPAN_CHECKPOINT)
        return JOB_CHECKPOINTS;
    if (times->unknown_kinds == 1U << JOB_SPAN_EVALUATION)
        return JOB_EVALUATIONS;
    return JOB_OTHER;
}

/* Books the stretch, whose end is known (`end_ns`): all of the time in it.
 *
 * The walk keeps one invariant: all time up to at_ns is booked, to exactly one account. It moves
 * on only where the log tells a time, so that a step without one is never guessed: all steps and
 * spans since the last known time make an interval, which is booked as a whole. In it spans that
 * tell their length come first, then steps that tell theirs, and what is left is of the steps
 * (which tell none) or between them. So lengths that a log rounds, or that overlap, never book
 * more than the wall clock has. */
static void close_interval(struct account_walk *walk, int64_t end_ns)
{
    struct interval_times times = times_known(walk);
    int64_t wall_ns = end_ns > walk->at_ns ? end_ns - walk->at_ns : 0;
    int64_t rest_ns = attribute_spans(walk, &times, wall_ns);
    int64_t steps_ns =
        times.are_steps_known ? job_accounts_smaller(times.steps_ns, rest_ns) : rest_ns;

    if (walk->interval.first_step == walk->interval.end_step)
        steps_ns = 0;
    job_accounts_attribute_steps(walk, &times, steps_ns);
    walk->accounts->ns[account_of_rest(walk, &times)] += rest_ns - steps_ns;
    walk->at_ns = end_ns > walk->at_ns ? end_ns : walk->at_ns;
    walk->interval.first_step = walk->interval.end_step;
    walk->interval.first_span = walk->interval.end_span;
}

/* Books the stretch by what is told of it alone: there are no times. Of its steps, those whose
 * length is told. Runs of steps with a length, each booked as a whole; those without a length
 * are counted, and have no time. */
static void close_untimed_interval(struct account_walk *walk)
{
    const struct job_step *steps = walk->attempt->steps;
    struct interval_times times = times_known(walk);
    size_t end_step = walk->interval.end_step;

    (void)attribute_spans(walk, &times, INT64_MAX / 2);
    walk->interval.first_span = walk->interval.end_span;
    while (walk->interval.first_step < end_step) {
        walk->interval.end_step = walk->interval.first_step;
        while (walk->interval.end_step < end_step &&
               steps[walk->interval.end_step].each_ns != JOB_NOT_KNOWN)
            walk->interval.end_step++;
        times = times_known(walk);
        job_accounts_attribute_steps(walk, &times, times.steps_ns);
        if (walk->interval.end_step < end_step)
            walk->accounts->untimed_steps += steps[walk->interval.end_step++].count;
        walk->interval.first_step = walk->interval.end_step;
    }
}

/* Spans behind the first `steps` entries belong to what comes before the next one. */
static void collect_spans(struct account_walk *walk, size_t steps)
{
    while (walk->interval.end_span < walk->attempt->span_count &&
           walk->attempt->spans[walk->interval.end_span].after <= steps)
        walk->interval.end_span++;
}

/* Of the spans before the first step, those that training had not begun before. */
static void collect_startup_spans(struct account_walk *walk)
{
    const struct job_attempt *attempt = walk->attempt;

    while (walk->interval.end_span < attempt->span_count &&
           attempt->spans[walk->interval.end_span].after == 0) {
        const struct job_span *span = &attempt->spans[walk->interval.end_span];

        if (span->kind != JOB_SPAN_RESTORE && attempt->is_training_known &&
            (span->end_ns == JOB_NOT_KNOWN || span->end_ns > attempt->training_ns))
            break;
        walk->interval.end_span++;
    }
}

/* From the start to the first step. Where nothing tells when training began, the first step lies
 * in the start-up: is_first_step_in_start says so. */
static void attribute_startup(struct account_walk *walk)
{
    const struct job_attempt *attempt = walk->attempt;
    struct attempt_accounts *accounts = walk->accounts;
    int64_t until_ns = attempt->training_ns;
    struct interval_times times;

    walk->at_ns = attempt->start_ns;
    if (attempt->start_ns == JOB_NOT_KNOWN)
        return;
    if (until_ns == JOB_NOT_KNOWN && attempt->step_count == 0)
        until_ns = attempt->end_ns;
    if (until_ns == JOB_NOT_KNOWN && attempt->steps[0].end_ns != JOB_NOT_KNOWN) {
        until_ns = attempt->steps[0].end_ns;
        accounts->is_first_step_in_start = true;
        walk->interval.first_step = walk->interval.end_step = 1;
    }
    if (until_ns == JOB_NOT_KNOWN)
        return;
    /* A clock that was put back: a start-up of no length, and no negative one. */
    if (until_ns < walk->at_ns)
        until_ns = walk->at_ns;
    accounts->is_startup_known = until_ns > walk->at_ns;
    collect_startup_spans(walk);
    times = times_known(walk);
    accounts->restore_ns =
        job_accounts_smaller(times.spans_ns[JOB_SPAN_RESTORE], until_ns - walk->at_ns);
    accounts->ns[JOB_STARTUP] = attribute_spans(walk, &times, until_ns - walk->at_ns);
    walk->interval.first_span = walk->interval.end_span;
    walk->at_ns = until_ns;
}

/* From the last time of a step to the last time of the attempt.
 *
 * What comes after the last step of an attempt that failed is the time until somebody, or a
 * watchdog, noticed: hang and detection. Where steps without times lie behind the last known
 * time, that cannot be told from steps that ran, and is not counted as a hang (is_hang_in_other
 * says so). */
static void attribute_end(struct account_walk *walk, bool has_failed)
{
    const struct job_attempt *attempt = walk->attempt;
    bool has_untimed_steps = walk->interval.first_step < attempt->step_count;
    struct interval_times times;

    walk->interval.end_step = attempt->step_count;
    walk->interval.end_span = attempt->span_count;
    times = times_known(walk);
    if (walk->at_ns == JOB_NOT_KNOWN || attempt->end_ns == JOB_NOT_KNOWN ||
        (has_untimed_steps &&
         (!times.are_steps_known || attempt->end_ns - walk->at_ns < times.steps_ns))) {
        close_untimed_interval(walk);
        return;
    }
    /* From here on the attempt has a length from its start to its end. */
    walk->accounts->is_timed = true;
    if (!has_untimed_steps && has_failed && attempt->step_count) {
        if (attempt->end_ns > walk->at_ns)
            walk->accounts->ns[JOB_HANG] += attempt->end_ns - walk->at_ns;
        return;
    }
    walk->accounts->is_hang_in_other = has_untimed_steps && has_failed;
    close_interval(walk, attempt->end_ns);
}

/* A line may tell of several steps: of those only the ones behind the last that was kept were
 * lost. */
static void job_accounts_count_steps(struct attempt_accounts *accounts,
                                     const struct job_attempt *attempt)
{
    accounts->steps = job_steps_made(attempt);
    for (size_t i = 0; i < attempt->step_count; i++) {
        const struct job_step *step = &attempt->steps[i];
        int64_t lost = saturated_difference(step->step, accounts->kept_until);

        if (accounts->kept_until < step->step)
            accounts->steps_discarded += job_accounts_smaller(lost, step->count);
        accounts->steps_skipped +=
            job_accounts_smaller(step->skipped > 0 ? step->skipped : 0, step->count);
        accounts->are_skipped_known |= step->skipped >= 0;
    }
}

/* The walk closes an interval at each step with a time; steps without one wait in the open
 * interval. */
static void job_accounts_attribute_attempt(struct attempt_accounts *accounts, const struct job *job,
                                           size_t index)
{
    const struct job_attempt *attempt = &job->attempts[index];
    struct account_walk walk = {.job = job, .attempt = attempt, .accounts = accounts};

    accounts->each_ns =
        require_memory(malloc((attempt->step_count + 1) * sizeof *accounts->each_ns));
    for (size_t i = 0; i < attempt->step_count; i++)
        accounts->each_ns[i] = JOB_NOT_KNOWN;
    job_accounts_count_steps(accounts, attempt);
    attribute_startup(&walk);
    for (size_t i = walk.interval.first_step; i < attempt->step_count; i++) {
        walk.interval.end_step = i + 1;
        collect_spans(&walk, i);
        if (attempt->steps[i].end_ns == JOB_NOT_KNOWN)
            continue;
        /* The first time that is known: what was before it has a number of steps, and no time. */
        if (walk.at_ns == JOB_NOT_KNOWN)
            walk.at_ns = attempt->steps[i].end_ns;
        close_interval(&walk, attempt->steps[i].end_ns);
    }
    attribute_end(&walk, job_attempt_failed(job, index));
}

/* Runs one after another: the attempt begins with the first step, though all were made before. */
static bool begins_run(const struct job *job, size_t attempt)
{
    size_t before = attempt;

    if (!job->attempts[attempt].step_count || job_first_step(&job->attempts[attempt]) > 1)
        return false;
    while (before-- > 0)
        if (job->attempts[before].step_count)
            return job->attempts[before].ending == JOB_ENDING_COMPLETED;
    return false;
}

/* Fate decides: a step is kept unless an attempt of the run that follows makes it again.
 *
 * From the last attempt to the first: what an attempt starts from is the checkpoint that was
 * loaded, so all later steps of the attempts before it are made again, and lost. The smallest
 * start of all that follow decides, since a job may go back twice. */
static void decide_fates(struct attempt_accounts *accounts, const struct job *job)
{
    int64_t kept_until = INT64_MAX;

    for (size_t i = job->attempt_count; i-- > 0;) {
        accounts[i].kept_until = kept_until;
        accounts[i].begins_run = begins_run(job, i);
        if (accounts[i].begins_run)
            kept_until = INT64_MAX;
        else if (job->attempts[i].step_count && job_first_step(&job->attempts[i]) - 1 < kept_until)
            kept_until = job_first_step(&job->attempts[i]) - 1;
    }
}

/* Between the last sign of one attempt and the first of the next. Overlapping files have no
 * downtime between them. */
static void attribute_down(struct attempt_accounts *accounts, const struct job *job, size_t index)
{
    const struct job_attempt *attempt = &job->attempts[index];

    accounts->is_down_known = true;
    if (index == 0)
        return;
    if (attempt->start_ns == JOB_NOT_KNOWN || attempt[-1].end_ns == JOB_NOT_KNOWN)
        accounts->is_down_known = false;
    else if (attempt->start_ns > attempt[-1].end_ns)
        accounts->ns[JOB_DOWN] = attempt->start_ns - attempt[-1].end_ns;
}

/* Downtime before an attempt held the devices of the attempt before it: device-hours are counted
 * by those. */
static void job_accounts_add_up(struct job_accounts *accounts)
{
    accounts->is_complete = accounts->attempt_count > 0;
    accounts->are_devices_known = accounts->attempt_count > 0;
    for (size_t i = 0; i < accounts->attempt_count; i++) {
        const struct attempt_accounts *attempt = &accounts->attempts[i];

        accounts->is_complete =
            accounts->is_complete && attempt->is_timed && attempt->is_down_known;
        accounts->are_devices_known = accounts->are_devices_known && attempt->devices > 0;
        for (int account = 0; account < JOB_ACCOUNT_COUNT; account++) {
            int64_t devices = account == JOB_DOWN && i > 0 ? attempt[-1].devices : attempt->devices;
            double seconds = (double)attempt->ns[account] / 1e9 * (double)devices;

            accounts->ns[account] += attempt->ns[account];
            accounts->total_ns += attempt->ns[account];
            accounts->device_seconds[account] += seconds;
            accounts->total_device_seconds += seconds;
        }
    }
}

/* Fates first, as they look at attempts that follow; then each attempt by itself. */
void job_accounts_fill(struct job_accounts *accounts, const struct job *job, int64_t devices)
{
    accounts->attempt_count = job->attempt_count;
    accounts->attempts = require_memory(calloc(job->attempt_count + 1, sizeof *accounts->attempts));
    decide_fates(accounts->attempts, job);
    for (size_t i = 0; i < job->attempt_count; i++) {
        accounts->attempts[i].devices =
            job->attempts[i].devices > 0 ? job->attempts[i].devices : devices;
        job_accounts_attribute_attempt(&accounts->attempts[i], job, i);
        attribute_down(&accounts->attempts[i], job, i);
    }
    job_accounts_add_up(accounts);
}

void job_accounts_clear(struct job_accounts *accounts)
{
    for (size_t i = 0; i < accounts->attempt_count; i++)
        free(accounts->attempts[i].each_ns);
    free(accounts->attempts);
    *accounts = (struct job_accounts){0};
}

/* Untimed steps are in no account, so that what stands there is evaluations and checkpoints alone:
 * a log of some hours of them says nothing of the days between. Where some step has a time, the
 * shares are told, with the count of those that have none. */
bool job_accounts_lack_steps(const struct job_accounts *accounts)
{
    int64_t untimed = 0;

    for (size_t i = 0; i < accounts->attempt_count; i++)
        untimed += accounts->attempts[i].untimed_steps;
    return untimed > 0 && accounts->ns[JOB_KEPT] == 0 && accounts->ns[JOB_SKIPPED] == 0 &&
           accounts->ns[JOB_DISCARDED] == 0;
}

/* Down time lies before an attempt, when none of its processes ran. */
int64_t attempt_alive_ns(const struct attempt_accounts *accounts)
{
    int64_t alive_ns = 0;

    for (int account = 0; account < JOB_ACCOUNT_COUNT; account++)
        if (account != JOB_DOWN)
            alive_ns += accounts->ns[account];
    return alive_ns;
}
