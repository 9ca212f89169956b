/* The [memory] events of a trace. */
#include "base/core/attributes.h"
#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "{\"traceEvents\": ["
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 2, "
    "\"ts\": 1, \"dur\": 9},"
    "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", "
    "\"pid\": 1, \"tid\": 2, \"ts\": 4.5, \"args\": {\"Total Reserved\": 0, \"Total Allocated\": "
    "100, \"Bytes\": 100, \"Device Id\": -1, \"Device Type\": 0, \"Addr\": 94603226724416}},"
    "{\"args\": {\"Bytes\": -100, \"Addr\": 94603226724416, \"Device Type\": 0, \"Device Id\": -1},"
    " \"name\": \"[memory]\", \"ts\": 3, \"ph\": \"i\", \"pid\": 1, \"tid\": 2},"
    "{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 9, \"ts\": 7, \"args\": "
    "{\"Total Reserved\": 4096, \"Total Allocated\": 512, \"Bytes\": 512, \"Device Id\": 1, "
    "\"Device Type\": 1, \"Addr\": 7}},"
    "{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 2, \"ts\": 8, \"args\": "
    "{\"Bytes\": \"x\", \"Addr\": 7}},"
    "{\"ph\": \"i\", \"name\": \"other\", \"pid\": 1, \"tid\": 2, \"ts\": 8, \"args\": "
    "{\"Bytes\": 1, \"Addr\": 7}}]}";

static void read(struct trace *trace, bool keeps_memory)
{
    struct error error = {0};

    assert_true(read_text(trace, text, strlen(text),
                          (struct read_manner){.keeps_memory = keeps_memory}, &error));
}

static void events_are_read_in_any_order(void **state)
{
    SCOPED(trace) trace = {0};
    const struct memory_event *events;

    (void)state;
    read(&trace, true);
    assert_int_equal(trace.memory.count, 3);
    events = trace.memory.events;
    assert_int_equal(events[0].time_ns, 3000);
    assert_int_equal(events[0].bytes, -100);
    assert_int_equal(events[0].allocated_bytes, -1);
    assert_int_equal(events[1].time_ns, 4500);
    assert_int_equal(events[1].bytes, 100);
    assert_int_equal(events[1].address, 94603226724416);
    assert_int_equal(events[1].device, HOST_MEMORY);
    assert_int_equal(events[1].reserved_bytes, -1);
    assert_int_equal(events[2].device, 1);
    assert_int_equal(events[2].reserved_bytes, 4096);
    assert_string_equal(trace_text(&trace, trace.tracks[events[1].track].thread), "2");
    assert_string_equal(trace_text(&trace, trace.tracks[events[2].track].thread), "9");
}

static void none_is_kept_where_none_is_asked_for(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read(&trace, false);
    assert_int_equal(trace.memory.count, 0);
    assert_int_equal(trace.track_count, 1);
}

/* A file that several threads read, each a piece of it. */
static void pieces_make_one_list(void **state)
{
    enum { EVENTS = 20000 };
    size_t size = EVENTS * 160 + 64;
    char *long_text = malloc(size);
    size_t used = (size_t)snprintf(long_text, size, "{\"traceEvents\": [");
    SCOPED(trace) trace = {0};
    struct error error = {0};

    (void)state;
    for (int i = 0; i < EVENTS; i++)
        used += (size_t)snprintf(long_text + used, size - used,
                                 "%s{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": "
                                 "%d, \"ts\": %d, \"args\": {\"Bytes\": 8, \"Addr\": %d}}",
                                 i ? ", " : "", i % 5, i, i + 1);
    (void)snprintf(long_text + used, size - used, "]}");
    assert_true(read_text(&trace, long_text, strlen(long_text),
                          (struct read_manner){.threads = 4, .keeps_memory = true}, &error));
    assert_int_equal(trace.memory.count, EVENTS);
    for (int i = 0; i < EVENTS; i++) {
        char thread[8];

        (void)snprintf(thread, sizeof thread, "%d", i % 5);
        assert_int_equal(trace.memory.events[i].address, i + 1);
        assert_string_equal(trace_text(&trace, trace.tracks[trace.memory.events[i].track].thread),
                            thread);
    }
    free(long_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_read_in_any_order),
        cmocka_unit_test(none_is_kept_where_none_is_asked_for),
        cmocka_unit_test(pieces_make_one_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
