/* Running text in lines. */
#include "base/text/text_wrap.h"
#include "support_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_wrapped(const char *text, struct text_margins margins, const char *expected)
{
    struct captured_output output = {0};

    capture_begin(&output);
    write_wrapped(output.stream, text, margins);
    assert_string_equal(capture_end(&output), expected);
    captured_output_clear(&output);
}

static void lines_break_between_words(void **state)
{
    assert_wrapped("one two three", (struct text_margins){.width = 7}, "one two\nthree\n");
    assert_wrapped("one two three", (struct text_margins){.width = 80}, "one two three\n");
    assert_wrapped("one two", (struct text_margins){.column = 4, .indent = 2, .width = 8},
                   "one\n  two\n");
    assert_wrapped("", (struct text_margins){.width = 8}, "\n");
    assert_wrapped("one   two ", (struct text_margins){.width = 80}, "one two\n");
}

static void a_long_word_stays_whole(void **state)
{
    assert_wrapped("a /a/very/long/path b", (struct text_margins){.width = 6},
                   "a\n/a/very/long/path\nb\n");
}

static void newlines_and_their_indent_are_kept(void **state)
{
    assert_wrapped("one\n    two\n\nthree",
                   (struct text_margins){.column = 2, .indent = 2, .width = 40},
                   "one\n      two\n\n  three\n");
}

static void wide_characters_count_twice(void **state)
{
    assert_wrapped("\xE4\xB8\xAD\xE6\x96\x87 ab", (struct text_margins){.width = 7},
                   "\xE4\xB8\xAD\xE6\x96\x87 ab\n");
    assert_wrapped("\xE4\xB8\xAD\xE6\x96\x87 ab", (struct text_margins){.width = 6},
                   "\xE4\xB8\xAD\xE6\x96\x87\nab\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_break_between_words),
        cmocka_unit_test(a_long_word_stays_whole),
        cmocka_unit_test(newlines_and_their_indent_are_kept),
        cmocka_unit_test(wide_characters_count_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
