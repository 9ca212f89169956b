/* json_scan: values in any spelling, and never a byte behind the limit. */
#include "base/io/input_stream.h"
#include "base/json/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A text with padding behind it, as a window has. */
static char padded[4096 + INPUT_PADDING];

static struct json_scan scan_of(const char *text)
{
    size_t length = strlen(text);

    memset(padded, 0, sizeof padded);
    memcpy(padded, text, length);
    return (struct json_scan){.limit = padded + length};
}

/* The length of the value, 0 where it is malformed, -1 where the text ends too early. */
static int value_length(const char *text)
{
    struct json_scan scan = scan_of(text);
    struct json_slice slice;
    const char *end = scan_value(&scan, padded, &slice);

    if (end)
        return (int)(end - padded);
    return scan_is_incomplete(&scan) ? -1 : 0;
}

static void values_end_where_they_end(void **state)
{
    assert_int_equal(value_length("\"ab\",1"), 4);
    assert_int_equal(value_length("\"a\\\"b\"]"), 6);
    assert_int_equal(value_length("\"0123456789abcdef0123456789abcdef\","), 34);
    assert_int_equal(value_length("12.5e3}"), 6);
    assert_int_equal(value_length("N/A,"), 3);
    assert_int_equal(value_length("-Infinity]"), 9);
    assert_int_equal(value_length("[1,[\"]\"],{\"a\":{}}] "), 18);
    assert_int_equal(value_length("{\"}\":\"\\\"}\"}x"), 11);
}

static void malformed_values_are_no_values(void **state)
{
    assert_int_equal(value_length(",1"), 0);
    assert_int_equal(value_length("\"a\\x41bcdefgh\""), 0); /* JSON has no \x */
    assert_int_equal(value_length("}"), 0);
}

static void a_text_that_ends_too_early_is_incomplete(void **state)
{
    const char *text = "{\"a\": [1, \"b\\u00e9\", {\"c\": null}]}";

    for (size_t length = 0; length < strlen(text); length++) {
        char start[64];

        (void)snprintf(start, sizeof start, "%.*s", (int)length, text);
        assert_int_equal(value_length(start), -1);
    }
    assert_int_equal(value_length(text), strlen(text));
    assert_int_equal(value_length("12"), -1); /* more digits may come */
}

static int64_t time_of(const char *text)
{
    struct json_slice slice = {.text = text, .length = (uint32_t)strlen(text)};
    int64_t time = -77;

    return slice_nanoseconds(&slice, &time) ? time : -77;
}

static void times_keep_every_digit(void **state)
{
    assert_int_equal(time_of("1711964646123456.789"), 1711964646123456789);
    assert_int_equal(time_of("0.001"), 1);
    assert_int_equal(time_of("0.0005"), 1); /* half up */
    assert_int_equal(time_of("0.00049999"), 0);
    assert_int_equal(time_of("2.0015"), 2002);
    assert_int_equal(time_of("-1.5"), -1500);
    assert_int_equal(time_of("1.5e3"), 1500000);
    assert_int_equal(time_of("15E-1"), 1500);
    assert_int_equal(time_of("9223372036854775.807"), INT64_MAX);
    assert_int_equal(time_of("9223372036854775.808"), -77);
    assert_int_equal(time_of("1e400000000000000000000"), -77);
    assert_int_equal(time_of("0e99999"), 0);
    assert_int_equal(time_of("1e-99999"), 0);
    assert_int_equal(time_of("N/A"), -77);
    assert_int_equal(time_of("1x"), -77);
    assert_int_equal(time_of(""), -77);
    assert_int_equal(time_of("-"), -77);
}

static void digits_in_words_are_those_one_by_one(void **state)
{
    char text[64];

    for (int digits = 1; digits <= 16; digits++) {
        uint64_t number = 9876543210123456u;
        uint64_t value;
        unsigned count;
        const char *end;

        for (int i = digits; i < 16; i++)
            number /= 10;
        (void)snprintf(text, sizeof text, "%llu,                      ",
                       (unsigned long long)number);
        end = scan_digits(text, &value, &count);
        assert_int_equal(count, digits);
        assert_int_equal(value, number);
        assert_int_equal(end - text, digits);
    }
    for (unsigned c = 1; c < 256; c++) {
        uint64_t value;
        unsigned count;

        memset(text, '7', sizeof text);
        text[3] = (char)c;
        scan_digits(text, &value, &count);
        assert_int_equal(count, c >= '0' && c <= '9' ? 16 : 3);
    }
}

static void integers_keep_all_bits(void **state)
{
    struct json_slice slice = {.text = "18446744073709551615", .length = 20};
    int64_t value;

    assert_true(slice_integer(&slice, &value));
    assert_int_equal(value, -1); /* the same 64 bits */
    slice = (struct json_slice){.text = "-9223372036854775808", .length = 20};
    assert_true(slice_integer(&slice, &value));
    assert_true(value == INT64_MIN);
    slice = (struct json_slice){.text = "36893488147419103232", .length = 20};
    assert_false(slice_integer(&slice, &value));
}

static void check_unescaped(const char *text, const char *expected)
{
    struct json_slice slice = {.text = text, .length = (uint32_t)strlen(text), .is_string = true};
    char plain[64] = "";

    plain[slice_unescape(&slice, plain)] = '\0';
    assert_string_equal(plain, expected);
}

static void escapes_become_what_they_stand_for(void **state)
{
    check_unescaped("a\\n\\t\\\"\\\\\\/", "a\n\t\"\\/");
    check_unescaped("\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac");
    check_unescaped("\\ud83d\\ude00", "\xf0\x9f\x98\x80");
    check_unescaped("\\ud83dx", "\xef\xbf\xbdx"); /* half a pair */
    check_unescaped("\\", "\\");
}

static void white_space_of_any_length_is_skipped(void **state)
{
    char text[200];

    for (size_t length = 0; length < 100; length++) {
        memset(text, 0, sizeof text);
        memset(text, length % 2 ? '\n' : ' ', length);
        text[length] = 'x';
        assert_ptr_equal(scan_space(text), text + length);
        text[length] = '\0'; /* the padding ends it, too */
        assert_ptr_equal(scan_space(text), text + length);
    }
}

static const char *tolerant_string(const char *text)
{
    static char found[128];
    struct json_scan scan = scan_of(text);
    struct json_slice slice;

    scan.is_tolerant = true;
    if (!scan_value(&scan, padded, &slice))
        return scan_is_incomplete(&scan) ? "incomplete" : "malformed";
    (void)snprintf(found, sizeof found, "%.*s", (int)slice.length, slice.text);
    return found;
}

/* Where the array at `at` ends, letter by letter; NULL where it does not. */
static const char *array_end(const char *at, const char *limit)
{
    int depth = 0;
    bool is_in_string = false;

    for (; at < limit; at++) {
        if (is_in_string && *at == '\\')
            at++;
        else if (*at == '"')
            is_in_string = !is_in_string;
        else if (!is_in_string && (*at == '[' || *at == '{'))
            depth++;
        else if (!is_in_string && (*at == ']' || *at == '}') && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* Quotes, escapes and brackets in every place of the 64 bytes that are looked at together, and over
 * their borders. */
static void nested_values_end_where_their_brackets_do(void **state)
{
    static const char *const pieces[] = {"[",        "{",
                                         "]",        "}",
                                         "\"]}\"",   "\"\"",
                                         "\\\\",     "\"\\\"\"",
                                         "\"\\\\\"", ",",
                                         "1234567",  "\"",
                                         " ",        "\"abcdefghijklmnopqrstuvwxyz[{\""};
    uint32_t seed = 1;
    unsigned ended = 0;

    for (int i = 0; i < 200000; i++) {
        char text[512] = "[";
        struct json_scan scan;
        struct json_slice slice;
        const char *end;

        for (int piece = 0; piece < 30; piece++) {
            seed = seed * 1664525 + 1013904223;
            strcat(text, pieces[(seed >> 8) % (i % 2 ? 5 : sizeof pieces / sizeof *pieces)]);
        }
        scan = scan_of(text);
        end = scan_value(&scan, padded, &slice);
        assert_ptr_equal(end, array_end(padded, scan.limit));
        if (end)
            assert_int_equal(slice.length, end - padded);
        else
            assert_true(scan_is_incomplete(&scan));
        ended += end != NULL;
    }
    assert_in_range(ended, 20000, 180000);
}

static void a_tolerant_string_ends_before_the_next_key(void **state)
{
    assert_string_equal(tolerant_string("\"plain\", \"ts\": 1"), "plain");
    assert_string_equal(tolerant_string("\"foo \"bar\" baz\", \"ts\": 1"), "foo \"bar\" baz");
    assert_string_equal(tolerant_string("\"f(\"a\", \"b\")\", \"ts\": 1"), "f(\"a\", \"b\")");
    assert_string_equal(tolerant_string("\"C:\\dir\\\"}, {"), "C:\\dir\\");
    assert_string_equal(tolerant_string("\"a\"}, "), "a");
    assert_string_equal(tolerant_string("\"a \"b\""), "incomplete");
    assert_string_equal(tolerant_string("\"a }, {\"ph\": \"X\" "), "malformed");
}

static void the_beginning_of_an_event_is_seen(void **state)
{
    const char *const yes[] = {"{\"ph\": 1", "{ \"name\" : 1", "{\n\"ts\":1"};
    const char *const no[] = {"{\"id_\": 1", "{}", "{\"ph\", 1", "[\"ph\": 1", "{\"phase\": 1"};
    const char *const cut[] = {"{", "{\"p", "{\"ph\"", "{\"ph\"  "};

    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        assert_int_equal(json_event_start(padded, scan_of(yes[i]).limit), SIGHT_YES);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        assert_int_equal(json_event_start(padded, scan_of(no[i]).limit), SIGHT_NO);
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++)
        assert_int_equal(json_event_start(padded, scan_of(cut[i]).limit), SIGHT_CUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_end_where_they_end),
        cmocka_unit_test(malformed_values_are_no_values),
        cmocka_unit_test(a_text_that_ends_too_early_is_incomplete),
        cmocka_unit_test(times_keep_every_digit),
        cmocka_unit_test(digits_in_words_are_those_one_by_one),
        cmocka_unit_test(integers_keep_all_bits),
        cmocka_unit_test(escapes_become_what_they_stand_for),
        cmocka_unit_test(white_space_of_any_length_is_skipped),
        cmocka_unit_test(nested_values_end_where_their_brackets_do),
        cmocka_unit_test(a_tolerant_string_ends_before_the_next_key),
        cmocka_unit_test(the_beginning_of_an_event_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
