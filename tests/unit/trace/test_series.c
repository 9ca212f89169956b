/* Sampled counters: one series each, samples by time. */
#include "base/core/attributes.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void samples_are_sorted_by_time(void **state)
{
    static const int64_t times[] = {5, 3, 9, 1, 7};
    SCOPED(series_list) list = {0};
    uint32_t first = series_list_find(&list, &(struct series){.name = 1, .device = 0});

    (void)state;
    for (size_t i = 0; i < 5; i++)
        series_add(&list.series[first], &(struct series_sample){times[i], (double)times[i] * 2});
    series_list_sort(&list);
    assert_int_equal(list.series[first].count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(list.series[first].samples[i].time_ns, 2 * i + 1);
        assert_true(list.series[first].samples[i].value == (double)(4 * i + 2));
    }
}

static void a_counter_is_found_again(void **state)
{
    SCOPED(series_list) list = {0};

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(
            series_list_find(&list, &(struct series){.name = i / 2, .device = (int32_t)(i % 2)}),
            i);
    assert_int_equal(series_list_find(&list, &(struct series){.name = 7, .device = 1}), 15);
    assert_int_equal(series_list_find(&list, &(struct series){.name = 7, .device = 1, .unit = 3}),
                     100);
    assert_int_equal(list.count, 101);
}

static void add(struct trace_builder *builder, const char *name, int64_t time_ns)
{
    struct series series = {.name = string_pool_add(&builder->strings, name, strlen(name))};
    uint32_t index = series_list_find(&builder->series, &series);

    series_add(&builder->series.series[index], &(struct series_sample){time_ns, 1});
}

static void builders_become_one(void **state)
{
    struct trace_builder builders[2];
    SCOPED(trace) trace = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        trace_builder_init(&builders[i]);
        string_pool_add(&builders[i].strings, "", 0);
    }
    add(&builders[0], "a", 5);
    add(&builders[1], "b", 2);
    add(&builders[1], "a", 4);
    trace_finish(&trace, builders, 2, 1);
    assert_int_equal(trace.series.count, 2);
    assert_string_equal(trace_text(&trace, trace.series.series[0].name), "a");
    assert_int_equal(trace.series.series[0].count, 2);
    assert_int_equal(trace.series.series[0].samples[0].time_ns, 4);
    assert_string_equal(trace_text(&trace, trace.series.series[1].name), "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_sorted_by_time),
        cmocka_unit_test(a_counter_is_found_again),
        cmocka_unit_test(builders_become_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
