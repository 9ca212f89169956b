/* tally: sums, means, and the order of rows. */
#include "sections/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_tally_counts_and_bounds(void **state)
{
    struct tally tally = {0};

    assert_int_equal(tally_mean_ns(&tally), 0);
    tally_add(&tally, 5);
    tally_add(&tally, 0);
    tally_add(&tally, 8);
    assert_int_equal(tally.count, 3);
    assert_int_equal(tally.total_ns, 13);
    assert_int_equal(tally.min_ns, 0);
    assert_int_equal(tally.max_ns, 8);
    assert_int_equal(tally_mean_ns(&tally), 4); /* 4 1/3 */
    tally_add(&tally, 1);
    assert_int_equal(tally_mean_ns(&tally), 4); /* 3.5 */
}

static void sums_stop_at_the_largest_number(void **state)
{
    struct tally tally = {0};

    tally_add(&tally, INT64_MAX - 1);
    tally_add(&tally, INT64_MAX - 1);
    assert_true(tally.total_ns == INT64_MAX);
    assert_true(tally_mean_ns(&tally) > INT64_MAX / 2);
    assert_true(saturated_sum(INT64_MIN + 1, -7) == INT64_MIN);
    assert_int_equal(saturated_sum(3, -7), -4);
}

static void rows_are_ranked_as_asked(void **state)
{
    struct sorted_row rows[] = {
        {.tally = {.count = 4, .total_ns = 40, .max_ns = 11}, .name = "b", .group = 0},
        {.tally = {.count = 1, .total_ns = 30, .max_ns = 30}, .name = "c", .group = 1},
        {.tally = {.count = 9, .total_ns = 40, .max_ns = 12}, .name = "a", .group = 2},
    };
    const struct {
        enum sort_order order;
        uint32_t groups[3];
    } cases[] = {
        {SORT_TIME, {2, 0, 1}}, /* equal times: by name */
        {SORT_COUNT, {2, 0, 1}}, {SORT_MEAN, {1, 0, 2}},
        {SORT_MAX, {1, 2, 0}},   {SORT_NAME, {2, 0, 1}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sort_rows(rows, 3, cases[i].order);
        for (size_t row = 0; row < 3; row++)
            assert_int_equal(rows[row].group, cases[i].groups[row]);
    }
}

static void top_limits_rows(void **state)
{
    struct analysis_options options = {.top = 10};

    assert_int_equal(rows_to_show(&options, 7), 7);
    assert_int_equal(rows_to_show(&options, 12), 10);
    options.top = UINT32_MAX;
    assert_int_equal(rows_to_show(&options, 12), 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tally_counts_and_bounds),
        cmocka_unit_test(sums_stop_at_the_largest_number),
        cmocka_unit_test(rows_are_ranked_as_asked),
        cmocka_unit_test(top_limits_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
