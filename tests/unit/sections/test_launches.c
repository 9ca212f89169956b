/* Launches: delays, short kernels, graphs, and the queues of the streams. */
#include "sections/kernels/launches.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

extern const struct analysis launches_analysis;

static void delays_run_from_call_to_kernel(void **state)
{
    struct made_trace made;
    uint32_t thread, stream;
    const struct section *section;
    const struct table *calls;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#0", 0, 10000});
    for (int64_t i = 0; i < 10; i++) /* delays 100, 200, ... 1000; every other kernel is shorter
                                        than its call */
        made_kernel(&made, thread, stream,
                    (struct made_event){"cudaLaunchKernel", 500 * i, 500 * i + 50},
                    (struct made_event){"k", 600 * i + 100, 600 * i + (i % 2 ? 140 : 200)});
    (void)made_call(&made, thread, (struct made_event){"cudaStreamSynchronize", 9000, 9900});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &launches_analysis);
    assert_int_equal(section_value(section, "delay_mean").integer, 550);
    assert_int_equal(section_value(section, "delay_median").integer, 500);
    assert_int_equal(section_value(section, "delay_p90").integer, 900);
    assert_int_equal(section_value(section, "delay_max").integer, 1000);
    assert_int_equal(section_value(section, "short_kernels").integer, 5);
    assert_true(is_close(section_value(section, "short_share").real, 0.5));
    assert_true(is_close(section_value(section, "launches_per_step").real, 10));
    assert_int_equal(section_value(section, "call_mean").integer, 50);
    calls = section_table(section, "calls");
    assert_string_equal(table_cell_at(calls, 0, "call").text, "cudaStreamSynchronize");
    assert_int_equal(table_cell(calls, "cudaLaunchKernel", "count").integer, 10);
    assert_int_equal(table_cell(calls, "cudaLaunchKernel", "device_events").integer, 10);
    assert_int_equal(table_cell(calls, "cudaStreamSynchronize", "device_events").integer, 0);
    made_trace_clear(&made);
}

static void the_kernels_of_a_graph_are_one_launch(void **state)
{
    struct made_trace made;
    uint32_t thread, stream;
    const struct section *section;
    const struct table *streams;
    int64_t call;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#0", 0, 10000});
    call = made_call(&made, thread, (struct made_event){"cudaGraphLaunch", 100, 600});
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"a", 1100, 1200}, call, NULL);
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"b", 5000, 5100}, call, NULL);
    made_work(&made, made_stream(&made, 0, 8), EVENT_KERNEL, (struct made_event){"c", 2100, 2200},
              call, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &launches_analysis);
    assert_int_equal(section_value(section, "delay_max").integer, 1000);
    assert_int_equal(section_value(section, "graph_launches").integer, 1);
    assert_true(is_close(section_value(section, "events_per_graph").real, 3));
    streams = section_table(section, "streams");
    assert_int_equal(streams->row_count, 2);
    assert_int_equal(table_cell_at(streams, 0, "stream").integer, 7);
    assert_int_equal(table_cell_at(streams, 0, "events").integer, 2);
    assert_int_equal(table_cell_at(streams, 0, "launches").integer, 1);
    assert_true(is_close(table_cell_at(streams, 0, "depth_mean").real, 0.1));
    assert_true(is_close(table_cell_at(streams, 1, "depth_mean").real, 0.2));
    made_trace_clear(&made);
}

static void the_queue_counts_what_was_called_and_has_not_started(void **state)
{
    static const struct analysis_options options = {.top = UINT32_MAX};
    struct made_trace made;
    struct analysis_input input;
    struct stream_queue *queues;
    uint32_t thread, stream, count;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#0", 1000, 2000});
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#1", 2000, 3000});
    /* called before the step: only the part inside counts */
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 500, 510},
                (struct made_event){"k", 1100, 1200});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 1100, 1110},
                (struct made_event){"k", 1200, 1300}); /* called as the first starts */
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 1150, 1160},
                (struct made_event){"k", 1300, 1400});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 1900, 1910},
                (struct made_event){"k", 2300, 2400}); /* waits across the border of two steps */
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 2600, 2610},
                (struct made_event){"k", 2500, 2550}); /* starts before its call: clocks */
    made.clock = CLOCK_CHOICE_HOST;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    input =
        (struct analysis_input){.trace = &made.trace, .ledger = &made.ledger, .options = &options};
    queues = measure_launch_queues(&input, &count);
    assert_int_equal(count, 1);
    assert_int_equal(queues[0].events, 5);
    assert_int_equal(queues[0].waiting_ns, 100 + 100 + 150 + 400);
    assert_int_equal(queues[0].max_depth, 2);
    free(queues);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_run_from_call_to_kernel),
        cmocka_unit_test(the_kernels_of_a_graph_are_one_launch),
        cmocka_unit_test(the_queue_counts_what_was_called_and_has_not_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
