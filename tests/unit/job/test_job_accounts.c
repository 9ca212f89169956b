/* The attempts of a job, and which account each of their seconds is booked to. */
#include "job/job_accounts.h"
#include "job/job_rates.h"
#include "job/job_step_times.h"
#include "trace/job/job.h"
#include "trace/job/job_build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const int64_t second = 1000000000;

static void tell(struct job *job, enum job_event_kind kind, int64_t seconds, int64_t step)
{
    struct job_event event = job_event_of(kind);

    event.time_ns = seconds < 0 ? JOB_NOT_KNOWN : seconds * second;
    event.step = step < 0 ? JOB_NOT_KNOWN : step;
    job_add(job, &event);
}

static void tell_step(struct job *job, int64_t seconds, int64_t step, int64_t each_seconds)
{
    struct job_event event = job_event_of(JOB_STEP);

    event.time_ns = seconds < 0 ? JOB_NOT_KNOWN : seconds * second;
    event.step = step;
    event.each_ns = each_seconds < 0 ? JOB_NOT_KNOWN : each_seconds * second;
    job_add(job, &event);
}

/* What the accounts hold, in whole seconds. */
static void check_seconds(const struct job_accounts *accounts,
                          const int64_t seconds[JOB_ACCOUNT_COUNT])
{
    for (int account = 0; account < JOB_ACCOUNT_COUNT; account++)
        if (accounts->ns[account] != seconds[account] * second)
            fail_msg("%s: %lld ns, %lld s expected", job_account_title((enum job_account)account),
                     (long long)accounts->ns[account], (long long)seconds[account]);
}

static void finish(struct job *job, struct job_accounts *accounts)
{
    struct error error = {0};

    assert_true(job_finish(job, &error));
    job_accounts_fill(accounts, job, 4);
}

/* Two attempts: the second goes on from step 2, so that the third step of the first is lost. */
static void fate_decides_which_steps_were_kept(void **state)
{
    struct job job = {0};
    struct job_accounts accounts = {0};

    job_begin_source(&job, "a.log");
    tell(&job, JOB_START, 1000, -1);
    for (int64_t step = 1; step <= 3; step++)
        tell_step(&job, 1010 + 10 * step, step, 10);
    tell(&job, JOB_CRASH, 1100, -1);
    tell(&job, JOB_START, 1200, -1);
    tell(&job, JOB_RESTORE_END, 1203, 2);
    tell_step(&job, 1230, 3, 10);
    tell_step(&job, 1247, 4, 10);
    tell(&job, JOB_END, 1250, -1);
    finish(&job, &accounts);
    assert_int_equal(job.attempt_count, 2);
    assert_true(accounts.is_complete);
    check_seconds(&accounts, (const int64_t[JOB_ACCOUNT_COUNT]){[JOB_STARTUP] = 10 + 20,
                                                                [JOB_KEPT] = 20 + 20,
                                                                [JOB_DISCARDED] = 10,
                                                                [JOB_HANG] = 60,
                                                                [JOB_DOWN] = 100,
                                                                [JOB_OTHER] = 7 + 3});
    assert_int_equal(accounts.attempts[0].steps_discarded, 1);
    assert_true(accounts.total_device_seconds == 4.0 * 250.0);
    job_accounts_clear(&accounts);
    job_clear(&job);
}

static void spans_are_booked_once_for_all_ranks(void **state)
{
    struct job job = {0};
    struct job_accounts accounts = {0};

    job_begin_source(&job, "a.log");
    tell(&job, JOB_TRAINING, 100, 0);
    tell_step(&job, 110, 1, -1);
    for (int rank = 0; rank < 3; rank++)
        tell(&job, JOB_CHECKPOINT_BEGIN, 110 + rank, 1);
    for (int rank = 0; rank < 3; rank++)
        tell(&job, JOB_CHECKPOINT_END, 120 + rank, 1);
    tell_step(&job, 130, 2, -1);
    tell(&job, JOB_EVALUATION_BEGIN, 130, -1);
    tell(&job, JOB_EVALUATION_END, 135, -1);
    tell_step(&job, 146, 3, -1);
    finish(&job, &accounts);
    check_seconds(&accounts, (const int64_t[JOB_ACCOUNT_COUNT]){
                                 [JOB_KEPT] = 10 + 8 + 11,
                                 [JOB_CHECKPOINTS] = 12,
                                 [JOB_EVALUATIONS] = 5,
                             });
    job_accounts_clear(&accounts);
    job_clear(&job);
}

static void a_checkpoint_in_the_background_costs_nothing(void **state)
{
    struct job job = {0};
    struct job_accounts accounts = {0};

    job_begin_source(&job, "a.log");
    tell(&job, JOB_TRAINING, 100, 0);
    tell_step(&job, 110, 1, -1);
    tell(&job, JOB_CHECKPOINT_BEGIN, 110, 1);
    tell_step(&job, 120, 2, -1);
    tell(&job, JOB_CHECKPOINT_END, 125, 1);
    tell_step(&job, 130, 3, -1);
    finish(&job, &accounts);
    check_seconds(&accounts, (const int64_t[JOB_ACCOUNT_COUNT]){[JOB_KEPT] = 30});
    assert_int_equal(job.attempts[0].span_count, 1);
    assert_true(job.attempts[0].spans[0].is_in_background);
    job_accounts_clear(&accounts);
    job_clear(&job);
}

static void without_times_only_what_is_told_is_booked(void **state)
{
    struct job job = {0};
    struct job_accounts accounts = {0};

    job_begin_source(&job, "a.log");
    tell_step(&job, -1, 10, 2);
    tell_step(&job, -1, 20, 3);
    finish(&job, &accounts);
    assert_false(accounts.is_complete);
    check_seconds(&accounts, (const int64_t[JOB_ACCOUNT_COUNT]){[JOB_KEPT] = 50});
    assert_int_equal(accounts.attempts[0].steps, 20);
    job_accounts_clear(&accounts);
    job_clear(&job);
}

/* One file with the lines of two jobs, turn by turn. */
static void lines_of_two_jobs_are_refused(void **state)
{
    struct job job = {0};
    struct error error = {0};

    job_begin_source(&job, "a.log");
    for (int64_t step = 1; step <= 6; step++) {
        tell_step(&job, 100 + 10 * step, 5000 + 2 * step - 1, 5);
        tell_step(&job, 105 + 10 * step, 5000 + 2 * step, 5);
        tell_step(&job, 101 + 10 * step, 2 * step - 1, 1);
        tell_step(&job, 102 + 10 * step, 2 * step, 1);
    }
    assert_false(job_finish(&job, &error));
    assert_int_equal(error.class, ERROR_INPUT);
    assert_non_null(strstr(error.message, "several jobs"));
    job_clear(&job);
}

static void two_files_that_train_at_once_are_two_jobs(void **state)
{
    struct job job = {0};
    struct error error = {0};

    job_begin_source(&job, "a.log");
    for (int64_t step = 1; step <= 9; step++)
        tell_step(&job, 100 + 10 * step, step, 10);
    job_begin_source(&job, "b.log");
    for (int64_t step = 1; step <= 9; step++)
        tell_step(&job, 133 + 10 * step, 700 + step, 10);
    assert_false(job_finish(&job, &error));
    assert_non_null(strstr(error.message, "'a.log' and 'b.log'"));
    job_clear(&job);
}

static void rates_that_cannot_be_are_left_out(void **state)
{
    struct job job = {0};
    struct job_accounts accounts = {0};
    struct job_rates rates;
    const double tflops[] = {180, 190, 200, 917442, 190, 185, 700, 195};

    job_begin_source(&job, "a.log");
    for (int64_t step = 0; step < 8; step++) {
        struct job_event event = job_event_of(JOB_STEP);

        event.step = step;
        event.each_ns = second;
        event.flops_per_second = tflops[step] * 1e12;
        event.mfu = step == 7 ? 2.5 : 0.4;
        job_add(&job, &event);
    }
    finish(&job, &accounts);
    job_check_rates(&rates, &job, &(struct job_rate_limits){.highest_peak = 2e16});
    job_rates_fill(&rates, &job, &accounts);
    assert_int_equal(rates.faults[RATE_ABOVE_ANY].count, 1);
    assert_int_equal(rates.faults[RATE_ABOVE_ANY].step, 3);
    assert_int_equal(rates.faults[RATE_OUT_OF_LINE].count, 1);
    assert_int_equal(rates.faults[RATE_MFU_ABOVE_ONE].count, 1);
    assert_int_equal(rates.credible, 5);
    assert_true(fabs(rates.flops_per_second - 189e12) < 1e6);
    assert_true(fabs(rates.mfu - 0.4) < 1e-6);
    job_accounts_clear(&accounts);
    job_clear(&job);
}

static void step_times_spread_and_drift(void **state)
{
    struct job job = {0};
    struct job_accounts accounts = {0};
    struct job_step_times times;

    job_begin_source(&job, "a.log");
    for (int64_t step = 1; step <= 160; step++)
        tell_step(&job, -1, step, step == 50 ? 100 : step <= 80 ? 10 : 11);
    finish(&job, &accounts);
    job_step_times_fill(&times, &job, &accounts);
    assert_int_equal(times.entries, 160);
    assert_int_equal(times.median_ns, 11 * second);
    assert_int_equal(times.minimum_ns, 10 * second);
    assert_int_equal(times.maximum_ns, 100 * second);
    assert_int_equal(times.slow_steps, 1);
    assert_int_equal(times.slow_ns, 90 * second);
    assert_int_equal(times.slow[0].step, 50);
    assert_int_equal(times.part_count, 16);
    assert_int_equal(times.parts[7].median_ns, 10 * second);
    assert_int_equal(times.parts[8].median_ns, 11 * second);
    assert_int_equal(times.parts[8].first_step, 81);
    job_accounts_clear(&accounts);
    job_clear(&job);
}

/* 2025-03-30 03:00:10 is just behind the hour that Europe leaves out. */
static void summer_time_is_no_pause(void **state)
{
    const int64_t behind = INT64_C(1743303610);
    struct job job = {0};
    struct job_accounts accounts = {0};

    assert_true(job_is_spring_forward(behind * second, 3600 * second));
    assert_false(job_is_spring_forward((behind + 86400) * second, 3600 * second));
    assert_false(job_is_spring_forward(behind * second, 3500 * second));
    job_begin_source(&job, "a.log");
    tell_step(&job, behind - 3620, 1, 10);
    tell_step(&job, behind - 3610, 2, 10);
    tell_step(&job, behind, 3, 10);
    tell_step(&job, behind + 10, 4, 10);
    finish(&job, &accounts);
    check_seconds(&accounts, (const int64_t[JOB_ACCOUNT_COUNT]){[JOB_KEPT] = 40});
    assert_int_equal(job.remarks[0].kind, JOB_CLOCK_CHANGED_ZONE);
    job_accounts_clear(&accounts);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fate_decides_which_steps_were_kept),
        cmocka_unit_test(spans_are_booked_once_for_all_ranks),
        cmocka_unit_test(a_checkpoint_in_the_background_costs_nothing),
        cmocka_unit_test(without_times_only_what_is_told_is_booked),
        cmocka_unit_test(lines_of_two_jobs_are_refused),
        cmocka_unit_test(two_files_that_train_at_once_are_two_jobs),
        cmocka_unit_test(rates_that_cannot_be_are_left_out),
        cmocka_unit_test(step_times_spread_and_drift),
        cmocka_unit_test(summer_time_is_no_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
