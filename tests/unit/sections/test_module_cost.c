/* The section that says what a model's modules cost. */
#include "sections/model/module_cost_sections.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis module_cost_analysis;

static const char mm[] = "[[4, 8], [8, 2]]";
static const char types[] = "[\"float\", \"float\"]";

/* Net { b { mm of 128 FLOPs, 300 ns }, a { mm of 128 FLOPs twice, 100 ns } } in each step. */
static void make_trace(struct made_trace *made, int64_t steps)
{
    uint32_t main;
    static const char *const names[] = {"ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"};

    made_trace_init(made);
    main = made_thread(made, "1");
    for (int64_t i = 0; i < steps; i++) {
        int64_t at = 10000 * i;

        made_host_event(made, main, EVENT_ANNOTATION, (struct made_event){names[i], at, at + 9000});
        made_host_event(made, main, EVENT_OPERATOR,
                        (struct made_event){"nn:Net", at + 10, at + 900});
        made_host_event(made, main, EVENT_OPERATOR,
                        (struct made_event){"nn:b", at + 100, at + 400});
        made_operator(made, main, (struct made_event){"aten::mm", at + 110, at + 390}, mm, types);
        made_host_event(made, main, EVENT_OPERATOR,
                        (struct made_event){"nn:a", at + 500, at + 600});
        made_operator(made, main, (struct made_event){"aten::mm", at + 510, at + 540}, mm, types);
        made_operator(made, main, (struct made_event){"aten::mm", at + 550, at + 590}, mm, types);
    }
}

static struct section *describe(struct made_trace *made, struct module_costs *costs,
                                struct module_cost_view view)
{
    static const struct model_description none = {0};
    static const struct module_cost_options all = {0};

    made_trace_finish(made, WINDOW_CHOICE_AUTO);
    measure_module_costs(costs, &made->trace, &all);
    view.costs = costs;
    view.description = &none;
    return describe_module_costs(&made->results, &view);
}

static void figures_are_per_step(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    struct section *section;
    const struct table *modules;

    make_trace(&made, 3);
    section =
        describe(&made, &costs,
                 (struct module_cost_view){.steps = 3, .depth = UINT32_MAX, .top = UINT32_MAX});
    assert_true(section_value(section, "forward_flops").real == 3 * 128.0);
    assert_int_equal(section_value(section, "forward_macs").integer, 3 * 64);
    assert_int_equal(section_value(section, "forward_latency").integer, 890);
    assert_int_equal(section_value(section, "parameters").unit, UNIT_NOT_KNOWN);
    assert_int_equal(section_value(section, "bytes").integer, 3 * 4 * (32 + 16 + 8));
    modules = section_table(section, "modules");
    assert_int_equal(table_cell(modules, "a", "forward_flops_in_all").integer, 3 * 256);
    assert_true(table_cell(modules, "a", "forward_flops").real == 256.0);
    assert_int_equal(table_cell(modules, "b", "forward_latency").integer, 300);
    assert_true(is_close(table_cell(modules, "a", "forward_share").real, 2.0 / 3));
    assert_int_equal(table_cell(modules, "(outside of modules)", "forward_flops_in_all").integer,
                     0);
    assert_int_equal(modules->row_count, 4);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static const char *second_row_sorted_by(enum module_sort sort)
{
    static char name[32];
    struct made_trace made;
    struct module_costs costs = {0};
    struct section *section;

    make_trace(&made, 1);
    section = describe(&made, &costs,
                       (struct module_cost_view){
                           .steps = 1, .depth = UINT32_MAX, .top = UINT32_MAX, .sort = sort});
    (void)strncpy(name, table_cell_at(section_table(section, "modules"), 1, "name").text,
                  sizeof name - 1);
    module_costs_clear(&costs);
    made_trace_clear(&made);
    return name;
}

static void modules_are_sorted_inside_their_parent(void **state)
{
    assert_string_equal(second_row_sorted_by(MODULE_SORT_MODEL), "b");
    assert_string_equal(second_row_sorted_by(MODULE_SORT_FLOPS), "a");
    assert_string_equal(second_row_sorted_by(MODULE_SORT_TIME), "b");
    assert_string_equal(second_row_sorted_by(MODULE_SORT_NAME), "a");
}

static void depth_and_pattern_leave_modules_out(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    struct section *section;

    make_trace(&made, 1);
    section = describe(&made, &costs, (struct module_cost_view){.steps = 1, .top = UINT32_MAX});
    assert_int_equal(section_table(section, "modules")->row_count, 2); /* Net, outside */
    module_costs_clear(&costs);
    made_trace_clear(&made);
    make_trace(&made, 1);
    section = describe(&made, &costs,
                       (struct module_cost_view){
                           .steps = 1, .depth = UINT32_MAX, .top = UINT32_MAX, .pattern = "[ab]"});
    assert_int_equal(section_table(section, "modules")->row_count, 2); /* a, b */
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void without_shapes_flops_are_not_known(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    struct section *section;

    made_trace_init(&made);
    made_host_event(&made, made_thread(&made, "1"), EVENT_OPERATOR,
                    (struct made_event){"aten::mm", 0, 100});
    section = describe(&made, &costs,
                       (struct module_cost_view){.steps = 1, .depth = UINT32_MAX, .top = 10});
    assert_int_equal(section_value(section, "forward_flops").unit, UNIT_NOT_KNOWN);
    assert_int_equal(count_findings(section, "no shapes"), 1);
    assert_int_equal(count_findings(section, "no marks of modules"), 1);
    assert_null(section_table(section, "modules"));
    assert_string_equal(table_cell(section_table(section, "not_counted"), "aten::mm", "why").text,
                        "its shapes were not recorded");
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void the_report_has_it_where_there_are_shapes(void **state)
{
    struct made_trace made;
    struct section *section;

    make_trace(&made, 2);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &module_cost_analysis);
    assert_int_equal(section_value(section, "steps").integer, 2);
    assert_true(section_value(section, "forward_flops").real == 384.0);
    assert_null(section_table(section, "depths"));
    made_trace_clear(&made);
    made_trace_init(&made);
    made_host_event(&made, made_thread(&made, "1"), EVENT_OPERATOR,
                    (struct made_event){"aten::mm", 0, 100});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_null(made_section(&made, &module_cost_analysis));
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_per_step),
        cmocka_unit_test(modules_are_sorted_inside_their_parent),
        cmocka_unit_test(depth_and_pattern_leave_modules_out),
        cmocka_unit_test(without_shapes_flops_are_not_known),
        cmocka_unit_test(the_report_has_it_where_there_are_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
