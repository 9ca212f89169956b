/* Log formats that the user describes. */
#include "readers/logs/log_pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void named_groups_are_found(void **state)
{
    struct log_pattern pattern = {0};
    struct error error = {0};

    (void)state;
    assert_true(log_pattern_compile(
        &pattern, "^(?:a|b) [(\\d]+(x)? (?P<step>\\d+) of (?<last_step>[0-9]+)$", &error));
    assert_int_equal(pattern.group_of[GROUP_STEP], 3);
    assert_int_equal(pattern.group_of[GROUP_LAST_STEP], 4);
    assert_int_equal(pattern.group_of[GROUP_LOSS], 0);
    assert_int_equal(regexec(&pattern.expression, "b (12x 7 of 10", 0, NULL, 0), 0);
    assert_int_not_equal(regexec(&pattern.expression, "c (12 7 of 10", 0, NULL, 0), 0);
    log_pattern_clear(&pattern);
}

static void bad_patterns_are_refused(void **state)
{
    static const struct {
        const char *pattern;
        const char *says;
    } bad[] = {
        {"no group", "no group tells the step's number"},
        {"(?P<stop>1)", "a group is called 'stop'"},
        {"(?P<step", "no end"},
        {"(?P<step>1)(?P<step>1)", "twice"},
        {"(?=x)(?P<step>1)", "look-ahead"},
        {"a*?(?P<step>1)", "greedy"},
        {"((?P<step>1)", "not a regular expression"},
        {"(?P<step>1)\\", "backslash"},
    };
    struct log_pattern pattern = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error error = {0};

        assert_false(log_pattern_compile(&pattern, bad[i].pattern, &error));
        assert_int_equal(error.class, ERROR_USAGE);
        if (!strstr(error.message, bad[i].says))
            fail_msg("%s: %s", bad[i].pattern, error.message);
        log_pattern_clear(&pattern);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_groups_are_found),
        cmocka_unit_test(bad_patterns_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
