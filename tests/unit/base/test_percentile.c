/* percentile_of against sorting. */
#include "base/core/percentile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VALUES_MAX = 300 };

static int ascending(const void *left, const void *right)
{
    const int64_t *a = left;
    const int64_t *b = right;

    return (*a > *b) - (*a < *b);
}

static void known_values(void **state)
{
    int64_t values[] = {50, 10, 40, 20, 30};

    assert_int_equal(percentile_of(values, 5, 50), 30);
    assert_int_equal(percentile_of(values, 5, 20), 10);
    assert_int_equal(percentile_of(values, 5, 21), 20);
    assert_int_equal(percentile_of(values, 5, 90), 50);
    assert_int_equal(percentile_of(values, 5, 0), 10);
    assert_int_equal(percentile_of(values, 5, 100), 50);
    assert_int_equal(percentile_of(values, 1, 50), values[0]);
    assert_int_equal(percentile_of(NULL, 0, 50), 0);
}

static void random_values_as_sorted(void **state)
{
    srand(11);
    for (unsigned round = 0; round < 300; round++) {
        int64_t values[VALUES_MAX];
        int64_t sorted[VALUES_MAX];
        size_t count = 1 + (size_t)rand() % VALUES_MAX;
        unsigned per_cent = (unsigned)rand() % 101;
        size_t rank = (count * per_cent + 99) / 100;

        for (size_t i = 0; i < count; i++)
            values[i] = rand() % (round % 2 ? 5 : 100000); /* many equal ones, or few */
        memcpy(sorted, values, sizeof(sorted));
        qsort(sorted, count, sizeof(sorted[0]), ascending);
        assert_int_equal(percentile_of(values, count, per_cent), sorted[rank ? rank - 1 : 0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(random_values_as_sorted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
