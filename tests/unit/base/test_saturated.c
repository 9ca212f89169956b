/* Sums and differences of any two numbers: exact where they fit, else the end on their side. */
#include "base/core/saturated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t numbers[] = {
    INT64_MIN, INT64_MIN + 1, INT64_MIN / 2 - 1, INT64_MIN / 2, -7,       -1, 0, 1,
    7,         INT64_MAX / 2, INT64_MAX / 2 + 1, INT64_MAX - 1, INT64_MAX};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

__extension__ typedef __int128 wide_integer;

static int64_t within(wide_integer value)
{
    return value < INT64_MIN ? INT64_MIN : value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void what_fits_is_exact_and_what_does_not_stays_at_its_end(void **state)
{
    for (size_t i = 0; i < NUMBERS; i++)
        for (size_t j = 0; j < NUMBERS; j++) {
            wide_integer a = numbers[i];
            wide_integer b = numbers[j];

            assert_true(saturated_sum(numbers[i], numbers[j]) == within(a + b));
            assert_true(saturated_difference(numbers[i], numbers[j]) == within(a - b));
            assert_true(saturated_product(numbers[i], numbers[j]) == within(a * b));
        }
}

static void the_ends_by_name(void **state)
{
    assert_true(saturated_sum(INT64_MAX, 1) == INT64_MAX);
    assert_true(saturated_sum(INT64_MIN, -1) == INT64_MIN);
    assert_true(saturated_sum(INT64_MIN, INT64_MAX) == -1);
    assert_true(saturated_difference(INT64_MIN, 1) == INT64_MIN);
    assert_true(saturated_difference(0, INT64_MIN) == INT64_MAX);
    assert_true(saturated_difference(-1, INT64_MIN) == INT64_MAX);
    assert_true(saturated_difference(INT64_MAX, -1) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_exact_and_what_does_not_stays_at_its_end),
        cmocka_unit_test(the_ends_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
