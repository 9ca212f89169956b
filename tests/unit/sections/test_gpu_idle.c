/* Idle time by cause, and the longest gaps. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis gpu_idle_analysis;

/* Two steps of 100 us: data loading for 40 µs and 60 µs, then an operator that launches a kernel
 * until the end. */
static void make_loading(struct made_trace *made)
{
    static const char loader[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    uint32_t thread, stream;

    made_trace_init(made);
    thread = made_thread(made, "1");
    stream = made_stream(made, 0, 7);
    for (int64_t i = 0; i < 2; i++) {
        int64_t at = 100000 * i, loaded = at + 40000 + 20000 * i;

        made_host_event(
            made, thread, EVENT_ANNOTATION,
            (struct made_event){i ? "ProfilerStep#1" : "ProfilerStep#0", at, at + 100000});
        made_host_event(made, thread, EVENT_ANNOTATION, (struct made_event){loader, at, loaded});
        made_host_event(made, thread, EVENT_OPERATOR,
                        (struct made_event){"aten::mm", loaded, loaded + 5000});
        made_kernel(made, thread, stream,
                    (struct made_event){"cudaLaunchKernel", loaded + 2000, loaded + 3000},
                    (struct made_event){"sgemm", loaded + 6000, at + 100000});
    }
    made_trace_finish(made, WINDOW_CHOICE_AUTO);
}

static void causes_are_ranked_and_add_up(void **state)
{
    struct made_trace made;
    const struct section *section;
    const struct table *causes;

    make_loading(&made);
    section = made_section(&made, &gpu_idle_analysis);
    causes = section_table(section, "causes");
    assert_int_equal(causes->row_count, 3);
    assert_string_equal(table_cell_at(causes, 0, "key").text, "idle_data");
    assert_int_equal(table_cell_at(causes, 0, "total").integer, 100000);
    assert_int_equal(table_cell_at(causes, 0, "mean").integer, 50000);
    assert_true(is_close(table_cell_at(causes, 0, "share").real, 0.5));
    assert_string_equal(table_cell_at(causes, 1, "key").text, "idle_launch_latency");
    assert_int_equal(table_cell_at(causes, 1, "total").integer, 8000);
    assert_string_equal(table_cell_at(causes, 2, "key").text, "idle_operator");
    assert_int_equal(table_cell_at(causes, 2, "total").integer, 4000);
    assert_true(is_close(table_cell_at(causes, 2, "share_of_idle").real, 4.0 / 112.0));
    made_trace_clear(&made);
}

static void the_longest_gap_is_named(void **state)
{
    const struct analysis_options one_row = {.top = 1};
    struct made_trace made;
    const struct table *gaps;

    make_loading(&made);
    gaps = section_table(made_section_with(&made, &gpu_idle_analysis, &one_row), "worst_gaps");
    assert_int_equal(gaps->row_count, 1);
    assert_int_equal(gaps->rows_in_all, 2);
    assert_int_equal(table_cell_at(gaps, 0, "step").integer, 1);
    assert_int_equal(table_cell_at(gaps, 0, "at").integer, 0);
    assert_int_equal(table_cell_at(gaps, 0, "length").integer, 66000);
    assert_string_equal(table_cell_at(gaps, 0, "cause_key").text, "idle_data");
    assert_memory_equal(table_cell_at(gaps, 0, "host_event").text, "enumerate(DataLoader)", 21);
    assert_string_equal(table_cell_at(gaps, 0, "ended_by").text, "sgemm");
    made_trace_clear(&made);
}

static void a_device_that_is_never_idle_has_no_section(void **state)
{
    struct made_trace made;

    made_trace_init(&made);
    made_work(&made, made_stream(&made, 0, 7), EVENT_KERNEL, (struct made_event){"sgemm", 100, 400},
              NO_ID, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_null(made_section(&made, &gpu_idle_analysis));
    made_trace_clear(&made);
}

/* Nothing but an event of a kind that explains no account is known between two kernels. */
static void another_event_names_a_gap(void **state)
{
    struct made_trace made;
    uint32_t thread, stream;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 0, 10},
                (struct made_event){"a", 20, 30});
    made_host_event(&made, thread, EVENT_HOST_OTHER, (struct made_event){"sampled", 5000, 90000});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 100000, 100010},
                (struct made_event){"b", 100020, 100030});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    assert_int_equal(made.ledger.worst_gaps[0].main_account, ACCOUNT_IDLE_NOTHING);
    assert_int_not_equal(made.ledger.worst_gaps[0].host_event, NO_EVENT);
    assert_string_equal(
        trace_text(&made.trace, made.trace.host[made.ledger.worst_gaps[0].host_event].name),
        "sampled");
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_event_names_a_gap),
        cmocka_unit_test(causes_are_ranked_and_add_up),
        cmocka_unit_test(the_longest_gap_is_named),
        cmocka_unit_test(a_device_that_is_never_idle_has_no_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
