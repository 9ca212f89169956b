/* radix_sort: the order that qsort makes, and equal keys as they were. */
#include "base/core/radix_sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 5000 };

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ *seed >> 29;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static void sorts_by_all_bits(void **state)
{
    static uint64_t keys[COUNT];
    static uint64_t scratch[COUNT];
    static uint64_t expected[COUNT];
    uint64_t seed = 1;

    for (unsigned bits = 1; bits <= 64; bits++) {
        for (size_t i = 0; i < COUNT; i++)
            keys[i] = next_random(&seed) >> (64 - bits);
        memcpy(expected, keys, sizeof keys);
        qsort(expected, COUNT, sizeof *expected, compare);
        assert_memory_equal(radix_sort(keys, scratch, COUNT, 0, bits), expected, sizeof expected);
    }
}

static void keeps_the_order_of_equal_bits(void **state)
{
    static uint64_t keys[COUNT];
    static uint64_t scratch[COUNT];
    const uint64_t *sorted;
    uint64_t seed = 7;

    for (size_t i = 0; i < COUNT; i++)
        keys[i] = (next_random(&seed) & 0xff) << 40 | i; /* the low bits tell the place */
    sorted = radix_sort(keys, scratch, COUNT, 40, 48);
    for (size_t i = 1; i < COUNT; i++)
        assert_true(sorted[i - 1] < sorted[i]);
}

static void few_keys_are_sorted_too(void **state)
{
    uint64_t keys[] = {2, 1};
    uint64_t scratch[2];

    assert_ptr_equal(radix_sort(keys, scratch, 0, 0, 64), keys);
    assert_int_equal(radix_sort(keys, scratch, 2, 0, 2)[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_by_all_bits),
        cmocka_unit_test(keeps_the_order_of_equal_bits),
        cmocka_unit_test(few_keys_are_sorted_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
