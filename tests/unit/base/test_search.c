/* search: against a walk from the front, for each length, value and part of a list. */
#include "base/core/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LENGTH_MAX = 40 };

static void it_is_the_first_that_is_not_before(void **state)
{
    int numbers[LENGTH_MAX];

    for (int i = 0; i < LENGTH_MAX; i++)
        numbers[i] = i / 3 * 2; /* each three times, the odd ones not at all */
    for (uint32_t end = 0; end <= LENGTH_MAX; end++) {
        for (uint32_t first = 0; first <= end; first++) {
            for (int wanted = -1; wanted < LENGTH_MAX; wanted++) {
                uint32_t walked = first;

                while (walked < end && numbers[walked] < wanted)
                    walked++;
                assert_int_equal(LOWER_BOUND(i, first, end, numbers[i] < wanted), walked);
            }
        }
    }
}

static void each_comparison_halves_what_is_left(void **state)
{
    size_t comparisons = 0;
    const size_t end = (size_t)1 << 40;

    assert_int_equal(LOWER_BOUND(i, 0, end, (comparisons++, i < 123456789)), 123456789);
    assert_true(comparisons <= 41);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_first_that_is_not_before),
        cmocka_unit_test(each_comparison_halves_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
