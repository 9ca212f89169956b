/* A file split over threads gives what one thread gives, also where it is full of what only seems
 * to be an event. */
#include "base/core/invariant.h"
#include "readers/torch_profiler/torch_profiler_reading.h"
#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_BYTES = 4 * 1024 * 1024 };

struct text {
    char *bytes;
    size_t length;
    uint32_t seed;
};

static uint32_t random_below(struct text *text, uint32_t limit)
{
    text->seed = text->seed * 1664525 + 1013904223;
    return (text->seed >> 8) % limit;
}

static void append(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text->length += (size_t)vsnprintf(text->bytes + text->length, 1024, format, arguments);
    va_end(arguments);
}

static void append_event(struct text *text, unsigned number)
{
    uint32_t start = random_below(text, 1000000);

    switch (random_below(text, 4)) {
    case 0:
        append(
            text,
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op %u\",\"pid\":1,\"tid\":%u,\"ts\":%u.5,"
            "\"dur\":%u,\"args\":{\"Input Dims\":[[%u, 2]],\"External id\":%u}}",
            random_below(text, 50), random_below(text, 5), start, random_below(text, 99),
            random_below(text, 9), number);
        break;
    case 1:
        append(text,
               "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":%u,"
               "\"ts\":%u,"
               "\"dur\":1,\"args\":{\"correlation\":%u}}",
               random_below(text, 5), start, number);
        break;
    case 2:
        append(text,
               "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%u\",\"pid\":0,\"tid\":7,\"ts\":%u,"
               "\"dur\":3,"
               "\"args\":{\"correlation\":%u,\"stream\":7,\"grid\":[%u,1,1]}}",
               random_below(text, 20), start, number - 1, random_below(text, 9));
        break;
    default:
        append(text, "{\"ph\":\"%c\",\"name\":\"half %u\",\"pid\":1,\"tid\":9,\"ts\":%u}",
               random_below(text, 2) ? 'B' : 'E', random_below(text, 3), start);
    }
}

/* What looks like events, and is none: in a name, in args, behind damage. */
static void append_trap(struct text *text)
{
    switch (random_below(text, 3)) {
    case 0:
        append(
            text,
            "{\"ph\":\"i\",\"name\":\"x\",\"args\":{\"list\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}, "
            "{\"ph\":\"X\",\"ts\":2,\"dur\":2}, {\"name\":\"trap\",\"ts\":3}]},\"ts\":5}");
        break;
    case 1:
        append(text, "{\"ph\":\"X\",\"ts\":7,\"dur\":1,\"name\":\"}, {\\\"ph\\\": },\\n{\"}");
        break;
    default:
        append(text, "{\"ph\":\"X\",\"ts\":8 \"dur\":1,\"args\":{\"a\":[1}}");
    }
}

static struct text make_text(bool has_traps)
{
    struct text text = {.bytes = require_memory(malloc(TEXT_BYTES + 4096)), .seed = 3};

    append(&text, "{\"schemaVersion\":1,\"traceEvents\":[\n");
    for (unsigned i = 0; text.length < TEXT_BYTES; i++) {
        append(&text, i ? ",\n" : "");
        if (has_traps && random_below(&text, 3) > 0)
            append_trap(&text);
        else
            append_event(&text, i);
    }
    append(&text, "],\"deviceProperties\":[{\"id\":0,\"name\":\"g\"}, {\"name\":\"h\",\"id\":1}]}");
    return text;
}

static void check_split(const struct text *text, size_t length)
{
    const unsigned threads[] = {2, 3, 16};
    SCOPED(trace) expected = {0};
    struct error error = {0};

    assert_true(read_text(&expected, text->bytes, length, (struct read_manner){0}, &error));
    assert_true(expected.host_count > 1000);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        SCOPED(trace) trace = {0};

        assert_true(read_text(&trace, text->bytes, length,
                              (struct read_manner){.threads = threads[i]}, &error));
        assert_true(is_same_trace(&trace, &expected));
        assert_int_equal(trace.read.is_truncated, expected.read.is_truncated);
        assert_string_equal(trace.read.truncation, expected.read.truncation);
        assert_memory_equal(trace.read.damages, expected.read.damages, sizeof trace.read.damages);
        assert_int_equal(trace.read.unmatched_begins, expected.read.unmatched_begins);
        assert_int_equal(trace.device_list_count, expected.device_list_count);
        assert_int_equal(trace.read.text_bytes, expected.read.text_bytes);
    }
}

static void pieces_make_the_whole(void **state)
{
    struct text text = make_text(false);

    (void)state;
    check_split(&text, text.length);
    check_split(&text, text.length - 500000); /* cut in the last piece */
    free(text.bytes);
}

static void what_only_seems_to_be_an_event_does_no_harm(void **state)
{
    struct text text = make_text(true);

    (void)state;
    check_split(&text, text.length);
    check_split(&text, text.length - 500001);
    free(text.bytes);
}

static void a_second_array_of_events_is_read_too(void **state)
{
    struct text text = make_text(false);

    (void)state;
    text.length--; /* the last '}' */
    append(&text, ",\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"second\"}]}");
    check_split(&text, text.length);
    free(text.bytes);
}

static void a_large_file_is_split(void **state)
{
    struct text text = make_text(false);
    struct input_stream input = {0};
    struct torch_pieces pieces;
    struct json_slice key;

    (void)state;
    input_stream_open_memory(&input, text.bytes, text.length);
    torch_pieces_init(&pieces, &input, &(struct read_options){.threads = 8});
    assert_int_equal(json_window_peek(&pieces.pieces[0].window), '{');
    pieces.pieces[0].window.at++;
    assert_true(json_window_key(&pieces.pieces[0].window, &key));
    assert_true(json_window_skip(&pieces.pieces[0].window));
    assert_int_equal(json_window_peek(&pieces.pieces[0].window), ',');
    pieces.pieces[0].window.at++;
    assert_true(json_window_key(&pieces.pieces[0].window, &key));
    pieces.pieces[0].window.at++;
    assert_int_equal(torch_pieces_read(&pieces, 8), EVENTS_CLOSED);
    assert_int_equal(pieces.count, 8);
    assert_int_equal(pieces.last, 7);
    for (unsigned i = 0; i < pieces.count; i++)
        assert_true(pieces.pieces[i].is_used);
    torch_pieces_clear(&pieces);
    input_stream_clear(&input);
    free(text.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(what_only_seems_to_be_an_event_does_no_harm),
        cmocka_unit_test(a_second_array_of_events_is_read_too),
        cmocka_unit_test(a_large_file_is_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
