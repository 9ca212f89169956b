/* Small JSON files as a tree. */
#include "base/json/json_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct json_node *parse(struct arena *arena, const char *text, struct error *error)
{
    return json_tree_parse(arena, text, strlen(text), error);
}

static void values_of_every_kind(void **state)
{
    struct arena arena = {0};
    struct error error = {0};
    const struct json_node *root =
        parse(&arena,
              " {\"a\": [1, -2, 3.5, 1e3, true, false, null, \"x\\n\\u00e9\\ud83d\\ude00\\ud800\"],"
              "\"b\": {}, \"c\": [], \"d\": {\"e\": {\"f\": 9223372036854775807}}, \"g\": "
              "99999999999999999999} ",
              &error);
    const struct json_node *item = json_items_of(root, "a");

    assert_non_null(root);
    assert_true(item->is_integer && item->integer == 1);
    item = item->next;
    assert_int_equal(item->integer, -2);
    item = item->next;
    assert_false(item->is_integer);
    assert_string_equal(item->text, "3.5");
    item = item->next->next;
    assert_int_equal(item->kind, JSON_BOOLEAN);
    assert_int_equal(item->integer, 1);
    item = item->next->next->next;
    assert_string_equal(item->text, "x\n\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd");
    assert_null(item->next);
    assert_null(json_member(root, "b")->first);
    assert_null(json_items_of(root, "c"));
    assert_int_equal(json_integer_of(json_member(json_member(root, "d"), "e"), "f", 0), INT64_MAX);
    assert_int_equal(json_integer_of(root, "g", -5), -5); /* does not fit */
    assert_string_equal(json_text_of(root, "nothing", "else"), "else");
    arena_clear(&arena);
}

static void what_python_writes_for_no_number_is_null(void **state)
{
    SCOPED(arena) arena = {0};
    struct error error = {0};
    const struct json_node *item =
        json_items_of(parse(&arena, "{\"a\": [NaN, Infinity, -Infinity, -7]}", &error), "a");

    for (int i = 0; i < 3; i++, item = item->next)
        assert_int_equal(item->kind, JSON_NULL);
    assert_int_equal(item->integer, -7);
}

static void numbers_that_do_not_fit_are_told_from_those_that_do(void **state)
{
    SCOPED(arena) arena = {0};
    struct error error = {0};
    const struct json_node *item =
        json_items_of(parse(&arena,
                            "{\"a\": [-9223372036854775807, -9223372036854775808, "
                            "9223372036854775808, -1e308, -0]}",
                            &error),
                      "a");

    assert_true(item->is_integer);
    assert_true(item->integer == -INT64_MAX);
    for (int i = 0; i < 3; i++) {
        item = item->next;
        assert_false(item->is_integer);
        assert_int_equal(item->integer, 0);
    }
    assert_true(item->next->is_integer);
    assert_int_equal(item->next->integer, 0);
}

static void what_is_no_json_is_refused(void **state)
{
    static const char *const bad[] = {
        "",      "{",      "[1",      "[1,]",        "[1 2]", "{\"a\"}",    "{\"a\":}", "{a:1}",
        "nul",   "\"abc",  "\"\\x\"", "\"\\u12g4\"", "[1]]",  "{\"a\":1,}", "[}",       "-",
        "[tru]", "[-Inf]", "[Nan]",   "\"\\",        "1 2",   NULL};

    for (size_t i = 0; bad[i]; i++) {
        struct arena arena = {0};
        struct error error = {0};

        if (parse(&arena, bad[i], &error))
            print_error("taken: %s\n", bad[i]);
        assert_null(parse(&arena, bad[i], &error));
        assert_int_equal(error.class, ERROR_INPUT);
        arena_clear(&arena);
    }
}

static void deep_nesting_is_refused(void **state)
{
    struct arena arena = {0};
    struct error error = {0};
    char deep[100000];

    memset(deep, '[', sizeof deep);
    assert_null(json_tree_parse(&arena, deep, sizeof deep, &error));
    assert_non_null(strstr(error.message, "less nesting"));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_kind),
        cmocka_unit_test(what_python_writes_for_no_number_is_null),
        cmocka_unit_test(numbers_that_do_not_fit_are_told_from_those_that_do),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(deep_nesting_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
