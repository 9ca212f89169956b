/* Random bytes as the log of a training job: whatever they are, every account is a part of the
 * whole, and the whole is their sum. */
#include "base/core/invariant.h"
#include "job/job_accounts.h"
#include "job/job_rates.h"
#include "job/job_step_times.h"
#include "readers/logs/read_log.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accounts(struct job *job)
{
    SCOPED(job_accounts) accounts = {0};
    struct job_rates rates;
    struct job_step_times times;
    struct job_failures failures;

    job_accounts_fill(&accounts, job, 8);
    for (size_t i = 0; i < accounts.attempt_count; i++)
        for (int account = 0; account < JOB_ACCOUNT_COUNT; account++)
            require_invariant(accounts.attempts[i].ns[account] >= 0, "that no time is negative");
    job_check_rates(&rates, job, &(struct job_rate_limits){.highest_peak = 1e17});
    job_rates_fill(&rates, job, &accounts);
    job_step_times_fill(&times, job, &accounts);
    job_failures_fill(&failures, job, &accounts);
    require_invariant(times.minimum_ns <= times.median_ns && times.median_ns <= times.maximum_ns,
                      "that the median lies between the extremes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(job) job = {0};
    SCOPED(input_stream) input = {.name = "fuzz"};
    struct log_carry carry = {0};
    struct log_outcome outcome;
    struct error error = {0};

    input_stream_open_memory(&input, data, size);
    input.name = "fuzz";
    if (read_log(&job, &input, &carry, &outcome, &error) && job_finish(&job, &error))
        check_accounts(&job);
    return 0;
}
