/* class_timeline against a count made instant by instant. */
#include "ledger/class_timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SPAN = 200, EVENTS = 40, CLASSES = 5 };

/* The times of a long timeline, and of one from the first moment that there is to the last, need
 * more room than beside a mask. */
static const int64_t units_ns[] = {1, INT64_C(40) << 30, INT64_MAX / (SPAN + 20)};

struct test_event {
    int64_t start_ns;
    int64_t end_ns;
    unsigned class;
};

static int compare_starts(const void *left, const void *right)
{
    const struct test_event *a = left;
    const struct test_event *b = right;

    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The mask at `time_ns`; 0 before the first and after the last event. */
static uint32_t mask_at(const struct class_timeline *timeline, int64_t time_ns, size_t hint)
{
    size_t at = class_timeline_at(timeline, time_ns, hint);

    return timeline_mask_at(timeline, at);
}

static uint32_t mask_by_hand(const struct test_event *events, int64_t time_ns)
{
    uint32_t mask = 0;

    for (unsigned i = 0; i < EVENTS; i++) {
        if (events[i].start_ns <= time_ns && time_ns < events[i].end_ns)
            mask |= (uint32_t)1 << events[i].class;
    }
    return mask;
}

static void random_events_give_the_masks_counted_by_hand(void **state)
{
    (void)state;
    srand(7);
    for (unsigned round = 0; round < 300; round++) {
        struct test_event events[EVENTS];
        struct class_timeline timeline = {0};
        int64_t unit_ns = units_ns[round % 3];
        size_t hint = 0;

        for (unsigned i = 0; i < EVENTS; i++) {
            events[i].start_ns = rand() % SPAN * unit_ns;
            events[i].end_ns = events[i].start_ns + rand() % 12 * unit_ns;
            events[i].class = (unsigned)rand() % CLASSES;
        }
        qsort(events, EVENTS, sizeof(events[0]), compare_starts);
        for (unsigned i = 0; i < EVENTS; i++)
            class_timeline_add(&timeline, events[i].class, events[i].start_ns, events[i].end_ns);
        class_timeline_finish(&timeline);
        for (int64_t time_ns = -2; time_ns < SPAN + 20; time_ns++) {
            assert_int_equal(mask_at(&timeline, time_ns * unit_ns, hint),
                             mask_by_hand(events, time_ns * unit_ns));
            hint = (size_t)rand() % (timeline.count + 1);
        }
        for (size_t i = 1; i < timeline.count; i++) {
            assert_true(timeline_start_ns(&timeline, i - 1) < timeline_start_ns(&timeline, i));
            assert_int_equal(timeline_next_ns(&timeline, i - 1), timeline_start_ns(&timeline, i));
            assert_int_not_equal(timeline_mask(&timeline, i - 1), timeline_mask(&timeline, i));
        }
        assert_int_equal(timeline_mask(&timeline, timeline.count - 1), 0);
        assert_int_equal(timeline.masks != NULL, unit_ns > 1);
        class_timeline_clear(&timeline);
    }
}

static void an_empty_timeline_has_nothing_open(void **state)
{
    struct class_timeline timeline = {0};

    (void)state;
    class_timeline_add(&timeline, 3, 10, 10);
    class_timeline_finish(&timeline);
    assert_int_equal(timeline.count, 0);
    assert_true(class_timeline_at(&timeline, 10, 0) == SIZE_MAX);
    assert_int_equal(mask_at(&timeline, 10, 0), 0);
    class_timeline_clear(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_give_the_masks_counted_by_hand),
        cmocka_unit_test(an_empty_timeline_has_nothing_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
