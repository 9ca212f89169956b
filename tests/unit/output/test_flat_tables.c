/* Tables of several ranks become one, and nothing is lost. */
#include "output/exports/flat_tables.h"
#include "output/results/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct flat_table *table_of(const struct flat_tables *flat, const char *name)
{
    for (size_t i = 0; i < flat->count; i++)
        if (strcmp(flat->tables[i].name, name) == 0)
            return &flat->tables[i];
    fail_msg("no table %s", name);
    return NULL;
}

static struct value cell(const struct flat_table *table, size_t row, const char *column)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, column) == 0)
            return table->cells[row * table->column_count + i];
    fail_msg("no column %s", column);
    return value_none();
}

/* A rank with one table of one row. */
static void add_rank(struct results *results, int64_t number, const struct column *columns,
                     size_t column_count)
{
    struct rank_results *rank = results_add_rank(results, "a rank", "a \xFF file", number, 0);
    struct section *section = section_new(results, "kernels", "Kernels", NULL);
    struct table *table;
    struct value *cells;

    rank_add_section(results, rank, section);
    section_add_number(results, section,
                       (struct number){"mean", "mean", value_not_known("needs more"), NULL});
    table = section_add_table(results, section, "by_name", "By name", columns, column_count);
    cells = table_add_row(results, table, 1);
    for (size_t i = 0; i < column_count; i++)
        cells[i] = value_time_ns(number * 10 + (int64_t)i);
    cells[0] = value_text("k");
}

static void rows_of_all_ranks_stand_below_each_other(void **state)
{
    static const struct column one[] = {{"kernel", "kernel", UNIT_TEXT, 0, false},
                                        {"total", "total", UNIT_TIME_NS, 0, false}};
    static const struct column two[] = {{"kernel", "kernel", UNIT_TEXT, 0, false},
                                        {"rank", "place", UNIT_COUNT, 0, false},
                                        {"total", "total", UNIT_TIME_NS, 0, false},
                                        {"model_flops", "FLOPs", UNIT_FLOPS, 0, false}};
    struct results results = {0};
    struct flat_tables flat = {0};
    const struct flat_table *table;

    results_init(&results);
    add_rank(&results, 4, one, 2);
    add_rank(&results, -1, two, 4);
    flatten_results(&flat, &results);
    table = table_of(&flat, "kernels_by_name");
    assert_int_equal(table->row_count, 2);
    assert_int_equal(table->column_count, 4 + 4);
    assert_int_equal(cell(table, 0, "trace").integer, 0);
    assert_int_equal(cell(table, 0, "rank").integer, 4);
    assert_int_equal(cell(table, 0, "depth").integer, 1);
    assert_int_equal(cell(table, 0, "total_ns").integer, 41);
    assert_int_equal(cell(table, 0, "model_flops").unit, UNIT_NONE);
    assert_int_equal(cell(table, 1, "trace").integer, 1);
    assert_int_equal(cell(table, 1, "rank").unit, UNIT_NONE);
    assert_int_equal(cell(table, 1, "rank_2").integer, -9);
    assert_int_equal(cell(table, 1, "total_ns").integer, -8);
    flat_tables_clear(&flat);
    results_clear(&results);
}

static void facts_are_tables_too(void **state)
{
    static const struct column columns[] = {{"kernel", "kernel", UNIT_TEXT, 0, false}};
    struct results results = {0};
    struct flat_tables flat = {0};

    results_init(&results);
    add_rank(&results, 0, columns, 1);
    results_add_problem(&results, (struct finding){.what = "a problem", .cost_ns = -1});
    flatten_results(&flat, &results);
    assert_string_equal(cell(table_of(&flat, "traces"), 0, "file").text, "a \xEF\xBF\xBD file");
    assert_int_equal(cell(table_of(&flat, "numbers"), 0, "value").unit, UNIT_NONE);
    assert_string_equal(cell(table_of(&flat, "numbers"), 0, "not_known").text, "needs more");
    assert_string_equal(cell(table_of(&flat, "findings"), 0, "what").text, "a problem");
    assert_int_equal(cell(table_of(&flat, "findings"), 0, "trace").unit, UNIT_NONE);
    assert_int_equal(cell(table_of(&flat, "findings"), 0, "cost_per_step_ns").unit, UNIT_NONE);
    assert_int_equal(table_of(&flat, "not_known")->row_count, 0);
    flat_tables_clear(&flat);
    results_clear(&results);
}

static void units_stand_behind_keys(void **state)
{
    const struct column time = {"duration", "", UNIT_TIME_NS, 0, false},
                        flops = {"model_flops", "", UNIT_FLOPS, 0, false},
                        bytes = {"bytes", "", UNIT_BYTES, 0, false},
                        depth = {"Depth", "", UNIT_COUNT, 0, false};
    struct arena arena = {0};

    assert_string_equal(flat_column_name(&arena, &time, false), "duration_ns");
    assert_string_equal(flat_column_name(&arena, &flops, false), "model_flops");
    assert_string_equal(flat_column_name(&arena, &bytes, true), "bytes");
    assert_string_equal(flat_column_name(&arena, &depth, false), "Depth_2");
    assert_string_equal(flat_column_name(&arena, &depth, true), "Depth");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_all_ranks_stand_below_each_other),
        cmocka_unit_test(facts_are_tables_too),
        cmocka_unit_test(units_stand_behind_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
