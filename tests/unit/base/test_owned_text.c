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

static void paths_have_names_that_tell_them_apart(void **state)
{
    static const struct {
        const char *paths[4], *names[4];
    } known[] = {
        {{"run/a.json", "run/b.json"}, {"a.json", "b.json"}},
        {{"a/r.json", "b/r.json", "b/s.json"}, {"a/r.json", "b/r.json", "s.json"}},
        {{"/x/1/h/r", "/x/2/h/r", "/y/r"}, {"1/h/r", "2/h/r", "y/r"}},
        {{"/a/r", "r", "b/a/r"}, {"/a/r", "r", "b/a/r"}},
        {{"a//r", "b//r"}, {"a//r", "b//r"}},
        {{"a/r", "a/r", "c/r", "c/s"}, {"a/r", "a/r", "c/r", "s"}},
        {{"-", "", "/"}, {"-", "", "/"}},
        {{"x/a/r"}, {"r"}},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *names[4] = {0};
        size_t count = 0;

        while (count < 4 && known[i].paths[count])
            count++;
        path_names_apart(names, known[i].paths, count);
        for (size_t k = 0; k < count; k++)
            assert_string_equal(names[k], known[i].names[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_prints_what_printf_prints),
        cmocka_unit_test(a_copy_is_its_own),
        cmocka_unit_test(paths_are_joined_by_one_slash),
        cmocka_unit_test(paths_have_names_that_tell_them_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
