/* Results: lists that grow, and ranks that move. */
#include "output/results/metrics.h"
#include "output/results/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void lists_keep_their_order(void **state)
{
    const struct column columns[] = {{"a", "a", UNIT_COUNT, 0, false},
                                     {"b", "b", UNIT_TEXT, 0, false}};
    struct results results = {0};
    struct section *section;
    struct table *table;

    results_init(&results);
    section = section_new(&results, "key", "Title", NULL);
    table = section_add_table(&results, section, "table", NULL, columns, 2);
    for (int i = 0; i < 1000; i++) {
        struct value *row = table_add_row(&results, table, i % 3);

        assert_int_equal(row[0].unit, UNIT_NONE);
        assert_int_equal(row[1].unit, UNIT_NONE);
        row[0] = value_count(i);
        row[1] = value_text(results_format(&results, "row %d", i));
        section_add_number(&results, section, (struct number){"n", "n", value_count(i), NULL});
        section_add_finding(&results, section, (struct finding){.cost_ns = i});
        results_add_problem(&results, (struct finding){.cost_ns = i});
    }
    assert_int_equal(table->row_count, 1000);
    for (int i = 0; i < 1000; i++) {
        char text[32];

        snprintf(text, sizeof text, "row %d", i);
        assert_int_equal(table->cells[2 * i].integer, i);
        assert_string_equal(table->cells[2 * i + 1].text, text);
        assert_int_equal(table->depths[i], i % 3);
        assert_int_equal(section->numbers[i].value.integer, i);
        assert_int_equal(section->findings[i].cost_ns, i);
        assert_int_equal(results.problems[i].cost_ns, i);
    }
    results_clear(&results);
}

static void columns_are_copied(void **state)
{
    struct column columns[] = {{"a", "a", UNIT_COUNT, 0, false}};
    struct results results = {0};
    struct table *table;

    results_init(&results);
    table = section_add_table(&results, section_new(&results, "k", "t", NULL), "table", NULL,
                              columns, 1);
    columns[0].key = "changed";
    assert_string_equal(table->columns[0].key, "a");
    results_clear(&results);
}

static void taken_ranks_live_on(void **state)
{
    struct results results = {0};
    struct results other = {0};
    struct rank_results *rank;

    results_init(&results);
    for (int i = 0; i < 20; i++) {
        results_init(&other);
        rank = results_add_rank(&other, results_format(&other, "rank %d", i), "file", i, 0);
        rank_add_section(&other, rank,
                         section_new(&other, results_text(&other, "key"), "Title", NULL));
        results_add_problem(&other, (struct finding){.what = results_text(&other, "a problem")});
        results_take(&results, &other);
        assert_null(other.arena);
    }
    assert_int_equal(results.rank_count, 20);
    assert_int_equal(results.problem_count, 20);
    assert_string_equal(results.ranks[19].label, "rank 19");
    assert_string_equal(results.ranks[7].sections[0]->key, "key");
    assert_string_equal(results.problems[3].what, "a problem");
    results_clear(&results);
    assert_null(results.ranks);
    results_clear(&results);
    results_clear(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_keep_their_order),
        cmocka_unit_test(columns_are_copied),
        cmocka_unit_test(taken_ranks_live_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
