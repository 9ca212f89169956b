/* Kernels by name and by kind of work. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const struct analysis kernels_analysis;

static void kernels_of_one_name_share_a_row(void **state)
{
    struct made_trace made;
    struct event_detail detail = event_detail_none();
    uint32_t thread, stream, other_device;
    const struct section *section;
    const struct table *table;
    int64_t call;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    other_device = made_stream(&made, 1, 7);
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 0, 100});
    detail.occupancy_percent = 50;
    detail.registers_per_thread = 96;
    detail.shared_memory_bytes = 4096;
    call = made_call(&made, thread, (struct made_event){"cudaLaunchKernel", 10, 20});
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"sgemm", 100, 400}, call, &detail);
    detail.occupancy_percent = 20;
    call = made_call(&made, thread, (struct made_event){"cudaLaunchKernel", 30, 40});
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"sgemm", 400, 500}, call, &detail);
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 200, 210},
                (struct made_event){"elementwise_kernel", 500, 600});
    made_work(&made, stream, EVENT_MEMCPY, (struct made_event){"Memcpy HtoD", 600, 700}, NO_ID,
              NULL);
    made_work(&made, other_device, EVENT_KERNEL, (struct made_event){"sgemm", 0, 5000}, NO_ID,
              NULL);
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    section = made_section(&made, &kernels_analysis);
    assert_int_equal(section_value(section, "count").integer, 3);
    assert_int_equal(section_value(section, "total").integer, 500);
    table = section_table(section, "by_name");
    assert_int_equal(table->row_count, 2);
    assert_int_equal(table_cell(table, "sgemm", "count").integer, 2);
    assert_int_equal(table_cell(table, "sgemm", "total").integer, 400);
    assert_int_equal(table_cell(table, "sgemm", "min").integer, 100);
    assert_int_equal(table_cell(table, "sgemm", "max").integer, 300);
    assert_int_equal(table_cell(table, "sgemm", "mean").integer, 200);
    assert_true(is_close(table_cell(table, "sgemm", "share").real, 0.8));
    assert_true(
        is_close(table_cell(table, "sgemm", "occupancy").real, (0.5 * 300 + 0.2 * 100) / 400));
    assert_int_equal(table_cell(table, "sgemm", "registers").integer, 96);
    assert_int_equal(table_cell(table, "sgemm", "shared_memory").integer, 4096);
    assert_string_equal(table_cell(table, "sgemm", "operator").text, "aten::mm");
    assert_string_equal(table_cell(table, "sgemm", "class_key").text, "matmul");
    assert_int_equal(table_cell(table, "elementwise_kernel", "operator").unit, UNIT_NOT_KNOWN);
    assert_int_equal(table_cell(table, "elementwise_kernel", "occupancy").unit, UNIT_NOT_KNOWN);
    table = section_table(section, "by_class");
    assert_int_equal(table_cell_at(table, 0, "total").integer, 400);
    assert_int_equal(table_cell_at(table, 1, "total").integer, 100);
    made_trace_clear(&made);
}

static void only_kernels_that_start_in_a_step_count(void **state)
{
    const struct analysis_options two_rows = {.top = 2, .sort = SORT_COUNT};
    struct made_trace made;
    uint32_t thread, stream;
    const struct table *table;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#1", 1000, 2000});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 900, 910},
                (struct made_event){"before", 990, 1100});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 1010, 1020},
                (struct made_event){"inside", 1000, 1200});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 1030, 1040},
                (struct made_event){"across", 1990, 3000});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 1030, 1040},
                (struct made_event){"inside", 1300, 1400});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 1050, 1060},
                (struct made_event){"short", 1500, 1510});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 1930, 1940},
                (struct made_event){"after", 2000, 2100});
    made.clock = CLOCK_CHOICE_HOST;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    table = section_table(made_section(&made, &kernels_analysis), "by_name");
    assert_int_equal(table->row_count, 3);
    assert_int_equal(table_cell(table, "across", "total").integer, 1010);
    assert_int_equal(table_cell(table, "inside", "count").integer, 2);
    table = section_table(made_section_with(&made, &kernels_analysis, &two_rows), "by_name");
    assert_int_equal(table->row_count, 2);
    assert_int_equal(table->rows_in_all, 3);
    assert_string_equal(table_cell_at(table, 0, "kernel").text, "inside");
    assert_string_equal(table_cell_at(table, 1, "kernel").text, "across");
    made_trace_clear(&made);
}

static void a_trace_without_kernels_has_no_section(void **state)
{
    struct made_trace made;

    made_trace_init(&made);
    made_host_event(&made, made_thread(&made, "1"), EVENT_OPERATOR,
                    (struct made_event){"aten::mm", 0, 100});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_null(made_section(&made, &kernels_analysis));
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_one_name_share_a_row),
        cmocka_unit_test(only_kernels_that_start_in_a_step_count),
        cmocka_unit_test(a_trace_without_kernels_has_no_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
