/* Sets of intervals of time against a set of the nanoseconds themselves. */
#include "base/core/time_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* In halves of a nanosecond: intervals that touch share the end of one and the start of the other,
 * those that are one apart do not. */
enum { HALVES = 1 << 18 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void mark(unsigned char *halves, int64_t start_ns, int64_t end_ns)
{
    memset(halves + 2 * start_ns, 1, (size_t)(2 * (end_ns - start_ns) + 1));
}

/* `add` to both, at times that lie `disorder` at most before where time has come to. */
static void fill(struct time_set *set, unsigned char *halves, uint32_t disorder, uint32_t seed)
{
    for (int64_t at = 0; at < HALVES / 2 - 3000; at += next_random(&seed) % 9) {
        int64_t back = next_random(&seed) % (disorder + 1);
        int64_t start_ns = back > at ? 0 : at - back;
        bool is_long = next_random(&seed) % 512 == 0;
        int64_t end_ns = start_ns + next_random(&seed) % (is_long ? 2000 : 5);

        time_set_add(set, start_ns, end_ns);
        mark(halves, start_ns, end_ns);
    }
}

static void expect_same(struct time_set *set, unsigned char *halves)
{
    struct time_set_walk walk;
    struct interval interval, span;
    int64_t covered_ns = 0, last_ns = -1;

    time_set_complete(set);
    assert_true(time_set_span(set, &span));
    walk = time_set_walk_of(set);
    for (bool is_first = true; time_set_next(&walk, &interval); is_first = false) {
        if (is_first)
            assert_int_equal(interval.start_ns, span.start_ns);
        assert_true(interval.start_ns > last_ns);
        for (int64_t half = 2 * interval.start_ns; half <= 2 * interval.end_ns; half++)
            assert_int_equal(halves[half], 1);
        memset(halves + 2 * interval.start_ns, 0,
               (size_t)(2 * (interval.end_ns - interval.start_ns) + 1));
        covered_ns += interval.end_ns - interval.start_ns;
        last_ns = interval.end_ns;
    }
    assert_int_equal(last_ns, span.end_ns);
    assert_int_equal(covered_ns, time_set_covered_ns(set));
    assert_null(memchr(halves, 1, HALVES));
}

static void it_holds_what_was_added_in_any_order(void **state)
{
    static const uint32_t disorders[] = {0, 1, 20, 300, 5000, HALVES};
    unsigned char *halves = calloc(1, HALVES + 1);

    (void)state;
    for (uint32_t i = 0; i < sizeof disorders / sizeof *disorders; i++) {
        struct time_set set = {.recent_count = 0};

        fill(&set, halves, disorders[i], i);
        expect_same(&set, halves);
        time_set_clear(&set);
    }
    free(halves);
}

static void nothing_has_no_span(void **state)
{
    struct time_set set = {.recent_count = 0};
    struct time_sets_walk walk = {0};
    struct interval interval;

    (void)state;
    time_set_complete(&set);
    time_sets_walk_add(&walk, &set);
    assert_false(time_set_span(&set, &interval));
    assert_false(time_sets_next(&walk, &interval));
    assert_int_equal(time_set_covered_ns(&set), 0);
}

static void ends_of_time_are_packed(void **state)
{
    struct time_set set = {.recent_count = 0};
    struct time_set_walk walk;
    struct interval interval;

    (void)state;
    for (int64_t i = 40; i > 0; i--) {
        time_set_add(&set, INT64_MAX - 3 * i, INT64_MAX - 3 * i + 1);
        time_set_add(&set, INT64_MIN + 3 * i, INT64_MIN + 3 * i + 1);
    }
    time_set_complete(&set);
    walk = time_set_walk_of(&set);
    for (int64_t i = 1; i <= 40; i++) {
        assert_true(time_set_next(&walk, &interval));
        assert_int_equal(interval.start_ns, INT64_MIN + 3 * i);
    }
    for (int64_t i = 40; i > 0; i--) {
        assert_true(time_set_next(&walk, &interval));
        assert_int_equal(interval.end_ns, INT64_MAX - 3 * i + 1);
    }
    assert_false(time_set_next(&walk, &interval));
    assert_int_equal(time_set_covered_ns(&set), 80);
    time_set_add(&set, INT64_MIN, INT64_MAX);
    time_set_complete(&set);
    assert_int_equal(time_set_covered_ns(&set), INT64_MAX);
    time_set_clear(&set);
}

static void several_sets_are_walked_by_start(void **state)
{
    struct time_set sets[9] = {{.recent_count = 0}};
    struct time_sets_walk walk = {0};
    struct interval interval;
    size_t added = 0, walked = 0;
    uint32_t seed = 7;

    (void)state;
    for (int64_t at = 0; at < 20000; at += 3, added++) {
        size_t set = next_random(&seed) % 9;

        time_set_add(&sets[set], at, at + 1);
    }
    for (size_t i = 0; i < 9; i++)
        time_sets_walk_add(&walk, &sets[i]);
    for (; time_sets_next(&walk, &interval); walked++)
        assert_int_equal(interval.start_ns, 3 * walked);
    assert_int_equal(walked, added);
    for (size_t i = 0; i < 9; i++)
        time_set_clear(&sets[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_what_was_added_in_any_order),
        cmocka_unit_test(nothing_has_no_span),
        cmocka_unit_test(ends_of_time_are_packed),
        cmocka_unit_test(several_sets_are_walked_by_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
