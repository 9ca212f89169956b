/* apportion: shares add up, and none is off by more than the rounding. */
#include "base/core/apportion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void the_largest_remainder_is_rounded_up(void **state)
{
    const int64_t parts[] = {10, 11, 0, 12}; /* thirds: 3 1/3, 3 2/3, 0, 4; sum 11 */
    int64_t shares[4];

    apportion(shares, parts, 4, 3, 11);
    assert_int_equal(shares[0], 3);
    assert_int_equal(shares[1], 4);
    assert_int_equal(shares[2], 0);
    assert_int_equal(shares[3], 4);
}

static void of_equal_remainders_the_first(void **state)
{
    const int64_t parts[] = {1, 1, 1};
    int64_t shares[3];

    apportion(shares, parts, 3, 2, rounded_mean(3, 2)); /* 1.5 rounds to 2 */
    assert_int_equal(shares[0], 1);
    assert_int_equal(shares[1], 1);
    assert_int_equal(shares[2], 0);
}

static void means_are_rounded_half_up(void **state)
{
    assert_int_equal(rounded_mean(7, 2), 4);
    assert_int_equal(rounded_mean(10, 3), 3);
    assert_int_equal(rounded_mean(11, 3), 4);
    assert_int_equal(rounded_mean(INT64_MAX - 1, 1), INT64_MAX - 1);
}

static void shares_always_add_up(void **state)
{
    srand(3);
    for (unsigned round = 0; round < 2000; round++) {
        int64_t parts[20];
        int64_t shares[20];
        int64_t divisor = 1 + rand() % 9;
        int64_t total = 0;
        int64_t sum = 0;
        size_t count = 1 + (size_t)rand() % 20;

        for (size_t i = 0; i < count; i++)
            total += parts[i] = rand() % 3 ? rand() : 0;
        apportion(shares, parts, count, divisor, rounded_mean(total, divisor));
        for (size_t i = 0; i < count; i++) {
            sum += shares[i];
            assert_true(llabs(shares[i] * divisor - parts[i]) < divisor);
            assert_true(parts[i] > 0 || shares[i] == 0);
        }
        assert_int_equal(sum, rounded_mean(total, divisor));
    }
}

static void shares_by_weight_add_up_and_are_near(void **state)
{
    srand(4);
    for (unsigned round = 0; round < 2000; round++) {
        int64_t weights[20], shares[20];
        size_t count = 1 + (size_t)rand() % 20;
        int64_t total = (int64_t)rand() * rand(), whole = 0, sum = 0;

        for (size_t i = 0; i < count; i++)
            whole += weights[i] = rand() % 3 ? (int64_t)rand() * 4 : 0;
        if (whole == 0)
            whole = weights[0] = 1;
        apportion_by_weight(shares, weights, count, total);
        for (size_t i = 0; i < count; i++) {
            long double exact = (long double)total * (long double)weights[i] / (long double)whole;

            sum += shares[i];
            assert_true((long double)shares[i] > exact - 1.01L &&
                        (long double)shares[i] < exact + 1.01L);
        }
        assert_true(sum == total);
    }
}

static void products_beyond_64_bits_are_exact(void **state)
{
    const int64_t weights[] = {INT64_MAX / 4, INT64_MAX / 4, INT64_MAX / 4 * 2 - 2};
    int64_t shares[3];

    apportion_by_weight(shares, weights, 3, INT64_MAX - 1);
    assert_true(shares[0] + shares[1] + shares[2] == INT64_MAX - 1);
    assert_true(shares[0] - shares[1] <= 1 && shares[1] - shares[0] <= 1);
    assert_true(shares[0] >= INT64_MAX / 4 && shares[0] <= INT64_MAX / 4 + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_remainder_is_rounded_up),
        cmocka_unit_test(of_equal_remainders_the_first),
        cmocka_unit_test(means_are_rounded_half_up),
        cmocka_unit_test(shares_always_add_up),
        cmocka_unit_test(shares_by_weight_add_up_and_are_near),
        cmocka_unit_test(products_beyond_64_bits_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
