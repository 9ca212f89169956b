/* The rules of --on. */
#include "live/run/run_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool accepts(const char *text)
{
    const char *kept = NULL;
    bool is_accepted = parse_trigger_rules(text, &kept);

    assert_true(is_accepted ? kept == text : kept == NULL);
    return is_accepted;
}

static void what_is_documented_is_taken(void **state)
{
    assert_true(accepts("step_time>1.5*median"));
    assert_true(accepts("step_time > 2s"));
    assert_true(accepts("step_time>800ms"));
    assert_true(accepts("mfu<0.8*median, memory_growth>20steps,rank_lag>0.5*median"));
    assert_true(accepts("rank_lag>30ms"));
}

static void all_else_is_refused(void **state)
{
    assert_false(accepts(""));
    assert_false(accepts(","));
    assert_false(accepts("step_time>1.5*median,"));
    assert_false(accepts("step_time<1.5*median")); /* a fast step is none to look at */
    assert_false(accepts("step_time>1.5"));        /* of what? */
    assert_false(accepts("step_time>*median"));
    assert_false(accepts("step_time>1.*median"));
    assert_false(accepts("step_time>-1*median"));
    assert_false(accepts("step_time>1.5*mean"));
    assert_false(accepts("step_time>1.5*medians"));
    assert_false(accepts("mfu<0.3")); /* its value is not known while a program runs */
    assert_false(accepts("mfu>0.8*median"));
    assert_false(accepts("memory_growth>20"));
    assert_false(accepts("rank_lags>1s"));
    assert_false(accepts("step_time>1000000000000000000000000000000000000000000000000000000000s"));
}

static void bytes_have_units(void **state)
{
    int64_t bytes = 0;

    assert_true(parse_byte_limit("500", &bytes));
    assert_int_equal(bytes, 500);
    assert_true(parse_byte_limit("3M", &bytes));
    assert_int_equal(bytes, 3 << 20);
    assert_true(parse_byte_limit("2T", &bytes));
    assert_int_equal(bytes, INT64_C(2) << 40);
    assert_false(parse_byte_limit("0", &bytes));
    assert_false(parse_byte_limit("-1", &bytes));
    assert_false(parse_byte_limit("1.5G", &bytes));
    assert_false(parse_byte_limit("1GB", &bytes));
    assert_false(parse_byte_limit("9223372036854775807K", &bytes));
    assert_false(parse_byte_limit("99999999999999999999", &bytes));
    assert_false(parse_byte_limit("", &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_documented_is_taken),
        cmocka_unit_test(all_else_is_refused),
        cmocka_unit_test(bytes_have_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
