#include "base/core/attributes.h"
#include "base/pickle/pickle_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void json_becomes_plain_data(void **state)
{
    static const char json[] =
        "{\"a\": [1, -2.5, \"x\\u00e9\", null, true, [], {\"b\": 7}], \"c\": {}}";
    SCOPED(pickle_tree) tree = {0};
    struct error error = {0};
    struct pickle_items items;
    int64_t integer = 0;

    assert_true(pickle_tree_from_json(&tree, json, strlen(json), &error));
    assert_int_equal(pickle_kind(tree.root), PICKLE_DICT);
    items = pickle_items(&tree, pickle_named(&tree, tree.root, "a"));
    assert_int_equal(items.count, 7);
    assert_true(pickle_integer(&tree, items.cells[0], &integer));
    assert_int_equal(integer, 1);
    assert_true(pickle_real(&tree, items.cells[1]) == -2.5);
    assert_string_equal(string_pool_text(&tree.strings, pickle_text_id(items.cells[2])), "xé");
    assert_int_equal(pickle_kind(items.cells[3]), PICKLE_NONE);
    assert_int_equal(pickle_kind(items.cells[4]), PICKLE_BOOLEAN);
    assert_int_equal(pickle_kind(items.cells[5]), PICKLE_LIST);
    assert_true(pickle_integer(&tree, pickle_named(&tree, items.cells[6], "b"), &integer));
    assert_int_equal(integer, 7);
    assert_int_equal(pickle_kind(pickle_named(&tree, tree.root, "c")), PICKLE_DICT);
}

static void what_is_no_json_is_refused(void **state)
{
    SCOPED(pickle_tree) tree = {0};
    struct error error = {0};

    assert_false(pickle_tree_from_json(&tree, "{\"a\": ", 6, &error));
    assert_int_equal(error.class, ERROR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_becomes_plain_data),
        cmocka_unit_test(what_is_no_json_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
