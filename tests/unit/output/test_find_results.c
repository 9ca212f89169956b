/* What is in results is found by its keys, and what is not is told. */
#include "output/results/metrics.h"
#include "output/results/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_there_is_found(void **state)
{
    static const struct column columns[] = {{"name", "name", UNIT_TEXT, 0, false},
                                            {"time", "time", UNIT_TIME_NS, 0, false}};
    struct results results = {0};
    struct rank_results *rank;
    struct section *section;
    struct table *table;
    struct value *cells;

    results_init(&results);
    rank = results_add_rank(&results, "rank 0", "r0.json", 0, 0);
    section = section_new(&results, "kernels", "Kernels", NULL);
    rank_add_section(&results, rank, section);
    section_add_number(&results, section, (struct number){"count", "n", value_count(2), NULL});
    table = section_add_table(&results, section, "by_name", "By name", columns, 2);
    for (int i = 0; i < 2; i++) {
        cells = table_add_row(&results, table, 0);
        cells[0] = value_text(i ? "b" : "a");
        cells[1] = value_time_ns(i ? 20 : 10);
    }
    assert_ptr_equal(find_section(rank, "kernels"), section);
    assert_null(find_section(rank, "kernel"));
    assert_null(find_section(NULL, "kernels"));
    assert_ptr_equal(find_table(section, "by_name"), table);
    assert_null(find_table(NULL, "by_name"));
    assert_int_equal(find_number(section, "count").integer, 2);
    assert_int_equal(find_number(section, "none").unit, UNIT_NONE);
    assert_int_equal(find_column(table, "time"), 1);
    assert_int_equal(find_column(table, "other"), 2);
    assert_int_equal(find_cell(table, "name", "b", "time").integer, 20);
    assert_int_equal(find_cell(table, "name", "c", "time").unit, UNIT_NONE);
    assert_int_equal(find_cell_at(table, 0, "time").integer, 10);
    assert_int_equal(find_cell_at(table, 0, "other").unit, UNIT_NONE);
    assert_int_equal(find_cell_at(NULL, 0, "time").unit, UNIT_NONE);
    results_clear(&results);
}

static void numbers_are_told_from_text(void **state)
{
    struct value time = value_time_ns(1500), share = value_fraction(0.25), text = value_text("x"),
                 none = value_none(), unknown = value_not_known("needs it");

    assert_true(value_is_number(&time) && value_is_integer(&time));
    assert_true(value_is_number(&share) && !value_is_integer(&share));
    assert_false(value_is_number(&text) || value_is_number(&none) || value_is_number(&unknown));
    assert_true(value_as_real(&time) == 1500.0);
    assert_true(value_as_real(&share) == 0.25);
    assert_string_equal(unit_key(UNIT_FLOPS_PER_SECOND), "flop/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_found),
        cmocka_unit_test(numbers_are_told_from_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
