/* An event that is read by the joints of those before it says what it says letter by letter: in any
 * layout, in the middle of a change of layouts, damaged, and cut. */
#include "base/io/input_padding.h"
#include "readers/torch_profiler/torch_profiler_layout.h"
#include "readers/torch_profiler/torch_profiler_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_MAX = 4096, EVENTS = 60000, MEMBERS_MAX = 12 };

struct writer {
    char text[TEXT_MAX + INPUT_PADDING];
    size_t length;
    uint64_t seed;
    unsigned threads; /* different ones that events are of */
};

static unsigned below(struct writer *writer, unsigned limit)
{
    writer->seed = writer->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(writer->seed >> 33) % limit;
}

static void append(struct writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct writer *writer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    writer->length += (size_t)vsnprintf(writer->text + writer->length, TEXT_MAX - writer->length,
                                        format, arguments);
    va_end(arguments);
}

static const char *one_of(struct writer *writer, const char *const *texts, unsigned count)
{
    return texts[below(writer, count)];
}

#define ONE_OF(writer, ...)                            \
    one_of(writer, (const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void append_args(struct writer *writer, const char *space)
{
    unsigned members = below(writer, 5);
    const char *comma = "";

    if (below(writer, 12) == 0) {
        append(writer, "%s", ONE_OF(writer, "null", "[1, {}]", "\"none\"", "7", "{}"));
        return;
    }
    append(writer, "{%s", space);
    for (unsigned i = 0; i < members; i++) {
        append(writer, "%s", comma);
        switch (below(writer, 6)) {
        case 0:
            append(writer, "\"External id\": %u", below(writer, 100000));
            break;
        case 1:
            append(writer, "\"correlation\":%s",
                   ONE_OF(writer, "3", "-1", "\"x\"", "1e3", "77", "1234567", "12345678",
                          "123456789", "123456789012345", "1234567890123456", "12345678901234567",
                          "00000000000000000007"));
            break;
        case 2:
            append(writer, "\"grid\": [%u, 1%s, 1]", below(writer, 9), space);
            break;
        case 3:
            append(writer, "\"Ev Idx\": %u", below(writer, 99));
            break;
        case 4:
            append(writer, "\"Input Dims\": [[%u, 2], [], \"]}\"]", below(writer, 9));
            break;
        default:
            append(writer, "\"est. achieved occupancy %%\": %u.%u", below(writer, 99),
                   below(writer, 99));
        }
        comma = space[0] ? ", " : ",";
    }
    append(writer, "%s}", space);
}

static void append_member(struct writer *writer, unsigned member, const char *space)
{
    switch (member) {
    case 0:
        append(writer, "\"ph\": %s",
               ONE_OF(writer, "\"X\"", "\"X\"", "\"X\"", "\"s\"", "\"M\"", "\"\\u0058\"", "7"));
        break;
    case 1:
        append(writer, "\"cat\":%s\"%s\"", space,
               ONE_OF(writer, "cpu_op", "kernel", "cuda\\u005fruntime", ""));
        break;
    case 2:
        append(writer, "\"name\": \"%s%u\"", ONE_OF(writer, "aten::mm", "a\\\"b", "", "void f<>("),
               below(writer, 30));
        break;
    case 3:
        append(writer, "\"pid\": %s", ONE_OF(writer, "1", "\"CPU 0\"", "123456789012", "-1"));
        break;
    case 4:
        append(writer, "\"tid\": %u", below(writer, writer->threads));
        break;
    case 5:
        append(writer, "\"ts\": %u%s", below(writer, 1000000), ONE_OF(writer, "", ".5", ".1234"));
        break;
    case 6:
        append(writer, "\"dur\":%s%u", space, below(writer, 1000));
        break;
    case 7:
        append(writer, "\"args\": ");
        append_args(writer, space);
        break;
    case 8:
        append(writer, "\"id\": %u", below(writer, 1000));
        break;
    default:
        append(writer, "\"other\": %s",
               ONE_OF(writer, "{\"a\": [1, \"}\"]}", "0.5", "true", "\"e\"", "\"t\"", "\"\"",
                      "\"\\n\"", "\"long\""));
    }
}

/* Mostly the keys in their usual order, each once. */
static void write_event(struct writer *writer)
{
    const char *space =
        ONE_OF(writer, "", "", "\n      ", " ", "          \n           \n         ");
    unsigned members = below(writer, 8) ? 8 : below(writer, MEMBERS_MAX);
    bool is_usual = below(writer, 4) > 0;
    const char *comma = "";

    writer->length = 0;
    append(writer, "%s{%s", space, space); /* as it stands behind the comma before it */
    for (unsigned i = 0; i < members; i++) {
        append(writer, "%s%s", comma, i ? space : "");
        append_member(writer, is_usual && below(writer, 9) ? i : below(writer, 10), space);
        comma = ",";
    }
    append(writer, "%s}", space);
}

static void damage(struct writer *writer)
{
    static const char bytes[] = "\"\\{}[],: 0.-\x01\xff";
    size_t at = below(writer, (unsigned)writer->length);

    switch (below(writer, 4)) {
    case 0:
        writer->text[at] = bytes[below(writer, sizeof bytes)];
        break;
    case 1:
        writer->length = at;
        break;
    case 2:
        memmove(writer->text + at, writer->text + at + 1, writer->length - at - 1);
        writer->length--;
        break;
    default:
        memmove(writer->text + at + 1, writer->text + at, writer->length - at);
        writer->length++;
    }
}

static bool is_same_text(const struct json_slice *a, const struct json_slice *b)
{
    return a->length == b->length && a->is_string == b->is_string &&
           a->has_escapes == b->has_escapes && memcmp(a->text, b->text, a->length) == 0;
}

static void check_args(const struct torch_event *a, const struct torch_event *b)
{
    assert_int_equal(a->has_args, b->has_args);
    for (unsigned arg = 0; arg < ARG_COUNT; arg++) {
        if (!(a->has_args >> arg & 1))
            continue;
        if (arg < ARG_OCCUPANCY)
            assert_true(a->numbers[arg] == b->numbers[arg]);
        else if (arg < ARG_GRID)
            assert_memory_equal(&a->fractions[arg - ARG_OCCUPANCY],
                                &b->fractions[arg - ARG_OCCUPANCY], sizeof(float));
        else if (arg < ARG_INPUT_DIMS)
            assert_memory_equal(a->triples[arg - ARG_GRID], b->triples[arg - ARG_GRID],
                                sizeof a->triples[0]);
        else
            assert_true(
                is_same_text(&a->texts[arg - ARG_INPUT_DIMS], &b->texts[arg - ARG_INPUT_DIMS]));
    }
}

static void check_event(const struct torch_event *a, const struct torch_event *b)
{
    assert_int_equal(a->has, b->has);
    assert_int_equal(a->args.length, b->args.length);
    if (a->args.length)
        assert_ptr_equal(a->args.text, b->args.text);
    if (a->has & HAS_PHASE)
        assert_int_equal(a->phase, b->phase);
    if (a->has & HAS_START)
        assert_true(a->start_ns == b->start_ns);
    if (a->has & HAS_DURATION)
        assert_true(a->duration_ns == b->duration_ns);
    assert_true(!(a->has & HAS_CATEGORY) || is_same_text(&a->category, &b->category));
    assert_true(!(a->has & HAS_NAME) || is_same_text(&a->name, &b->name));
    assert_true(!(a->has & HAS_PID) || is_same_text(&a->pid, &b->pid));
    assert_true(!(a->has & HAS_TID) || is_same_text(&a->tid, &b->tid));
    assert_true(!(a->has & HAS_ID) || is_same_text(&a->id, &b->id));
    check_args(a, b);
}

/* What is known tells the same of an event, whatever the processor has. */
static void check_known(const struct json_scan *scan, const char *text,
                        struct event_layouts *layouts)
{
    struct json_scan here = *scan;
    struct json_scan anywhere = *scan;
    struct torch_event chosen, portable;
    const char *end = torch_event_scan_known(&here, text, &chosen, layouts);

    assert_ptr_equal(torch_event_scan_known_portable(&anywhere, text, &portable, layouts), end);
    if (end)
        check_event(&chosen, &portable);
}

/* Reads the text in both ways; true where it is an event. */
static bool check_text(struct writer *writer, struct event_layouts *layouts)
{
    struct json_scan scan = {.limit = writer->text + writer->length};
    struct json_scan alike = scan;
    struct torch_event letters, joints;
    const char *end, *same_end;

    memset(writer->text + writer->length, 0, INPUT_PADDING);
    end = torch_event_scan(&scan, scan_space(writer->text), &letters);
    check_known(&scan, writer->text, layouts);
    same_end = torch_event_scan_alike(&alike, writer->text, &joints, layouts);
    assert_ptr_equal(end, same_end);
    if (end) {
        check_event(&letters, &joints);
        return true;
    }
    assert_ptr_equal(scan.failed_at, alike.failed_at);
    assert_string_equal(scan.expected, alike.expected);
    return false;
}

static void check_events(unsigned threads, bool is_damaged)
{
    static struct writer writer;
    struct event_layouts layouts = {0};
    unsigned read = 0;

    writer.seed = threads;
    writer.threads = threads;
    for (unsigned i = 0; i < EVENTS; i++) {
        write_event(&writer);
        if (is_damaged && below(&writer, 2))
            damage(&writer);
        read += check_text(&writer, &layouts);
    }
    assert_true(read > EVENTS / 3);
    assert_in_range(layouts.count, 2, LAYOUT_JOINTS_MAX);
    event_layouts_clear(&layouts);
}

static void joints_say_what_letters_say(void **state)
{
    (void)state;
    check_events(3, false);
    check_events(3000, false);
}

static void damage_is_where_it_is(void **state)
{
    (void)state;
    check_events(4, true);
}

static void a_comma_too_many_is_damage(void **state)
{
    static const char *const texts[] = {"{\"ph\": \"X\", }", "{\"args\": {\"a\": 1,}}", "{,}"};
    static struct writer writer;
    struct event_layouts layouts = {0};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        writer.length = 0;
        append(&writer, "%s", texts[i]);
        assert_false(check_text(&writer, &layouts));
    }
    event_layouts_clear(&layouts);
}

static void events_that_are_alike_are_learned_once(void **state)
{
    static struct writer writer;
    struct event_layouts layouts = {0};
    uint32_t known = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        writer.length = 0;
        append(&writer,
               "{\n \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"n%u\", \"pid\": 7,\n \"tid\": "
               "%u, \"ts\": %u,\n \"dur\": %u, \"args\": {\n  \"External id\": %u\n }\n}",
               i, i % 2, i, i % 7, i);
        assert_true(check_text(&writer, &layouts));
        if (i == 1)
            known = layouts.count;
    }
    assert_int_equal(layouts.count, known);
    assert_int_equal(layouts.misses, 0);
    event_layouts_clear(&layouts);
}

/* More threads than joints can hold: they are no part of them any more, and events are read by
 * joints again. */
static void many_threads_leave_plain_joints(void **state)
{
    static struct writer writer;
    struct event_layouts layouts = {0};

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        writer.length = 0;
        append(&writer,
               "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":7,\"tid\":%u,"
               "\"ts\":%u,\"dur\":1}",
               i * 31 % 5003, i);
        assert_true(check_text(&writer, &layouts));
    }
    assert_true(layouts.is_plain);
    assert_in_range(layouts.count, 2, 20);
    assert_int_equal(layouts.misses, 0);
    event_layouts_clear(&layouts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_say_what_letters_say),
        cmocka_unit_test(damage_is_where_it_is),
        cmocka_unit_test(a_comma_too_many_is_damage),
        cmocka_unit_test(events_that_are_alike_are_learned_once),
        cmocka_unit_test(many_threads_leave_plain_joints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
