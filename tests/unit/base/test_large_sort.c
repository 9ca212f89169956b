/* Sorting of more than a block: random orders, runs, and what is equal. */
#include "base/core/large_array.h"
#include "base/core/large_sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct item {
    uint32_t key;
    uint32_t number; /* where it was: equal ones come in this order */
};

static int compare_items(const void *a, const void *b, void *argument)
{
    const struct item *left = a;
    const struct item *right = b;

    ++*(size_t *)argument;
    return (left->key > right->key) - (left->key < right->key);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* How many comparisons it took. */
static size_t check_sorted(struct item *items, size_t count)
{
    size_t comparisons = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        items[i].number = (uint32_t)i;
    sort_large(items, count,
               &(struct large_order){.element_bytes = sizeof *items,
                                     .compare = compare_items,
                                     .argument = &comparisons});
    for (size_t i = 0; i < count; i++) {
        sum += items[i].number;
        if (i)
            assert_true(items[i - 1].key < items[i].key || (items[i - 1].key == items[i].key &&
                                                            items[i - 1].number < items[i].number));
    }
    assert_int_equal(sum, (uint64_t)count * (count - (count > 0)) / 2);
    return comparisons;
}

static void random_orders_are_sorted(void **state)
{
    static const size_t counts[] = {0,
                                    1,
                                    2,
                                    1000,
                                    LARGE_SORT_BLOCK,
                                    LARGE_SORT_BLOCK + 1,
                                    2 * LARGE_SORT_BLOCK,
                                    3 * LARGE_SORT_BLOCK + 17};

    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        struct item *items = large_array_new((counts[k] + 1) * sizeof *items);
        uint32_t random = (uint32_t)k + 1;

        for (size_t i = 0; i < counts[k]; i++)
            items[i].key = next_random(&random) % 5000;
        (void)check_sorted(items, counts[k]);
        large_array_free(items);
    }
}

/* Two tables of a file, each sorted, one behind the other: they are merged, not sorted again. */
static void two_runs_are_merged(void **state)
{
    const size_t count = 4 * (size_t)LARGE_SORT_BLOCK;
    struct item *items = large_array_new(count * sizeof *items);

    for (size_t i = 0; i < count; i++)
        items[i].key = (uint32_t)(i < count / 2 ? 2 * i : 2 * (i - count / 2) + 1);
    assert_true(check_sorted(items, count) < 3 * count);
    large_array_free(items);
}

static void sorted_ones_are_only_looked_at(void **state)
{
    const size_t count = 3 * (size_t)LARGE_SORT_BLOCK;
    struct item *items = large_array_new(count * sizeof *items);

    for (size_t i = 0; i < count; i++)
        items[i].key = (uint32_t)(i / 3);
    assert_true(check_sorted(items, count) <= count);
    large_array_free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_orders_are_sorted),
        cmocka_unit_test(two_runs_are_merged),
        cmocka_unit_test(sorted_ones_are_only_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
