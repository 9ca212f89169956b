/* What a host thread was in, event by event. */
#include "critical_path/steps_path.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PARTS_MAX = 32 };

struct taken {
    const struct trace *trace;
    struct host_part parts[PARTS_MAX];
    size_t count;
};

static void take(void *context, const struct host_part *part)
{
    struct taken *taken = context;

    assert_true(taken->count < PARTS_MAX);
    taken->parts[taken->count++] = *part;
}

struct expected_part {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t piece;
    const char *name; /* NULL: none */
    enum host_class class;
};

static void check_parts(const struct taken *taken, const struct expected_part *expected,
                        size_t count)
{
    size_t events = 0;

    assert_int_equal(taken->count, count);
    for (size_t i = 0; i < count; i++) {
        const struct host_part *part = &taken->parts[i];

        assert_int_equal(part->start_ns, expected[i].start_ns);
        assert_int_equal(part->end_ns, expected[i].end_ns);
        assert_int_equal(part->piece, expected[i].piece);
        assert_int_equal(part->class, expected[i].class);
        if (expected[i].name)
            assert_string_equal(trace_text(taken->trace, taken->trace->host[part->event].name),
                                expected[i].name);
        else
            assert_int_equal(part->event, NO_EVENT);
        events += part->is_first && part->event != NO_EVENT;
    }
    assert_int_equal(events, 6); /* each is counted once, however many parts it has */
}

/* An operator with another inside and a call in that, data loading around an operator, events that
 * overlap without one being inside the other; stretches that begin and end anywhere. */
static void parts_cover_the_stretches(void **state)
{
    static const struct path_piece pieces[] = {{.start_ns = 50, .end_ns = 260},
                                               {.start_ns = 0},
                                               {.start_ns = 260, .end_ns = 390},
                                               {.start_ns = 420, .end_ns = 600}};
    static const uint32_t chosen[] = {0, 2, 3};
    static const struct expected_part expected[] = {
        {1050, 1100, 0, NULL, HOST_NOTHING},
        {1100, 1120, 0, "outer", HOST_OPERATOR},
        {1120, 1150, 0, "inner", HOST_OPERATOR},
        {1150, 1160, 0, "cudaLaunchKernel", HOST_RUNTIME},
        {1160, 1180, 0, "inner", HOST_OPERATOR},
        {1180, 1200, 0, "outer", HOST_OPERATOR},
        {1200, 1260, 0, NULL, HOST_NOTHING},
        {1260, 1300, 2, NULL, HOST_NOTHING},
        {1300, 1320, 2, "enumerate(DataLoader)#a.__next__", HOST_DATA},
        {1320, 1340, 2, "enumerate(DataLoader)#a.__next__", HOST_DATA},
        {1340, 1390, 2, "enumerate(DataLoader)#a.__next__", HOST_DATA},
        {1420, 1450, 3, "first", HOST_OPERATOR},
        {1450, 1520, 3, "second", HOST_OPERATOR},
        {1520, 1600, 3, NULL, HOST_NOTHING}};
    struct host_activity activity;
    struct made_trace made;
    struct taken taken = {.count = 0};
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"outer", 1100, 1200});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"inner", 1120, 1180});
    (void)made_call(&made, thread, (struct made_event){"cudaLaunchKernel", 1150, 1160});
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"enumerate(DataLoader)#a.__next__", 1300, 1400});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"stack", 1320, 1340});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"first", 1410, 1500});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"second", 1450, 1520});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    host_activity_init(&activity, &made.trace);
    taken.trace = &made.trace;
    split_host_intervals(&activity,
                         &(struct host_intervals){.pieces = pieces,
                                                  .chosen = chosen,
                                                  .count = 3,
                                                  .base_ns = 1000,
                                                  .track = made.trace.host[0].track},
                         &(struct host_part_visitor){take, &taken});
    check_parts(&taken, expected, sizeof expected / sizeof *expected);
    host_activity_clear(&activity);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_cover_the_stretches)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
