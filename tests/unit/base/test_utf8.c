/* Characters of text that may hold anything. */
#include "base/text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_character(const char *text, uint32_t code, size_t length)
{
    struct utf8_character c = utf8_decode(text, strlen(text));

    assert_true(c.is_valid);
    assert_int_equal(c.code, code);
    assert_int_equal(c.length, length);
}

static void assert_invalid(const char *text, size_t length)
{
    struct utf8_character c = utf8_decode(text, length);

    assert_false(c.is_valid);
    assert_int_equal(c.length, 1);
}

static void characters_are_decoded(void **state)
{
    assert_character("a", 'a', 1);
    assert_character("\xC3\xA9", 0xE9, 2);
    assert_character("\xE2\x82\xAC", 0x20AC, 3);
    assert_character("\xF0\x9F\x98\x80", 0x1F600, 4);
    assert_character("\xF4\x8F\xBF\xBF", 0x10FFFF, 4);
}

static void what_is_not_utf8_is_told(void **state)
{
    assert_invalid("\x80", 1);
    assert_invalid("\xC0\xAF", 2);         /* overlong */
    assert_invalid("\xE0\x80\xAF", 3);     /* overlong */
    assert_invalid("\xF0\x80\x80\xAF", 4); /* overlong */
    assert_invalid("\xED\xA0\x80", 3);     /* a surrogate */
    assert_invalid("\xF4\x90\x80\x80", 4); /* past the last code */
    assert_invalid("\xFF", 1);
    assert_invalid("\xE2\x82", 2);     /* ends in the middle */
    assert_invalid("\xE2\x82\xAC", 2); /* the rest is not ours to read */
    assert_invalid("\xC3(", 2);
}

static void columns_are_those_of_a_terminal(void **state)
{
    assert_int_equal(utf8_columns('a'), 1);
    assert_int_equal(utf8_columns(0xE9), 1);
    assert_int_equal(utf8_columns(0x301), 0);
    assert_int_equal(utf8_columns(0x4E2D), 2);
    assert_int_equal(utf8_columns(0x1F600), 2);
    assert_int_equal(utf8_columns(0x2588), 1);
}

static void what_is_not_utf8_is_replaced(void **state)
{
    struct arena arena = {0};
    const char *good = "caf\xC3\xA9\n";

    assert_ptr_equal(utf8_repaired(&arena, good), good);
    assert_string_equal(utf8_repaired(&arena, ""), "");
    assert_string_equal(utf8_repaired(&arena, "a\xFF\xC3"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_string_equal(utf8_repaired(&arena, "\xC3\xA9\x80z"), "\xC3\xA9\xEF\xBF\xBDz");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_decoded),
        cmocka_unit_test(what_is_not_utf8_is_told),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(columns_are_those_of_a_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
