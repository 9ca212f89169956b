/* free_time against a count made instant by instant. */
#include "ledger/class_timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SPAN = 400, EVENTS = 40, CLASSES = 4 };

static void any_stretch_is_as_counted_by_hand(void **state)
{
    uint32_t asked_for = 1u << 0 | 1u << 2;
    bool runs[SPAN] = {false};
    struct class_timeline timeline = {0};
    struct free_time time;

    (void)state;
    srand(7);
    for (int i = 0; i < EVENTS; i++) {
        int start = 10 * i, end = start + rand() % 14;
        unsigned class = (unsigned)rand() % CLASSES;

        class_timeline_add(&timeline, class, start, end);
        for (int at = start; at < end && at < SPAN; at++)
            runs[at] = runs[at] || (asked_for >> class & 1);
    }
    class_timeline_finish(&timeline);
    free_time_init(&time, &timeline, asked_for);
    for (int start = 0; start < SPAN; start++) {
        int64_t by_hand_ns = 0;

        for (int end = start; end < SPAN; end++) {
            assert_int_equal(free_time_between(&time, start, end), by_hand_ns);
            by_hand_ns += !runs[end];
        }
    }
    assert_int_equal(free_time_between(&time, -50, 0), 50);
    assert_int_equal(free_time_between(&time, 1000, 1007), 7);
    free_time_clear(&time);
    class_timeline_clear(&timeline);
}

static void all_is_free_where_nothing_runs(void **state)
{
    struct class_timeline timeline = {0};
    struct free_time time;

    (void)state;
    class_timeline_finish(&timeline);
    free_time_init(&time, &timeline, UINT32_MAX);
    assert_int_equal(free_time_between(&time, 3, 10), 7);
    free_time_clear(&time);
    class_timeline_clear(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_stretch_is_as_counted_by_hand),
        cmocka_unit_test(all_is_free_where_nothing_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
