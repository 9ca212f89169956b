/* half_events: phases B and E are matched by time and name, whatever their order in the file. */
#include "trace/trace_finish_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct half {
    char phase;
    int64_t time;
    const char *name;
};

/* Matches the halves in this order and in the reverse one; what comes out must be `expected`: "name
 * start-end ...". */
static void check(const struct half *halves, size_t count, const char *expected,
                  int64_t unmatched_begins, int64_t unmatched_ends)
{
    for (int is_reversed = 0; is_reversed < 2; is_reversed++) {
        struct trace_builder builder;
        struct trace trace = {0};
        char got[512] = "";

        trace_builder_init(&builder);
        for (size_t i = 0; i < count; i++) {
            const struct half *half = &halves[is_reversed ? count - 1 - i : i];
            const struct track_key key = {.device = -1, .stream = -1};
            struct half_event event = {.is_begin = half->phase == 'B'};

            event.event.kind = EVENT_HOST_OTHER;
            event.event.start_ns = half->time;
            event.event.name = string_pool_add(&builder.strings, half->name, strlen(half->name));
            event.event.track = trace_builder_track(&builder, &key);
            trace_builder_add_half(&builder, &event);
        }
        trace_finish(&trace, &builder, 1, 1);
        for (uint32_t i = 0; i < trace.host_count; i++) {
            size_t used = strlen(got);

            (void)snprintf(got + used, sizeof got - used, "%s %lld-%lld ",
                           trace_text(&trace, trace.host[i].name),
                           (long long)trace.host[i].start_ns,
                           (long long)event_end_ns(&trace.host[i]));
        }
        assert_string_equal(got, expected);
        assert_int_equal(trace.read.unmatched_begins, unmatched_begins);
        assert_int_equal(trace.read.unmatched_ends, unmatched_ends);
        trace_clear(&trace);
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void nested_events_are_matched_from_the_inside(void **state)
{
    const struct half halves[] = {{'B', 1, "a"}, {'B', 2, "b"}, {'E', 3, ""}, {'E', 4, ""}};

    (void)state;
    check(halves, COUNT(halves), "a 1-4 b 2-3 ", 0, 0);
}

static void an_end_with_a_name_ends_that(void **state)
{
    const struct half halves[] = {{'B', 1, "a"}, {'B', 2, "b"}, {'E', 3, "a"}, {'E', 4, "b"}};

    (void)state;
    check(halves, COUNT(halves), "a 1-3 b 2-4 ", 0, 0);
}

static void one_follows_the_other_at_once(void **state)
{
    const struct half halves[] = {{'B', 1, "a"}, {'E', 2, ""}, {'B', 2, "b"}, {'E', 3, ""}};

    (void)state;
    check(halves, COUNT(halves), "a 1-2 b 2-3 ", 0, 0);
}

static void an_event_of_no_length_is_one(void **state)
{
    const struct half halves[] = {{'B', 5, "a"}, {'E', 5, ""}};

    (void)state;
    check(halves, COUNT(halves), "a 5-5 ", 0, 0);
}

static void what_has_no_partner_is_counted(void **state)
{
    const struct half halves[] = {
        {'E', 0, ""}, {'B', 1, "a"}, {'E', 2, "x"}, {'B', 3, "b"}, {'E', 4, "b"}};

    (void)state;
    check(halves, COUNT(halves), "b 3-4 ", 1, 2);
}

static void deep_nesting_takes_no_time(void **state)
{
    enum { DEPTH = 20000 };
    static struct half halves[2 * DEPTH];

    (void)state;
    for (int i = 0; i < DEPTH; i++) {
        halves[i] = (struct half){'B', i, "a"};
        halves[DEPTH + i] = (struct half){'E', DEPTH + i, "b"};
    }
    check(halves, COUNT(halves), "", DEPTH, DEPTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_events_are_matched_from_the_inside),
        cmocka_unit_test(an_end_with_a_name_ends_that),
        cmocka_unit_test(one_follows_the_other_at_once),
        cmocka_unit_test(an_event_of_no_length_is_one),
        cmocka_unit_test(what_has_no_partner_is_counted),
        cmocka_unit_test(deep_nesting_takes_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
