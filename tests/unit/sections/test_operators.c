/* Operators: nesting, self and total times, as torch.profiler has them. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const struct analysis operators_analysis;

static void self_time_is_without_what_is_inside(void **state)
{
    struct made_trace made;
    uint32_t thread, stream;
    const struct table *table;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::linear", 0, 1000});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::addmm", 100, 600});
    made_host_event(&made, thread, EVENT_OPERATOR,
                    (struct made_event){"aten::is_leaf", 650, 700}); /* left out */
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 200, 300},
                (struct made_event){"sgemm", 400, 2400});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 800, 850},
                (struct made_event){"copy", 2400, 2500});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &operators_analysis), "by_name");
    assert_int_equal(table->row_count, 2);
    assert_int_equal(table_cell(table, "aten::linear", "total_cpu").integer, 1000);
    assert_int_equal(table_cell(table, "aten::linear", "self_cpu").integer, 1000 - 500 - 50);
    assert_int_equal(table_cell(table, "aten::addmm", "self_cpu").integer, 500 - 100);
    assert_int_equal(table_cell(table, "aten::addmm", "self_device").integer, 2000);
    assert_int_equal(table_cell(table, "aten::linear", "self_device").integer, 100);
    assert_int_equal(table_cell(table, "aten::linear", "total_device").integer, 2100);
    made_trace_clear(&made);
}

static void an_only_child_of_the_same_name_is_one_call(void **state)
{
    struct made_trace made;
    uint32_t thread;
    const struct table *table;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::to", 0, 1000});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::to", 100, 900});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::to", 200, 800});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::copy_", 300, 400});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &operators_analysis), "by_name");
    assert_int_equal(table_cell(table, "aten::to", "calls").integer, 1);
    assert_int_equal(table_cell(table, "aten::to", "total_cpu").integer, 1000);
    assert_int_equal(table_cell(table, "aten::to", "self_cpu").integer, 900);
    made_trace_clear(&made);
}

static void calls_inside_a_call_of_the_same_name_add_to_the_total_once(void **state)
{
    struct made_trace made;
    uint32_t thread;
    const struct table *table;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"visit", 0, 1000});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"visit", 100, 300});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"visit", 400, 700});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"visit", 2000, 2100});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &operators_analysis), "by_name");
    assert_int_equal(table_cell(table, "visit", "calls").integer, 4);
    assert_int_equal(table_cell(table, "visit", "total_cpu").integer, 1100);
    assert_int_equal(table_cell(table, "visit", "self_cpu").integer, 1100);
    made_trace_clear(&made);
}

static void calls_that_overlap_in_part_are_not_inside_each_other(void **state)
{
    struct made_trace made;
    uint32_t thread;
    const struct table *table;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"outer", 0, 1000});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"first", 100, 500});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"second", 400, 800});
    made_host_event(&made, made_thread(&made, "2"), EVENT_OPERATOR,
                    (struct made_event){"elsewhere", 100, 200});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &operators_analysis), "by_name");
    assert_int_equal(table_cell(table, "outer", "self_cpu").integer, 1000 - 400 - 400);
    assert_int_equal(table_cell(table, "first", "self_cpu").integer, 400);
    assert_int_equal(table_cell(table, "second", "self_cpu").integer, 400);
    assert_int_equal(table_cell(table, "elsewhere", "self_cpu").integer, 100);
    made_trace_clear(&made);
}

static void shapes_make_rows_of_their_own(void **state)
{
    const struct analysis_options by_shape = {.top = UINT32_MAX, .by_shape = true};
    struct made_trace made;
    uint32_t thread;
    const struct table *table;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_operator(&made, thread, (struct made_event){"aten::mm", 0, 100}, "[[2, 2], [2, 2]]",
                  "[\"float\", \"float\"]");
    made_operator(&made, thread, (struct made_event){"aten::mm", 200, 400}, "[[8, 8], [8, 8]]",
                  "[\"float\", \"float\"]");
    made_operator(&made, thread, (struct made_event){"aten::mm", 500, 900}, "[[2, 2], [2, 2]]",
                  "[\"float\", \"float\"]");
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::zeros", 950, 960});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section_with(&made, &operators_analysis, &by_shape), "by_name");
    assert_int_equal(table->row_count, 3);
    assert_string_equal(table_cell_at(table, 0, "input_shapes").text, "[[2, 2], [2, 2]]");
    assert_int_equal(table_cell_at(table, 0, "self_cpu").integer, 500);
    assert_int_equal(table_cell_at(table, 1, "self_cpu").integer, 200);
    assert_int_equal(table_cell_at(table, 2, "input_shapes").unit, UNIT_NONE); /* no input */
    table = section_table(made_section(&made, &operators_analysis), "by_name");
    assert_int_equal(table_cell(table, "aten::mm", "calls").integer, 3);
    made_trace_clear(&made);
}

static void only_calls_that_start_in_a_step_count(void **state)
{
    struct made_trace made;
    uint32_t thread;
    const struct section *section;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#1", 1000, 2000});
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#2", 2000, 3000});
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"forward", 2100, 2200});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 500, 600});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 1000, 1100});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 2990, 3100});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 3000, 3100});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &operators_analysis);
    assert_int_equal(section_value(section, "calls").integer, 2);
    assert_int_equal(table_cell(section_table(section, "by_name"), "aten::mm", "total_cpu").integer,
                     210);
    assert_int_equal(table_cell(section_table(section, "ranges"), "ProfilerStep*", "calls").integer,
                     2);
    assert_int_equal(
        table_cell(section_table(section, "ranges"), "ProfilerStep*", "total_cpu").integer, 2000);
    assert_int_equal(table_cell(section_table(section, "ranges"), "forward", "self_cpu").integer,
                     100);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_time_is_without_what_is_inside),
        cmocka_unit_test(an_only_child_of_the_same_name_is_one_call),
        cmocka_unit_test(calls_inside_a_call_of_the_same_name_add_to_the_total_once),
        cmocka_unit_test(calls_that_overlap_in_part_are_not_inside_each_other),
        cmocka_unit_test(shapes_make_rows_of_their_own),
        cmocka_unit_test(only_calls_that_start_in_a_step_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
