/* Numbers as DeepSpeed prints them. */
#include "output/reports/deepspeed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* As printed by deepspeed 0.19.8. */
static void numbers(void **state)
{
    assert_string_equal(deepspeed_number(0, "MACs").text, "0 MACs");
    assert_string_equal(deepspeed_number(800, "").text, "800 ");
    assert_string_equal(deepspeed_number(303104, "MACs").text, "303.1 KMACs");
    assert_string_equal(deepspeed_number(610304, "").text, "610.3 K");
    assert_string_equal(deepspeed_number(1447310000000000.0, "").text, "1447.31 T");
    assert_string_equal(deepspeed_number(1080000000, "").text, "1.08 G");
    assert_string_equal(deepspeed_number(0.05636, "s").text, "56.36 ms");
    assert_string_equal(deepspeed_number(0.000772, "s").text, "772 us");
    assert_string_equal(deepspeed_number(1234567.0e12, "").text, "1.23457e+06 T");
}

static void parameters(void **state)
{
    assert_string_equal(deepspeed_parameters(8400000).text, "8.4 M");
    assert_string_equal(deepspeed_parameters(6738415616).text, "6.74 B");
    assert_string_equal(deepspeed_parameters(0).text, "0");
    assert_string_equal(deepspeed_parameters(320).text, "320");
    assert_string_equal(deepspeed_parameters(9610).text, "9.61 K");
}

static void per_cents(void **state)
{
    assert_string_equal(deepspeed_rounded(283.826).text, "283.83");
    assert_string_equal(deepspeed_rounded(11.1).text, "11.1");
    assert_string_equal(deepspeed_rounded(12).text, "12.0");
    assert_string_equal(deepspeed_per_cent(8320, 9610).text, "86.58%");
    assert_string_equal(deepspeed_per_cent(1, 1).text, "100%");
    assert_string_equal(deepspeed_per_cent(0, 0).text, "0%");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(parameters),
        cmocka_unit_test(per_cents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
