/* Overlap of communication and copies with compute. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const struct analysis overlap_analysis;

static void overlap_is_the_hidden_part_of_communication(void **state)
{
    struct made_trace made;
    uint32_t thread, compute, communication, copies;
    const struct section *section;
    const struct table *steps;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    compute = made_stream(&made, 0, 7);
    communication = made_stream(&made, 0, 20);
    copies = made_stream(&made, 0, 22);
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#0", 0, 1000});
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#1", 1000, 2000});
    made_work(&made, compute, EVENT_KERNEL, (struct made_event){"sgemm", 100, 400}, NO_ID, NULL);
    made_work(&made, compute, EVENT_KERNEL, (struct made_event){"sgemm", 500, 600}, NO_ID, NULL);
    made_work(&made, communication, EVENT_KERNEL,
              (struct made_event){"ncclKernel_AllReduce", 300, 700}, NO_ID, NULL);
    made_work(&made, copies, EVENT_MEMCPY, (struct made_event){"Memcpy HtoD", 650, 800}, NO_ID,
              NULL);
    /* runs on into the second step, where nothing hides it */
    made_work(&made, communication, EVENT_KERNEL,
              (struct made_event){"ncclKernel_AllReduce", 900, 1200}, NO_ID, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &overlap_analysis);
    assert_int_equal(section_value(section, "compute").integer, 400);
    assert_int_equal(section_value(section, "communication").integer, 700);
    assert_int_equal(section_value(section, "hidden_communication").integer, 200);
    assert_int_equal(section_value(section, "exposed_communication").integer, 500);
    assert_true(is_close(section_value(section, "overlap").real, 2.0 / 7.0));
    assert_int_equal(section_value(section, "copies").integer, 150);
    assert_true(is_close(section_value(section, "copy_overlap").real, 50.0 / 150.0));
    steps = section_table(section, "steps");
    assert_int_equal(table_cell_at(steps, 0, "communication").integer, 500);
    assert_true(is_close(table_cell_at(steps, 0, "overlap").real, 0.4));
    assert_int_equal(table_cell_at(steps, 1, "exposed").integer, 200);
    assert_true(is_close(table_cell_at(steps, 1, "exposed_share").real, 0.2));
    for (uint32_t i = 0; i < 2; i++) /* the same as the ledger's own facts */
        assert_int_equal(table_cell_at(steps, i, "communication").integer,
                         made.ledger.steps[i].communication_ns);
    made_trace_clear(&made);
}

static void without_communication_and_copies_there_is_nothing_to_say(void **state)
{
    struct made_trace made;

    made_trace_init(&made);
    made_work(&made, made_stream(&made, 0, 7), EVENT_KERNEL, (struct made_event){"sgemm", 100, 400},
              NO_ID, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_null(made_section(&made, &overlap_analysis));
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlap_is_the_hidden_part_of_communication),
        cmocka_unit_test(without_communication_and_copies_there_is_nothing_to_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
