/* Timings of a pipeline rank. */
#include "base/io/input_stream.h"
#include "readers/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct reader pipeline_timings_reader;

static bool read_text(struct trace *trace, const char *text, struct error *error)
{
    struct read_options options = {.threads = 1};
    struct input_stream input = {0};
    bool is_read;

    assert_true(pipeline_timings_reader.recognises(text, strlen(text)));
    input_stream_open_memory(&input, text, strlen(text));
    is_read = pipeline_timings_reader.read(trace, &input, &options, error);
    input_stream_clear(&input);
    return is_read;
}

static void passes_become_work_of_steps(void **state)
{
    struct trace trace = {0};
    struct error error = {0};

    (void)state;
    assert_true(read_text(&trace,
                          "{\"7\": {\"total\": 5.5, \"fwd_start\": [0.5], \"fwd_end\": [1.25],"
                          "\"bwd_start\": [2], \"bwd_end\": [4.000001]},"
                          "\"8\": {\"total\": 1, \"fwd_start\": [0], \"fwd_end\": [2]}}",
                          &error));
    assert_int_equal(trace.device_count, 3);
    assert_int_equal(trace.device[0].start_ns, 500000);
    assert_int_equal(trace.device[0].duration_ns, 750000);
    assert_int_equal(trace.device[1].duration_ns, 2000001);
    assert_int_equal(trace.device[2].start_ns, 5500000); /* the iteration after */
    assert_int_equal(trace.host_count, 2);
    assert_string_equal(trace_text(&trace, trace.host[0].name), "iteration 7");
    assert_int_equal(trace.host[1].duration_ns, 2000000); /* as long as what it holds */
    assert_int_equal(trace.read.damaged_events, 0);
    trace_clear(&trace);
}

static void what_is_no_pass_is_counted(void **state)
{
    struct trace trace = {0};
    struct error error = {0};

    (void)state;
    assert_true(read_text(
        &trace, "{\"1\": {\"fwd_start\": [3, 1, \"x\", 9], \"fwd_end\": [2, 2, 4]}}", &error));
    assert_int_equal(trace.device_count, 1);
    assert_int_equal(trace.read.damaged_events, 3); /* ends before it starts, no number, no end */
    trace_clear(&trace);
}

static void other_json_is_refused(void **state)
{
    static const char torch[] = "{\"traceEvents\": [], \"fwd_start\": 1, \"fwd_end\": 2}";
    struct trace trace = {0};
    struct error error = {0};

    (void)state;
    assert_false(pipeline_timings_reader.recognises(torch, sizeof torch - 1));
    assert_false(pipeline_timings_reader.recognises("{}", 2));
    assert_false(read_text(&trace, "{\"fwd_start\": 1, \"fwd_end\": 2}", &error));
    assert_non_null(strstr(error.message, "no iteration"));
    assert_false(read_text(&trace, "{\"1\": {\"fwd_start\": [1], \"fwd_end\": [2]", &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_become_work_of_steps),
        cmocka_unit_test(what_is_no_pass_is_counted),
        cmocka_unit_test(other_json_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
