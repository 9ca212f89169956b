/* Which steps of a long recording are replayed. */
#include "replay/replay_model.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { STEPS = 9, US = 1000 };

/* Nine steps of two kernels each; the seventh is the one nearest the median. */
static void make_steps(struct made_trace *made)
{
    static const int64_t lengths_us[STEPS] = {50, 60, 70, 80, 200, 210, 105, 110, 120};
    uint32_t thread, stream;
    int64_t at = 0;

    made_trace_init(made);
    thread = made_thread(made, "1");
    stream = made_stream(made, 0, 7);
    for (int i = 0; i < STEPS; i++) {
        char name[32];
        int64_t end = at + lengths_us[i] * US;

        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        made_host_event(made, thread, EVENT_ANNOTATION, (struct made_event){name, at, end});
        for (int64_t k = 0; k < 2; k++)
            made_kernel(
                made, thread, stream,
                (struct made_event){"cudaLaunchKernel", at + (1 + 20 * k) * US,
                                    at + (3 + 20 * k) * US},
                (struct made_event){"gemm", at + (5 + 20 * k) * US, at + (15 + 20 * k) * US});
        at = end;
    }
    made_trace_finish(made, WINDOW_CHOICE_AUTO);
}

static void short_recordings_are_replayed_whole(void **state)
{
    struct made_trace made;
    struct replayed_part part;

    make_steps(&made);
    part = choose_replayed_part(&made.trace, &made.ledger, 2 * STEPS);
    assert_true(part.is_all && !part.is_too_large);
    assert_int_equal(part.first, 0);
    assert_int_equal(part.ledger.step_count, STEPS);
    made_trace_clear(&made);
}

static void of_long_ones_what_is_around_the_typical_step(void **state)
{
    static const struct {
        uint32_t work_max, first, count;
    } cases[] = {{17, 1, 8}, {8, 4, 4}, {6, 5, 3}, {2, 6, 1}, {1, 6, 1}, {0, 6, 1}};
    struct made_trace made;

    make_steps(&made);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replayed_part part =
            choose_replayed_part(&made.trace, &made.ledger, cases[i].work_max);

        assert_false(part.is_all || part.is_too_large);
        assert_int_equal(part.ledger.step_count, cases[i].count);
        assert_int_equal(part.first, cases[i].first);
        assert_ptr_equal(part.ledger.steps, &made.ledger.steps[cases[i].first]);
    }
    made_trace_clear(&made);
}

/* The change is measured in the part, and told of the mean of all steps. */
static void a_part_tells_of_all_steps(void **state)
{
    SCOPED(replay_model) simulation = {.is_refused = false};
    SCOPED(scenario) scenario = {.text = NULL};
    struct replay_estimate estimate;
    struct made_trace made;
    struct error error;

    make_steps(&made);
    assert_true(scenario_parse(&scenario, "host*2", &error));
    replay_model_begin(
        &simulation,
        &(struct recorded_steps){.trace = &made.trace, .ledger = &made.ledger, .work_max = 2});
    assert_int_equal(simulation.part.ledger.step_count, 1);
    assert_false(simulation.is_refused);
    assert_true(replay_model_try(&simulation, &scenario, &estimate));
    assert_true(estimate.speedup < 0.6 && estimate.speedup >= 0.5);
    assert_true(estimate.step_ns > 186111 && estimate.step_ns <= 2 * 111667);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_recordings_are_replayed_whole),
        cmocka_unit_test(of_long_ones_what_is_around_the_typical_step),
        cmocka_unit_test(a_part_tells_of_all_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
