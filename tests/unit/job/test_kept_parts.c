/* The parts of recorded steps, scaled to all kept ones: they add up, and each is where it belongs.
 */
#include "job/kept_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { DATA, MATRIX, HOST, PARTS }; /* parts of the windows here */

static const int64_t ms = 1000000;

/* A job that is being told, and where its clock stands. */
struct told_job {
    struct job job;
    struct job_accounts accounts;
    struct kept_parts kept;
    int64_t now_ns;
    int64_t reached;
};

static void tell(struct told_job *known, enum job_event_kind kind)
{
    struct job_event event = job_event_of(kind);

    event.time_ns = known->now_ns;
    event.devices = kind == JOB_START ? 2 : 0;
    event.step = kind == JOB_TRAINING ? known->reached : JOB_NOT_KNOWN;
    job_add(&known->job, &event);
}

static void begin_attempt(struct told_job *known)
{
    if (known->job.source_count == 0)
        job_begin_source(&known->job, "a");
    known->now_ns += 1000 * ms;
    tell(known, JOB_START);
    known->now_ns += 1000 * ms;
    tell(known, JOB_TRAINING);
}

static void tell_step(struct told_job *known, int64_t own, int64_t length_ms, int64_t wait_ms,
                      bool is_traced)
{
    struct job_event event = job_event_of(JOB_STEP);

    known->now_ns += length_ms * ms;
    event.time_ns = known->now_ns;
    event.each_ns = length_ms * ms;
    event.count = 1;
    event.step = ++known->reached;
    event.process_step = own;
    event.data_wait_ns = wait_ms < 0 ? JOB_NOT_KNOWN : wait_ms * ms;
    event.is_traced = is_traced;
    job_add(&known->job, &event);
}

/* Steps of 20 ms and 1 ms of waiting; 4 to 6 are recorded, and take `recorded_ms`. */
static void tell_attempt(struct told_job *known, int64_t steps, int64_t recorded_ms,
                         int64_t wait_ms)
{
    begin_attempt(known);
    for (int64_t own = 1; own <= steps; own++) {
        bool is_traced = recorded_ms > 0 && own >= 4 && own <= 6;

        tell_step(known, own, is_traced ? recorded_ms : 21, wait_ms, is_traced);
    }
    tell(known, JOB_END);
}

static void fill(struct told_job *known, const struct traced_step *steps, size_t count,
                 uint32_t host_parts)
{
    const struct traced_steps traced = {.steps = steps,
                                        .count = count,
                                        .part_count = PARTS,
                                        .fixed_count = 1,
                                        .data_part = DATA,
                                        .host_parts = host_parts};
    struct error error = {0};
    int64_t sum;

    assert_true(job_finish(&known->job, &error));
    job_accounts_fill(&known->accounts, &known->job, 0);
    kept_parts_fill(&known->kept, &known->job, &known->accounts, &traced);
    sum = known->kept.dilation.ns + known->kept.slow.ns + known->kept.not_known.ns;
    for (int part = 0; part < PARTS; part++)
        sum += known->kept.parts[part].ns;
    assert_int_equal(known->kept.kept.ns, known->accounts.ns[JOB_KEPT]);
    assert_int_equal(sum, known->kept.kept.ns);
}

static void clear(struct told_job *known)
{
    job_accounts_clear(&known->accounts);
    job_clear(&known->job);
}

/* 26 ms: 1 of data, 12 of matrix work, and the host makes the rest longer by 5. */
static struct traced_step window(size_t attempt, int64_t number)
{
    return (struct traced_step){.attempt = attempt,
                                .number = number,
                                .part_ns = {[DATA] = 1 * ms, [MATRIX] = 12 * ms, [HOST] = 13 * ms},
                                .fixed_ns = {3 * ms}};
}

static void dilation_is_a_line_of_its_own_and_not_scaled(void **state)
{
    struct told_job known = {.job = {0}};
    const struct traced_step steps[] = {window(0, 4), window(0, 5), window(0, 6)};

    tell_attempt(&known, 100, 26, 1);
    fill(&known, steps, 3, 1u << HOST);
    assert_int_equal(known.kept.dilation.ns, 15 * ms);
    assert_int_equal(known.kept.parts[DATA].ns, 100 * ms);
    assert_int_equal(known.kept.parts[MATRIX].ns, 1200 * ms);
    assert_int_equal(known.kept.parts[HOST].ns, 800 * ms);
    assert_int_equal(known.kept.fixed[0].ns, 300 * ms);
    assert_int_equal(known.kept.traced_steps, 3);
    assert_int_equal(known.kept.alike_steps, 97);
    assert_int_equal(known.kept.other_steps, 97);
    assert_true(known.kept.parts[MATRIX].device_seconds == 2.4);
    clear(&known);
}

static void a_slow_step_is_told_and_not_explained(void **state)
{
    struct told_job known = {.job = {0}};
    const struct traced_step steps[] = {window(0, 4), window(0, 5), window(0, 6)};

    begin_attempt(&known);
    for (int64_t own = 1; own <= 50; own++)
        tell_step(&known, own,
                  own == 30              ? 61
                  : own >= 4 && own <= 6 ? 26
                                         : 21,
                  1, own >= 4 && own <= 6);
    fill(&known, steps, 3, 1u << HOST);
    assert_int_equal(known.kept.slow.ns, 40 * ms);
    assert_int_equal(known.kept.slow_steps, 1);
    assert_int_equal(known.kept.parts[MATRIX].ns, 600 * ms);
    clear(&known);
}

/* Step 30 waits for data for 40 ms: that is known, and no slow step. */
static void waiting_for_data_is_taken_from_each_step(void **state)
{
    struct told_job known = {.job = {0}};
    const struct traced_step steps[] = {window(0, 4), window(0, 5), window(0, 6)};

    begin_attempt(&known);
    for (int64_t own = 1; own <= 50; own++)
        tell_step(&known, own,
                  own == 30              ? 60
                  : own >= 4 && own <= 6 ? 26
                                         : 21,
                  own == 30 ? 43 : 4, own >= 4 && own <= 6); /* 3 ms of each are hidden */
    fill(&known, steps, 3, 1u << HOST);
    assert_int_equal(known.kept.slow.ns, 0);
    assert_int_equal(known.kept.parts[DATA].ns, (49 + 40) * ms);
    assert_int_equal(known.kept.parts[MATRIX].ns, 600 * ms);
    clear(&known);
}

static void an_attempt_without_a_window_gets_that_of_another(void **state)
{
    struct told_job known = {.job = {0}};
    const struct traced_step steps[] = {window(0, 4), window(0, 5), window(0, 6)};

    tell_attempt(&known, 40, 26, 1);
    tell_attempt(&known, 60, 0, 1);
    fill(&known, steps, 3, 1u << HOST);
    assert_int_equal(known.kept.borrowed_attempts, 1);
    assert_int_equal(known.kept.not_known.ns, 0);
    assert_int_equal(known.kept.parts[MATRIX].ns, 1200 * ms);
    clear(&known);
}

static void without_a_window_nothing_is_known(void **state)
{
    struct told_job known = {.job = {0}};

    tell_attempt(&known, 40, 0, 1);
    fill(&known, NULL, 0, 1u << HOST);
    assert_int_equal(known.kept.not_known.ns, 840 * ms);
    assert_int_equal(known.kept.known_steps, 0);
    assert_int_equal(known.kept.steps, 40);
    clear(&known);
}

static void windows_of_other_steps_do_not_count(void **state)
{
    struct told_job known = {.job = {0}};
    const struct traced_step steps[] = {window(0, 400), window(7, 4), window(0, 4)};

    tell_attempt(&known, 40, 0, 1);
    fill(&known, steps, 3, 1u << HOST);
    assert_int_equal(known.kept.window_count, 0);
    assert_int_equal(known.kept.not_known.ns, known.kept.kept.ns);
    clear(&known);
}

/* The record does not know the wait: the windows' share of it is scaled, dilation out of all. */
static void an_unknown_wait_is_scaled_like_the_rest(void **state)
{
    struct told_job known = {.job = {0}};
    const struct traced_step steps[] = {window(0, 4), window(0, 5), window(0, 6)};

    tell_attempt(&known, 100, 26, -1);
    fill(&known, steps, 3, 1u << HOST);
    assert_int_equal(known.kept.dilation.ns, 15 * ms);
    assert_int_equal(known.kept.parts[DATA].ns, 100 * ms);
    assert_int_equal(known.kept.parts[MATRIX].ns, 1200 * ms);
    clear(&known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dilation_is_a_line_of_its_own_and_not_scaled),
        cmocka_unit_test(a_slow_step_is_told_and_not_explained),
        cmocka_unit_test(waiting_for_data_is_taken_from_each_step),
        cmocka_unit_test(an_attempt_without_a_window_gets_that_of_another),
        cmocka_unit_test(without_a_window_nothing_is_known),
        cmocka_unit_test(windows_of_other_steps_do_not_count),
        cmocka_unit_test(an_unknown_wait_is_scaled_like_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
