/* Where steps begin and end. */
#include "ledger/step_window.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct ledger *book(struct made_trace *made, enum window_choice choice)
{
    made_trace_finish(made, choice);
    return &made->ledger;
}

static void steps_are_the_marks_of_the_profiler_in_order(void **state)
{
    struct made_trace made;
    const struct ledger *ledger;
    uint32_t thread;

    (void)state;
    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#8", 200, 300});
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#7", 90, 190});
    ledger = book(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(ledger->source, WINDOW_PROFILER_STEP);
    assert_int_equal(ledger->step_count, 2);
    assert_int_equal(ledger->steps[0].window.number, 7);
    assert_int_equal(ledger->steps[1].window.number, 8);
    assert_int_equal(ledger->between_steps_ns, 10);
    made_trace_clear(&made);
}

static void a_mark_on_the_device_is_no_step(void **state)
{
    struct made_trace made;
    const struct ledger *ledger;
    uint32_t stream;

    (void)state;
    made_trace_init(&made);
    stream = made_stream(&made, 0, 7);
    made_work(&made, stream, EVENT_DEVICE_ANNOTATION,
              (struct made_event){"ProfilerStep#8", 200, 300}, NO_ID, NULL);
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"a", 210, 220}, NO_ID, NULL);
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"b", 230, 250}, NO_ID, NULL);
    ledger = book(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(ledger->source, WINDOW_WHOLE);
    assert_int_equal(ledger->step_count, 1);
    assert_int_equal(ledger->steps[0].window.start_ns, 210);
    assert_int_equal(ledger->steps[0].window.end_ns, 250);
    made_trace_clear(&made);
}

static void marks_on_two_threads_are_not_booked_twice(void **state)
{
    struct made_trace made;
    const struct ledger *ledger;
    uint32_t first, second;

    (void)state;
    made_trace_init(&made);
    first = made_thread(&made, "1");
    second = made_thread(&made, "2");
    made_host_event(&made, first, EVENT_ANNOTATION, (struct made_event){"ProfilerStep#1", 0, 100});
    made_host_event(&made, first, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#2", 100, 200});
    made_host_event(&made, second, EVENT_ANNOTATION, (struct made_event){"ProfilerStep#1", 5, 105});
    ledger = book(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(ledger->step_count, 2);
    assert_int_equal(ledger->steps[0].window.end_ns, 100);
    assert_int_equal(ledger->steps[1].window.end_ns, 200);
    made_trace_clear(&made);
}

/* A recorder around a script whose own profiler counts on: each step has two marks, a little apart.
 */
static void two_marks_of_one_step_are_one_step(void **state)
{
    struct made_trace made;
    const struct ledger *ledger;
    uint32_t thread;

    (void)state;
    made_trace_init(&made);
    thread = made_thread(&made, "1");
    for (int64_t i = 0; i < 3; i++) {
        static const char *const first[] = {"ProfilerStep#9", "ProfilerStep#10", "ProfilerStep#11"};
        static const char *const second[] = {"ProfilerStep#8", "ProfilerStep#9", "ProfilerStep#10"};

        made_host_event(&made, thread, EVENT_ANNOTATION,
                        (struct made_event){first[i], 1000 * i, 1000 * i + 990});
        made_host_event(&made, thread, EVENT_ANNOTATION,
                        (struct made_event){second[i], 1000 * i + 5, 1000 * i + 995});
    }
    ledger = book(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(ledger->step_count, 3);
    assert_int_equal(ledger->steps[0].window.number, 9);
    assert_int_equal(ledger->steps[2].window.number, 11);
    assert_int_equal(ledger->steps[1].window.start_ns, 1000);
    assert_int_equal(ledger->steps[1].window.end_ns, 1990);
    made_trace_clear(&made);
}

static void optimizer_marks_part_the_time_between_them(void **state)
{
    struct made_trace made;
    const struct ledger *ledger;
    uint32_t thread;

    (void)state;
    made_trace_init(&made);
    thread = made_thread(&made, "1");
    for (int64_t i = 0; i < 4; i++)
        made_host_event(&made, thread, EVENT_ANNOTATION,
                        (struct made_event){"Optimizer.step#AdamW.step", i * 100, i * 100 + 20});
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"Optimizer.step#SGD.step", 50, 60});
    ledger = book(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(ledger->source, WINDOW_OPTIMIZER_STEP);
    assert_int_equal(ledger->step_count, 3);
    assert_int_equal(ledger->steps[0].window.start_ns, 0);
    assert_int_equal(ledger->steps[2].window.end_ns, 300);
    made_trace_clear(&made);
}

static void without_the_marks_asked_for_there_are_no_steps(void **state)
{
    struct made_trace made;

    (void)state;
    made_trace_init(&made);
    made_host_event(&made, made_thread(&made, "1"), EVENT_OPERATOR,
                    (struct made_event){"aten::add", 0, 100});
    assert_int_equal(book(&made, WINDOW_CHOICE_STEPS)->step_count, 0);
    made_trace_clear(&made);
}

static void names_of_steps_are_known(void **state)
{
    static const char *const steps[] = {"iteration 5",  "Iteration",       "step_3",
                                        "train_step",   "Training Step 7", "iter:12",
                                        "Step 0 to 10", "batch 3/100",     "global_step=4"};
    static const char *const others[] = {
        "steps", "step loss", "optimizer_step", "",       "iterations", "backward step",
        "5",     "Steplr",    "zero_grad_step", "forward"};

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        assert_int_not_equal(step_word_of(steps[i]), -1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(step_word_of(others[i]), -1);
    assert_int_equal(step_number_in("Step 190 to 200"), 190);
    assert_int_equal(step_number_in("train_step"), -1);
    assert_int_equal(step_number_in("step 99999999999999999999"), -1);
}

/* Two iterations of two batches each, with a kernel. */
static void make_named_ranges(struct made_trace *made)
{
    uint32_t thread;
    uint32_t stream;

    made_trace_init(made);
    thread = made_thread(made, "1");
    stream = made_stream(made, 0, 7);
    made_host_event(made, thread, EVENT_ANNOTATION, (struct made_event){"iteration 11", 0, 100});
    made_host_event(made, thread, EVENT_ANNOTATION, (struct made_event){"iteration 12", 100, 200});
    made_host_event(made, thread, EVENT_ANNOTATION, (struct made_event){"batch 0", 0, 50});
    made_host_event(made, thread, EVENT_ANNOTATION, (struct made_event){"batch 1", 50, 100});
    made_host_event(made, thread, EVENT_ANNOTATION, (struct made_event){"batch 0", 100, 150});
    made_host_event(made, thread, EVENT_ANNOTATION, (struct made_event){"batch 1", 150, 200});
    made_kernel(made, thread, stream, (struct made_event){"cudaLaunchKernel", 20, 25},
                (struct made_event){"k", 30, 60});
}

static void ranges_called_iteration_are_steps(void **state)
{
    struct made_trace made;
    const struct ledger *ledger;

    (void)state;
    make_named_ranges(&made);
    ledger = book(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(ledger->source, WINDOW_RANGES);
    assert_int_equal(ledger->step_count, 2);
    assert_int_equal(ledger->steps[0].window.number, 11);
    assert_int_equal(ledger->steps[1].window.start_ns, 100);
    /* the step's own range explains nothing, the one inside it does */
    assert_int_equal(ledger->steps[0].account_ns[ACCOUNT_IDLE_ANNOTATION], 20 + 40);
    made_trace_clear(&made);
}

static void a_pattern_chooses_other_ranges(void **state)
{
    struct step_windows windows = {0};
    struct made_trace made;
    regex_t pattern;

    (void)state;
    make_named_ranges(&made);
    (void)book(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(regcomp(&pattern, "^batch [0-9]$", REG_EXTENDED | REG_NOSUB), 0);
    find_steps_by_pattern(&windows, &made.trace, &pattern);
    assert_int_equal(windows.source, WINDOW_RANGES);
    assert_int_equal(windows.count, 4);
    assert_int_equal(windows.windows[3].number, 3); /* 0, 1, 0, 1 do not count up */
    step_windows_clear(&windows);
    regfree(&pattern);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_steps_are_known),
        cmocka_unit_test(ranges_called_iteration_are_steps),
        cmocka_unit_test(a_pattern_chooses_other_ranges),
        cmocka_unit_test(steps_are_the_marks_of_the_profiler_in_order),
        cmocka_unit_test(a_mark_on_the_device_is_no_step),
        cmocka_unit_test(marks_on_two_threads_are_not_booked_twice),
        cmocka_unit_test(two_marks_of_one_step_are_one_step),
        cmocka_unit_test(optimizer_marks_part_the_time_between_them),
        cmocka_unit_test(without_the_marks_asked_for_there_are_no_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
