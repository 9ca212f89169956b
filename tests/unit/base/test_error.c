/* Errors: set once, told where, never overflowing. */
#include "base/core/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_message_is_set_and_placed(void **state)
{
    struct error error = {0};

    assert_false(error_set(&error, ERROR_INPUT, "byte %d: string does not end", 812));
    assert_int_equal(error.class, ERROR_INPUT);
    assert_string_equal(error.message, "byte 812: string does not end");
    assert_false(error_in(&error, "'%s'", "r0.json"));
    assert_int_equal(error.class, ERROR_INPUT);
    assert_string_equal(error.message, "'r0.json': byte 812: string does not end");
}

static void a_message_that_is_too_long_is_cut(void **state)
{
    struct error error = {0};
    char text[3 * sizeof error.message];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set(&error, ERROR_FAILURE, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    error_in(&error, "where");
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_memory_equal(error.message, "where: xxx", 10);
    error_in(&error, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
}

static void no_error_is_wanted(void **state)
{
    assert_false(error_set(NULL, ERROR_USAGE, "nobody hears"));
    assert_false(error_in(NULL, "nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_set_and_placed),
        cmocka_unit_test(a_message_that_is_too_long_is_cut),
        cmocka_unit_test(no_error_is_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
