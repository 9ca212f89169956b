/* Numbers of groups, and how nsys-stats rounds them. */
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void a_group_is_summed_up(void **state)
{
    static const int64_t numbers[] = {40, 10, 20, 30};
    struct stats_values values = {0};
    struct stats_summary summary;

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        stats_values_add(&values, numbers[i]);
    summary = stats_values_summary(&values);
    assert_int_equal(summary.total, 100);
    assert_int_equal(summary.count, 4);
    assert_int_equal(summary.least, 10);
    assert_int_equal(summary.largest, 40);
    assert_float_equal(summary.mean, 25, 0);
    assert_float_equal(summary.median, 25, 0);
    assert_float_equal(summary.deviation, 12.909944487358056, 1e-12); /* n - 1 */
    stats_values_clear(&values);
}

static void one_value_has_no_deviation_and_none_has_nothing(void **state)
{
    struct stats_values values = {0};

    (void)state;
    assert_int_equal(stats_values_summary(&values).count, 0);
    stats_values_add(&values, 7);
    assert_float_equal(stats_values_summary(&values).deviation, 0, 0);
    assert_float_equal(stats_values_summary(&values).median, 7, 0);
    stats_values_clear(&values);
}

static void assert_tenths(double real, const char *expected)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%.1f", stats_tenths(real).real);
    assert_string_equal(text, expected);
}

static void ties_are_rounded_up(void **state)
{
    (void)state;
    assert_tenths(0.25, "0.3"); /* C's own printf gives 0.2 */
    assert_tenths(0.35, "0.4"); /* a hair below the tie as a double */
    assert_tenths(2.449, "2.4");
    assert_tenths(-0.25, "-0.3");
    assert_tenths(0, "0.0");
    assert_tenths(1234567890.05, "1234567890.1");
}

static int compare_first(const struct stats_cell *a, const struct stats_cell *b)
{
    return (a[0].integer > b[0].integer) - (a[0].integer < b[0].integer);
}

static void equal_rows_keep_their_order(void **state)
{
    static const char *const columns[] = {"key", "place", NULL};
    static const int64_t keys[] = {2, 1, 2, 1, 0};
    static const int64_t places[] = {4, 1, 3, 0, 2} /* sorted by key, then as added */;
    struct stats_table table;

    (void)state;
    stats_table_init(&table, columns);
    for (int i = 0; i < 5; i++) {
        struct stats_cell *row = stats_table_add_row(&table);

        row[0] = stats_integer(keys[i]);
        row[1] = stats_integer(i);
    }
    stats_table_sort(&table, compare_first);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(table.cells[2 * i].integer, keys[places[i]]);
        assert_int_equal(table.cells[2 * i + 1].integer, places[i]);
    }
    stats_table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_summed_up),
        cmocka_unit_test(one_value_has_no_deviation_and_none_has_nothing),
        cmocka_unit_test(ties_are_rounded_up),
        cmocka_unit_test(equal_rows_keep_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
