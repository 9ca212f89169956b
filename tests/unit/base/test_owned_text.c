/* owned_text: texts and paths of their own. */
#include "base/text/owned_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void it_prints_what_printf_prints(void **state)
{
    char *text = text_format("%s is %d of %05.1f", "x", -7, 2.25);

    assert_string_equal(text, "x is -7 of 002.2");
    free(text);
    text = text_format("%2000s", "");
    assert_int_equal(strlen(text), 2000);
    free(text);
}

static void a_copy_is_its_own(void **state)
{
    char text[] = "abc";
    char *copy = text_copy(text);

    text[0] = 'x';
    assert_string_equal(copy, "abc");
    free(copy);
}

static void paths_are_joined_by_one_slash(void **state)
{
    static const char *const known[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"a/b", "c.d", "a/b/c.d"}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char *path = path_join(known[i][0], known[i][1]);

        assert_string_equal(path, known[i][2]);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_prints_what_printf_prints),
        cmocka_unit_test(a_copy_is_its_own),
        cmocka_unit_test(paths_are_joined_by_one_slash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
