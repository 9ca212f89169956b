/* Page faults of unified memory: by who touched the page, inside the steps. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const struct analysis page_faults_analysis;
extern const struct analysis gpu_metrics_analysis;

static void add_faults(struct made_trace *made, int32_t device, int64_t time_ns, int faults)
{
    struct series_list *list = &made->builder.series;
    struct series key = {.kind = SERIES_PAGE_FAULTS, .device = device};
    uint32_t index = series_list_find(list, &key);

    series_add(&list->series[index], &(struct series_sample){time_ns, faults});
}

static void add_step(struct made_trace *made, const char *name, int64_t start_ns)
{
    uint32_t thread = made_thread(made, "main");

    made_host_event(made, thread, EVENT_ANNOTATION,
                    (struct made_event){name, start_ns, start_ns + 1000});
    made_work(made, made_stream(made, 0, 7), EVENT_KERNEL,
              (struct made_event){"a", start_ns + 100, start_ns + 900}, NO_ID, NULL);
}

static void faults_are_counted_by_side(void **state)
{
    struct made_trace made;
    const struct table *table;

    made_trace_init(&made);
    add_step(&made, "ProfilerStep#1", 1000);
    add_step(&made, "ProfilerStep#2", 3000);
    add_faults(&made, SERIES_OF_HOST, 1500, 1);
    add_faults(&made, SERIES_OF_HOST, 2500, 1); /* between the steps */
    add_faults(&made, 0, 1200, 3);
    add_faults(&made, 0, 3300, 4);
    add_faults(&made, 1, 3300, 50); /* another device */
    made_trace_finish(&made, WINDOW_CHOICE_STEPS);
    table = section_table(made_section(&made, &page_faults_analysis), "by_side");
    assert_int_equal(table->row_count, 2);
    assert_int_equal(table_cell(table, "the host", "faults").integer, 1);
    assert_int_equal(table_cell(table, "device 0", "count").integer, 2);
    assert_int_equal(table_cell(table, "device 0", "faults").integer, 7);
    assert_true(is_close(table_cell(table, "device 0", "per_step").real, 3.5));
    assert_null(made_section(&made, &gpu_metrics_analysis)); /* they are no counter */
    made_trace_clear(&made);
}

static void without_faults_there_is_no_section(void **state)
{
    struct made_trace made;

    made_trace_init(&made);
    add_step(&made, "ProfilerStep#1", 1000);
    made_trace_finish(&made, WINDOW_CHOICE_STEPS);
    assert_null(made_section(&made, &page_faults_analysis));
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_counted_by_side),
        cmocka_unit_test(without_faults_there_is_no_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
