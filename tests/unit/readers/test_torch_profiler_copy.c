/* The text of a trace is handed out as it stands. */
#include "readers/torch_profiler/torch_profiler_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What was handed out, one piece a line. */
struct taken {
    char text[4096];
    size_t length;
};

static void read_member(void *context, const char *key, const char *value)
{
    struct taken *taken = context;

    taken->length += (size_t)snprintf(taken->text + taken->length,
                                      sizeof taken->text - taken->length, "%s=%s\n", key, value);
}

static void parse_event(void *context, const char *text, size_t length)
{
    struct taken *taken = context;

    taken->length +=
        (size_t)snprintf(taken->text + taken->length, sizeof taken->text - taken->length, "%.*s\n",
                         (int)length, text);
}

static bool copy(const char *text, struct taken *taken, struct trace_text_loss *loss)
{
    char path[] = "/tmp/flopledger-copy-XXXXXX";
    const struct trace_text_sink sink = {taken, read_member, parse_event};
    struct error error = {0};
    int file = mkstemp(path);
    bool is_copied;

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    *taken = (struct taken){.length = 0};
    is_copied = copy_trace_text(path, &sink, loss, &error);
    unlink(path);
    return is_copied;
}

static void pieces_come_as_they_stand(void **state)
{
    struct taken taken;
    struct trace_text_loss loss;

    (void)state;
    assert_true(copy("{\"a\": 1, \"traceEvents\": [ {\"ph\": \"X\", \"args\":{\"n\": [1, 2]}} ,\n"
                     "{ \"ph\":\"M\" }], \"b\": \"x\\ny\", \"c\": {\"d\": null}}",
                     &taken, &loss));
    assert_string_equal(taken.text, "a=1\n{\"ph\": \"X\", \"args\":{\"n\": [1, 2]}}\n"
                                    "{ \"ph\":\"M\" }\nb=\"x\\ny\"\nc={\"d\": null}\n");
    assert_int_equal(loss.damaged_events, 0);
    assert_false(loss.is_cut);
    assert_true(copy("[{\"ph\": \"i\"}]", &taken, &loss));
    assert_string_equal(taken.text, "{\"ph\": \"i\"}\n");
}

static void what_is_lost_is_told(void **state)
{
    struct taken taken;
    struct trace_text_loss loss;

    (void)state;
    assert_true(copy("{\"traceEvents\": [{\"ph\": \"X\"}, {\"ph\": }, {\"ph\": \"i\"}, {\"ph",
                     &taken, &loss));
    assert_string_equal(taken.text, "{\"ph\": \"X\"}\n{\"ph\": \"i\"}\n");
    assert_int_equal(loss.damaged_events, 1);
    assert_true(loss.is_cut);
    assert_false(copy("{\"a\": 1}", &taken, &loss));
}

static void count_member(void *context, const struct event_member *member)
{
    struct taken *taken = context;

    taken->length += (size_t)snprintf(
        taken->text + taken->length, sizeof taken->text - taken->length, "%.*s=%.*s;",
        (int)member->key_length, member->key, (int)member->value_length, member->value);
}

static void members_of_an_event_are_found(void **state)
{
    char text[256] = "{\"pid\": 7 , \"s\":\"a\\\"b\",\"o\": {\"x\": [1,2]}}";
    struct taken taken = {.length = 0};

    (void)state;
    assert_true(walk_event_members(text, strlen(text), count_member, &taken));
    assert_string_equal(taken.text, "pid=7;s=\"a\\\"b\";o={\"x\": [1,2]};");
    strcpy(text, "{}");
    taken = (struct taken){.length = 0};
    assert_true(walk_event_members(text, 2, count_member, &taken));
    assert_int_equal(taken.length, 0);
    strcpy(text, "{\"a\" 1}");
    assert_false(walk_event_members(text, strlen(text), count_member, &taken));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_as_they_stand),
        cmocka_unit_test(what_is_lost_is_told),
        cmocka_unit_test(members_of_an_event_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
