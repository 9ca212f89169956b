/* Whose clock the steps have: the host's marks, or what the device did for them. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

extern const struct analysis advice_analysis, operators_analysis, run_description_analysis;

enum { STEPS = 4, MARK_NS = 1000, WORK_NS = 5000 };

/* `STEPS` marks of 1 µs, one behind the other or `between_ns` apart, and of each a kernel of 5 µs
 * and a short one; the first runs `lead_ns` behind its launch. */
static void make_steps(struct made_trace *made, int64_t lead_ns, int64_t work_ns,
                       int64_t between_ns)
{
    uint32_t thread, stream;

    made_trace_init(made);
    thread = made_thread(made, "1");
    stream = made_stream(made, 0, 7);
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t at = i * (MARK_NS + between_ns);
        int64_t from = lead_ns + i * (work_ns + 200);
        char name[32];

        (void)snprintf(name, sizeof name, "ProfilerStep#%d", (int)i + 3);
        made_host_event(made, thread, EVENT_ANNOTATION,
                        (struct made_event){name, at, at + MARK_NS});
        made_kernel(made, thread, stream, (struct made_event){"cudaLaunchKernel", at + 10, at + 20},
                    (struct made_event){"gemm", from, from + work_ns});
        made_kernel(made, thread, stream, (struct made_event){"cudaLaunchKernel", at + 30, at + 40},
                    (struct made_event){"relu", from + work_ns, from + work_ns + 100});
    }
}

static void a_host_far_ahead_leaves_the_steps_to_the_device(void **state)
{
    struct made_trace made;
    const struct ledger *ledger = &made.ledger;

    (void)state;
    make_steps(&made, 20000, WORK_NS, 0);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(ledger->clocks.clock, STEP_CLOCK_DEVICE);
    assert_int_equal(ledger->clocks.in_mark_ns, 0);
    assert_int_equal(ledger->clocks.launched_ns, STEPS * (WORK_NS + 100));
    assert_int_equal(ledger->clocks.in_window_ns, ledger->clocks.launched_ns);
    assert_int_equal(ledger->step_count, STEPS);
    /* marks without a gap between them: a step lasts until the next begins */
    assert_int_equal(ledger->steps[0].window.start_ns, 20000);
    assert_int_equal(ledger->steps[0].window.end_ns, 20000 + WORK_NS + 200);
    assert_int_equal(ledger->steps[0].window.mark_end_ns, MARK_NS);
    assert_int_equal(ledger->steps[0].window.lead_ns, 20000 + WORK_NS + 100 - MARK_NS);
    assert_int_equal(ledger->steps[0].window.number, 3);
    assert_int_equal(ledger->steps[3].window.end_ns, 20000 + 3 * (WORK_NS + 200) + WORK_NS + 100);
    assert_int_equal(ledger->between_steps_ns, 0);
    made_trace_clear(&made);
}

static void marks_with_a_gap_between_them_leave_it_out(void **state)
{
    struct made_trace made;

    (void)state;
    make_steps(&made, 20000, WORK_NS, 100);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.clocks.clock, STEP_CLOCK_DEVICE);
    assert_int_equal(made.ledger.steps[0].window.end_ns, 20000 + WORK_NS + 100);
    assert_int_equal(made.ledger.between_steps_ns, (STEPS - 1) * 100);
    made_trace_clear(&made);
}

static void marks_that_hold_their_work_are_the_steps(void **state)
{
    struct made_trace made;

    (void)state;
    make_steps(&made, 100, 700, 0);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.clocks.clock, STEP_CLOCK_HOST);
    assert_int_equal(made.ledger.steps[1].window.start_ns, MARK_NS);
    assert_int_equal(made.ledger.steps[0].window.lead_ns, 0);
    made_trace_clear(&made);
}

/* By 40 % of a step: the first mark would be shorter than the work of all others. By a fifth: in
 * doubt the marks. */
static void a_host_two_fifths_ahead_leaves_the_steps_to_the_device(void **state)
{
    struct made_trace made;

    (void)state;
    make_steps(&made, MARK_NS * 2 / 5, MARK_NS - 200, 0);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_true(made.ledger.clocks.in_mark_ns * 2 > made.ledger.clocks.launched_ns);
    assert_int_equal(made.ledger.clocks.clock, STEP_CLOCK_DEVICE);
    made_trace_clear(&made);
    make_steps(&made, MARK_NS / 5, MARK_NS - 200, 0);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.clocks.clock, STEP_CLOCK_HOST);
    made_trace_clear(&made);
}

static void the_user_has_the_last_word(void **state)
{
    struct made_trace made;

    (void)state;
    make_steps(&made, 20000, WORK_NS, 0);
    made.clock = CLOCK_CHOICE_HOST;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.clocks.clock, STEP_CLOCK_HOST);
    assert_false(step_clock_fits(&made.ledger.clocks));
    assert_int_equal(made.ledger.steps[0].busy_ns, 0);
    assert_int_equal(made_section(&made, &advice_analysis)->finding_count, 0);
    assert_int_equal(count_findings(made_section(&made, &run_description_analysis), "do not hold"),
                     1);
    made_trace_clear(&made);
    make_steps(&made, 100, 700, 0);
    made.clock = CLOCK_CHOICE_DEVICE;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.clocks.clock, STEP_CLOCK_DEVICE);
    assert_int_equal(made.ledger.steps[0].window.start_ns, 100);
    made_trace_clear(&made);
}

/* The host's ops of a step are its own, wherever the device works on them. */
static void what_the_host_does_in_a_mark_is_of_its_step(void **state)
{
    struct made_trace made;

    (void)state;
    make_steps(&made, 20000, WORK_NS, 0);
    made_operator(&made, made_thread(&made, "1"), (struct made_event){"aten::mm", 5, 25},
                  "[[16, 16], [16, 16]]", "[\"float\", \"float\"]");
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_non_null(made_section(&made, &operators_analysis));
    assert_int_equal(made.costs.total[PHASE_FORWARD].flops, 2 * 16 * 16 * 16);
    assert_int_equal(made.efficiency.steps[0].flops.executed, 2 * 16 * 16 * 16);
    assert_int_equal(made.efficiency.steps[1].flops.executed, 0);
    made_trace_clear(&made);
}

/* A copy of the mark on the device is where its step is, where no launch is known. */
static void a_mark_on_the_device_tells_its_window(void **state)
{
    struct made_trace made;
    uint32_t thread, stream;

    (void)state;
    made_trace_init(&made);
    thread = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"iteration 1", 0, 100});
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"iteration 2", 100, 200});
    made_work(&made, stream, EVENT_DEVICE_ANNOTATION, (struct made_event){"iteration 1", 500, 900},
              NO_ID, NULL);
    made_work(&made, stream, EVENT_DEVICE_ANNOTATION, (struct made_event){"iteration 2", 900, 1300},
              NO_ID, NULL);
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"a", 500, 900}, NO_ID, NULL);
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"b", 900, 1300}, NO_ID, NULL);
    made.clock = CLOCK_CHOICE_DEVICE;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.step_count, 2);
    assert_int_equal(made.ledger.steps[0].window.start_ns, 500);
    assert_int_equal(made.ledger.steps[0].busy_ns, 400);
    assert_int_equal(made.ledger.steps[1].window.end_ns, 1300);
    made_trace_clear(&made);
}

/* Work of unknown launches is most of what runs: the rest does not tell where a step is. */
static void a_little_work_tells_nothing_of_the_clocks(void **state)
{
    struct made_trace made;
    uint32_t stream;

    (void)state;
    make_steps(&made, 4000, 10, 0);
    stream = made_stream(&made, 0, 7);
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"other", 0, 4000}, NO_ID, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.clocks.clock, STEP_CLOCK_HOST);
    assert_false(made.ledger.clocks.is_known);
    assert_true(step_clock_fits(&made.ledger.clocks));
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_far_ahead_leaves_the_steps_to_the_device),
        cmocka_unit_test(marks_with_a_gap_between_them_leave_it_out),
        cmocka_unit_test(marks_that_hold_their_work_are_the_steps),
        cmocka_unit_test(a_host_two_fifths_ahead_leaves_the_steps_to_the_device),
        cmocka_unit_test(the_user_has_the_last_word),
        cmocka_unit_test(what_the_host_does_in_a_mark_is_of_its_step),
        cmocka_unit_test(a_mark_on_the_device_tells_its_window),
        cmocka_unit_test(a_little_work_tells_nothing_of_the_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
