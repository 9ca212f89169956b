/* array: elements keep their values and places while it grows, one by one, by index and large. */
#include "base/core/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct pair {
    int64_t first;
    char second;
};

static void one_by_one_elements_stay_as_they_are(void **state)
{
    struct pair *pairs = NULL;
    uint32_t count = 0;

    while (count < 1000)
        ARRAY_ADD(pairs, count, (struct pair){.first = 3 * (int64_t)count, .second = 'x'});
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pairs[i].first, 3 * i);
        assert_int_equal(pairs[i].second, 'x');
    }
    free(pairs);
}

/* Taken back and added again around a power of two: the last elements are the new ones. */
static void what_was_taken_back_is_added_again(void **state)
{
    int *numbers = NULL;
    size_t count = 0;

    while (count < 33)
        ARRAY_ADD(numbers, count, (int)count);
    for (int turn = 0; turn < 20; turn++) {
        count = 15;
        while (count < 20)
            ARRAY_ADD(numbers, count, 100 * turn + (int)count);
    }
    for (int i = 0; i < 15; i++)
        assert_int_equal(numbers[i], i);
    for (int i = 15; i < 20; i++)
        assert_int_equal(numbers[i], 1900 + i);
    free(numbers);
}

static void there_is_room_for_one_more_at_each_count(void **state)
{
    assert_int_equal(array_room_of(0), ARRAY_FIRST);
    for (size_t count = 1; count < 5000; count++) {
        size_t room = array_room_of(count);

        assert_true(room >= count && (room == ARRAY_FIRST || room < 2 * count));
        assert_int_equal(room & (room - 1), 0);
    }
}

static void a_capacity_is_raised_to_what_is_needed(void **state)
{
    int *numbers = NULL;
    uint32_t capacity = 0;
    int *before;

    ARRAY_RESERVE(numbers, capacity, 100u);
    assert_true(capacity >= 100);
    numbers[99] = 7;
    before = numbers;
    ARRAY_RESERVE(numbers, capacity, 50u);
    assert_ptr_equal(numbers, before);
    ARRAY_RESERVE(numbers, capacity, capacity + 1);
    assert_true(capacity >= 200); /* it doubles */
    assert_int_equal(numbers[99], 7);
    free(numbers);
}

static void what_is_new_in_a_large_array_is_zero(void **state)
{
    struct pair *pairs = NULL;
    size_t count = 0;

    while (count < 20000)
        LARGE_ARRAY_ADD(pairs, count, (struct pair){.first = (int64_t)count});
    LARGE_ARRAY_RESERVE(pairs, 50000);
    for (size_t i = 0; i < 50000; i++)
        assert_int_equal(pairs[i].first, i < count ? i : 0);
    large_array_free(pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one_elements_stay_as_they_are),
        cmocka_unit_test(what_was_taken_back_is_added_again),
        cmocka_unit_test(there_is_room_for_one_more_at_each_count),
        cmocka_unit_test(a_capacity_is_raised_to_what_is_needed),
        cmocka_unit_test(what_is_new_in_a_large_array_is_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
