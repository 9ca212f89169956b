/* Real numbers for programs: short, and the same again when they are read. */
#include "base/core/exact_real.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void digits_are_few(void **state)
{
    assert_string_equal(exact_real(0.1).text, "0.1");
    assert_string_equal(exact_real(-2.0).text, "-2");
    assert_string_equal(exact_real(1e300).text, "1e+300");
    assert_string_equal(exact_real(1.0 / 3.0).text, "0.3333333333333333");
}

static void counts_are_written_as_integers(void **state)
{
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

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(strtod(exact_real(numbers[i]).text, NULL) == numbers[i]);
}

/* As printf writes it with the fewest digits that are enough, from 6 on; not of whole numbers. */
static void check_digits(double number)
{
    char text[64];

    if (trunc(number) == number)
        return;
    for (int precision = 6; precision <= 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*g", precision, number);
        if (strtod(text, NULL) == number)
            break;
    }
    assert_string_equal(exact_real(number).text, text);
}

static void digits_are_those_of_printf(void **state)
{
    uint64_t seed = 1;

    for (int i = 0; i < 20000; i++) {
        char text[64];

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        (void)snprintf(text, sizeof text, "%s%llu.%llue-%u", i % 2 ? "-" : "",
                       (unsigned long long)(seed >> 33 >> i % 31),
                       (unsigned long long)(seed >> 20 & 0xfff) * 2 + 1, i % 9);
        check_digits(strtod(text, NULL));
    }
    check_digits(0.0001);
    check_digits(0.00009999);
    check_digits(999999999999999.5);
    check_digits(99999.95);
    assert_string_equal(exact_real(-0.0).text, "-0");
}

/* Numbers as arithmetic leaves them, of 15 to 17 digits; those beside powers of two, whose
 * neighbors are not equally far away; and those beside powers of ten. */
static void digits_of_any_bits_are_those_of_printf(void **state)
{
    uint64_t seed = 7;

    for (int i = 0; i < 20000; i++) {
        int exponent = i % 80 - 20; /* from 2^-20 to 2^59 */

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        check_digits(ldexp(1 + (double)(seed >> 12) / 0x1p52, exponent));
    }
    for (int exponent = -1074; exponent < 1024; exponent++) {
        double power = ldexp(1, exponent);

        check_digits(nextafter(power, 0));
        check_digits(power);
        check_digits(nextafter(power, INFINITY));
    }
    for (int exponent = -20; exponent < 20; exponent++) {
        double power =
            strtod((char[]){'1', 'e', exponent < 0 ? '-' : '+', (char)('0' + abs(exponent) / 10),
                            (char)('0' + abs(exponent) % 10), '\0'},
                   NULL);

        check_digits(nextafter(power, 0));
        check_digits(nextafter(power, INFINITY));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_few),
        cmocka_unit_test(counts_are_written_as_integers),
        cmocka_unit_test(the_number_comes_back),
        cmocka_unit_test(digits_are_those_of_printf),
        cmocka_unit_test(digits_of_any_bits_are_those_of_printf),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
