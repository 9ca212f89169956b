/* sort: numbers at the ends of their range keep their order. */
#include "base/core/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_far_apart_are_in_order(void **state)
{
    int64_t numbers[] = {1, INT64_MAX, -1, INT64_MIN, 0, INT64_MAX};
    static const int64_t sorted[] = {INT64_MIN, -1, 0, 1, INT64_MAX, INT64_MAX};

    sort_int64(numbers, 6);
    assert_memory_equal(numbers, sorted, sizeof sorted);
    sort_int64(NULL, 0);
}

static void an_order_is_minus_one_none_or_one(void **state)
{
    uint64_t none = 0;

    assert_int_equal(ORDER_OF(INT64_MIN, INT64_MAX), -1);
    assert_int_equal(ORDER_OF(2.5, 2.5), 0);
    assert_int_equal(ORDER_OF(UINT64_MAX, none), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_far_apart_are_in_order),
        cmocka_unit_test(an_order_is_minus_one_none_or_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
