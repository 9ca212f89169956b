/* Rates that a log tells of a job's steps; what cannot be is set aside. */
#include "job/job_rates.h"

#include "base/core/invariant.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- failures -------------------------------------------------------------------------------- */

/* What interruptions cost a job, and what share of its time could be expected to be useful with its
 * own rate of failures, restarts and checkpoints. */

/* A job loses, for each failure, the restart and on average half an interval of steps since the
 * last checkpoint; and in each interval the time for which a checkpoint stalls it. A longer
 * interval loses more of the first and less of the second; best_checkpoint_interval is where the
 * sum is least (Young's square root), which holds as long as failures are rare within an
 * interval. ETTR = (1 - f (r + i / 2)) / (1 + c / i), with failures f per second, restart r,
 * interval i and checkpoint c in seconds. */
double expected_ettr(const struct ettr_model *model)
{
    double lost = model->failures * (model->restart + model->interval / 2.0);

    return lost < 1.0 ? (1.0 - lost) / (1.0 + model->checkpoint / model->interval) : 0.0;
}

/* J. W. Young, "A first order approximation to the optimum checkpoint interval", 1974: sqrt(2
 * c / f). */
double best_checkpoint_interval(const struct ettr_model *model)
{
    return sqrt(2.0 * model->checkpoint / model->failures);
}

/* The hang and the discarded steps are of the attempt that failed, downtime and start-up of
 * the one that follows. */
struct restart_loss job_restart_loss(const struct job_accounts *accounts, size_t attempt)
{
    const struct attempt_accounts *before = &accounts->attempts[attempt - 1];

    return (struct restart_loss){
        .hang_ns = before->ns[JOB_HANG],
        .down_ns = before[1].ns[JOB_DOWN],
        .startup_ns = before[1].ns[JOB_STARTUP],
        .discarded_ns = before->ns[JOB_DISCARDED],
    };
}

/* A restart counts where the attempt after it made a step: others are tries that failed by
 * themselves. */
static void add_restarts(struct job_failures *failures, const struct job *job,
                         const struct job_accounts *accounts)
{
    int64_t total_ns = 0;

    for (size_t i = 0; i < job->attempt_count; i++) {
        failures->interruptions += job_attempt_failed(job, i);
        failures->alive_ns += attempt_alive_ns(&accounts->attempts[i]);
        if (i > 0 && job_attempt_failed(job, i - 1)) {
            struct restart_loss loss = job_restart_loss(accounts, i);

            failures->restarts += job->attempts[i].step_count > 0;
            total_ns += loss.hang_ns + loss.down_ns + loss.startup_ns;
        }
    }
    if (failures->restarts > 0)
        failures->restart_ns = total_ns / failures->restarts;
}

/* The interval is of useful and lost steps alike, as a checkpoint does not know which they
 * will be. */
static void add_checkpoints(struct job_failures *failures, const struct job *job,
                            const struct job_accounts *accounts)
{
    int64_t all = 0;

    for (size_t i = 0; i < job->attempt_count; i++)
        for (size_t j = 0; j < job->attempts[i].span_count; j++) {
            const struct job_span *span = &job->attempts[i].spans[j];

            if (span->kind != JOB_SPAN_CHECKPOINT)
                continue;
            all++;
            failures->checkpoints += span->duration_ns != JOB_NOT_KNOWN || accounts->is_complete;
        }
    if (failures->checkpoints > 0)
        failures->checkpoint_ns = accounts->ns[JOB_CHECKPOINTS] / failures->checkpoints;
    if (all > 0)
        failures->interval_ns =
            (accounts->ns[JOB_KEPT] + accounts->ns[JOB_SKIPPED] + accounts->ns[JOB_DISCARDED]) /
            all;
}

/* A rate needs a job whose time is known whole: from half of its files it would be half a
 * rate. */
void job_failures_fill(struct job_failures *failures, const struct job *job,
                       const struct job_accounts *accounts)
{
    *failures = (struct job_failures){0};
    add_restarts(failures, job, accounts);
    add_checkpoints(failures, job, accounts);
    failures->is_rate_known =
        accounts->is_complete && failures->interruptions > 0 && failures->alive_ns > 0;
    if (!failures->is_rate_known)
        return;
    failures->model = (struct ettr_model){
        .failures = (double)failures->interruptions / ((double)failures->alive_ns / 1e9),
        .restart = (double)failures->restart_ns / 1e9,
        .checkpoint = (double)failures->checkpoint_ns / 1e9,
        .interval = (double)failures->interval_ns / 1e9,
    };
    failures->is_model_known =
        failures->restarts > 0 && failures->checkpoint_ns > 0 && failures->interval_ns > 0;
}

/* ---- job rates ------------------------------------------------------------------------------- */

static int compare_doubles(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;

    return a < b ? -1 : a > b;
}

/* The median of what the entries tell; NAN where too few do. */
static double median_flops(const struct job *job)
{
    size_t room = 0, count = 0;
    double *values, median = NAN;

    for (size_t i = 0; i < job->attempt_count; i++)
        room += job->attempts[i].step_count;
    values = require_memory(malloc((room + 1) * sizeof *values));
    for (size_t i = 0; i < job->attempt_count; i++)
        for (size_t j = 0; j < job->attempts[i].step_count; j++)
            if (isfinite(job->attempts[i].steps[j].flops_per_second))
                values[count++] = job->attempts[i].steps[j].flops_per_second;
    if (count >= RATE_ENTRIES_MIN) {
        qsort(values, count, sizeof *values, compare_doubles);
        median = values[(count - 1) / 2];
    }
    free(values);
    return median;
}

/* RATE_FAULT_COUNT: none.
 *
 * Logs of real jobs hold rates that no device reaches: a step whose timer was reset, a counter
 * that overflowed. One of them would spoil a mean over thousands of steps. What is above the
 * device's peak, or any device's, cannot be; above RATE_TIMES_MEDIAN medians it could, but not
 * of the same work. Low rates are never set aside: a job may well be slow. */
static enum job_rate_fault fault_of(const struct job_step *step, double median,
                                    const struct job_rate_limits *limits)
{
    double flops = step->flops_per_second;

    if (isnan(flops) && isnan(step->mfu))
        return RATE_FAULT_COUNT;
    if (limits->peak > 0.0 && flops > limits->peak)
        return RATE_ABOVE_PEAK;
    if (limits->highest_peak > 0.0 && flops > limits->highest_peak)
        return RATE_ABOVE_ANY;
    if (step->mfu > 1.0F)
        return RATE_MFU_ABOVE_ONE;
    if (!isnan(median) && flops > RATE_TIMES_MEDIAN * median)
        return RATE_OUT_OF_LINE;
    return RATE_FAULT_COUNT;
}

/* Counted by fault, with the first example of each, so that the report can say what was set
 * aside. */
void job_check_rates(struct job_rates *rates, struct job *job, const struct job_rate_limits *limits)
{
    *rates = (struct job_rates){.median_flops_per_second = median_flops(job)};
    for (size_t i = 0; i < job->attempt_count; i++) {
        for (size_t j = 0; j < job->attempts[i].step_count; j++) {
            struct job_step *step = &job->attempts[i].steps[j];
            enum job_rate_fault fault = fault_of(step, rates->median_flops_per_second, limits);
            struct job_rate_example *example;

            step->is_incredible = fault != RATE_FAULT_COUNT;
            if (!step->is_incredible)
                continue;
            example = &rates->faults[fault];
            if (example->count++ == 0) {
                example->step = step->step;
                example->flops_per_second = step->flops_per_second;
                example->mfu = step->mfu;
            }
        }
    }
}

/* A mean in the making. */
struct weighted_mean {
    double sum;
    double weight;
};

static void job_rates_add_value(struct weighted_mean *mean, double value, double weight)
{
    if (!isfinite(value) || weight <= 0.0)
        return;
    mean->sum += value * weight;
    mean->weight += weight;
}

static double job_rates_value_of(const struct weighted_mean *mean)
{
    return mean->weight > 0.0 ? mean->sum / mean->weight : NAN;
}

/* Means over kept steps, weighted by time: a rate holds for as long as its steps took. */
void job_rates_fill(struct job_rates *rates, const struct job *job,
                    const struct job_accounts *accounts)
{
    struct weighted_mean flops = {0}, mfu = {0}, tokens = {0}, of_job = {0};

    rates->credible = 0;
    for (size_t i = 0; i < job->attempt_count; i++) {
        const struct attempt_accounts *attempt = &accounts->attempts[i];

        for (size_t j = 0; j < job->attempts[i].step_count; j++) {
            const struct job_step *step = &job->attempts[i].steps[j];
            /* Without times all steps weigh the same. */
            double each = attempt->each_ns[j] > 0 ? (double)attempt->each_ns[j] : 1.0;
            double weight = each * (double)step->count;

            if (step->is_incredible || step->step > attempt->kept_until)
                continue;
            rates->credible += isfinite(step->flops_per_second) || isfinite(step->mfu);
            job_rates_add_value(&flops, step->flops_per_second, weight);
            job_rates_add_value(&mfu, (double)step->mfu, weight);
            job_rates_add_value(&tokens, (double)step->tokens_per_second, weight);
            job_rates_add_value(&of_job, (double)step->tokens_per_second_of_job, weight);
        }
    }
    rates->flops_per_second = job_rates_value_of(&flops);
    rates->mfu = job_rates_value_of(&mfu);
    rates->tokens_per_second = job_rates_value_of(&tokens);
    rates->tokens_per_second_of_job = job_rates_value_of(&of_job);
}
