/* Real numbers for programs: short, and the same again when they are read. */
#include "base/core/exact_real.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void digits_are_few(void **state)
{
    (void)state;
    assert_string_equal(exact_real(0.1).text, "0.1");
    assert_string_equal(exact_real(-2.0).text, "-2");
    assert_string_equal(exact_real(1e300).text, "1e+300");
    assert_string_equal(exact_real(1.0 / 3.0).text, "0.3333333333333333");
}

static void counts_are_written_as_integers(void **state)
{
    (void)state;
    assert_string_equal(exact_real(0.0).text, "0");
    assert_string_equal(exact_real(1e6).text, "1000000");
    assert_string_equal(exact_real(-2.68435456e+09).text, "-2684354560");
    assert_string_equal(exact_real(7.59075340025856e+15).text, "7590753400258560");
    assert_string_equal(exact_real(9007199254740992.0).text, "9007199254740992");
    assert_string_equal(exact_real(1e18).text, "1e+18"); /* doubles are not exact to one there */
    assert_string_equal(exact_real(2500000.5).text, "2500000.5");
}

static void the_number_comes_back(void **state)
{
    static const double numbers[] = {DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 0.1 + 0.2, 123456789.123456789,
                                     -1e-7};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(strtod(exact_real(numbers[i]).text, NULL) == numbers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_few),
        cmocka_unit_test(counts_are_written_as_integers),
        cmocka_unit_test(the_number_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
