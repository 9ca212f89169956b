/* Which word was meant. */
#include "base/text/spelling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const words[] = {"report", "inspect", "help", NULL};

static void near_words_are_found(void **state)
{
    assert_string_equal(nearest_word("reprot", words), "report");
    assert_string_equal(nearest_word("repot", words), "report");
    assert_string_equal(nearest_word("insepct", words), "inspect");
    assert_string_equal(nearest_word("hlep", words), "help");
    assert_string_equal(nearest_word("rep", words), "report");
}

static void far_words_are_not(void **state)
{
    assert_null(nearest_word("", words));
    assert_null(nearest_word("x", words));
    assert_null(nearest_word("trace.json", words));
    assert_null(nearest_word("a word that is much longer than any word could ever be here", words));
    assert_null(nearest_word("completion", words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_words_are_found),
        cmocka_unit_test(far_words_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
