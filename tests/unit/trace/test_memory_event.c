/* The order of allocations and releases. */
#include "base/core/attributes.h"
#include "trace/memory_snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct memory_list *list, int64_t time_ns, int64_t bytes)
{
    memory_list_add(list, &(struct memory_event){.time_ns = time_ns, .bytes = bytes});
}

static void events_are_sorted_by_time(void **state)
{
    static const int64_t times[] = {5, 3, 9, 1, 7, 2, 8, 0, 6, 4, 10};
    SCOPED(memory_list) list = {0};

    (void)state;
    for (size_t i = 0; i < 11; i++)
        add(&list, times[i], times[i] * 10);
    memory_list_sort(&list);
    assert_int_equal(list.count, 11);
    for (size_t i = 0; i < 11; i++) {
        assert_int_equal(list.events[i].time_ns, i);
        assert_int_equal(list.events[i].bytes, i * 10);
    }
}

static void events_of_one_time_keep_their_order(void **state)
{
    SCOPED(memory_list) list = {0};

    (void)state;
    for (int64_t i = 0; i < 3000; i++)
        add(&list, i % 3, i);
    memory_list_sort(&list);
    for (size_t i = 1; i < list.count; i++) {
        assert_true(list.events[i - 1].time_ns <= list.events[i].time_ns);
        if (list.events[i - 1].time_ns == list.events[i].time_ns)
            assert_true(list.events[i - 1].bytes < list.events[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_sorted_by_time),
        cmocka_unit_test(events_of_one_time_keep_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
