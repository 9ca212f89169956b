/* What interruptions cost a job, and what share of its time could be expected to be useful. */
#include "job/job_failures.h"

#include <math.h>

double expected_ettr(const struct ettr_model *model)
{
    double lost = model->failures * (model->restart + model->interval / 2.0);

    return lost < 1.0 ? (1.0 - lost) / (1.0 + model->checkpoint / model->interval) : 0.0;
}

double best_checkpoint_interval(const struct ettr_model *model)
{
    return sqrt(2.0 * model->checkpoint / model->failures);
}

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
