/* The rows of a report of nsys-stats. */
#include "readers/nsys_stats/stats_table.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void stats_table_init(struct stats_table *table, const char *const *columns)
{
    *table = (struct stats_table){.columns = columns};
    while (columns[table->column_count])
        table->column_count++;
}

struct stats_cell *stats_table_add_row(struct stats_table *table)
{
    LARGE_ARRAY_RESERVE(table->cells, (table->row_count + 1) * table->column_count);
    return &table->cells[table->row_count++ * table->column_count];
}

/* A row, and where it stood. */
struct placed_row {
    const struct stats_cell *cells;
    int (*compare)(const struct stats_cell *a, const struct stats_cell *b);
};

/* By where the row stood where the keys are equal: qsort is not stable, and nsys' order of
 * ties is that of its rows. */
static int stats_compare_rows(const void *a, const void *b)
{
    const struct placed_row *left = a;
    const struct placed_row *right = b;
    int order = left->compare(left->cells, right->cells);

    return order ? order : (left->cells > right->cells) - (left->cells < right->cells);
}

/* Rows come from the database in the order wanted most often, and a look costs less than a
 * sort. */
static bool stats_is_sorted(const struct stats_table *table,
                            int (*compare)(const struct stats_cell *a, const struct stats_cell *b))
{
    const struct stats_cell *cells = table->cells;

    for (size_t i = 1; i < table->row_count; i++, cells += table->column_count)
        if (compare(cells, cells + table->column_count) > 0)
            return false;
    return true;
}

/* Rows are moved once, by pointers that were sorted: a row has up to thirty cells. */
void stats_table_sort(struct stats_table *table,
                      int (*compare)(const struct stats_cell *a, const struct stats_cell *b))
{
    size_t row_bytes = table->column_count * sizeof *table->cells;
    struct placed_row *rows;
    struct stats_cell *sorted;

    if (stats_is_sorted(table, compare))
        return;
    rows = require_memory(malloc(table->row_count * sizeof *rows));
    sorted = large_array_new(table->row_count * row_bytes);
    for (size_t i = 0; i < table->row_count; i++)
        rows[i] = (struct placed_row){&table->cells[i * table->column_count], compare};
    qsort(rows, table->row_count, sizeof *rows, stats_compare_rows);
    for (size_t i = 0; i < table->row_count; i++)
        memcpy(&sorted[i * table->column_count], rows[i].cells, row_bytes);
    free(rows);
    large_array_free(table->cells);
    table->cells = sorted;
}

void stats_table_clear(struct stats_table *table)
{
    if (!table)
        return;
    large_array_free(table->cells);
    string_pool_clear(&table->texts);
    *table = (struct stats_table){0};
}

struct stats_cell stats_text(struct stats_table *table, const char *text)
{
    if (!text)
        return (struct stats_cell){.kind = STATS_NONE};
    return (struct stats_cell){
        .kind = STATS_TEXT,
        .text =
            string_pool_text(&table->texts, string_pool_add(&table->texts, text, strlen(text)))};
}

struct stats_cell stats_integer(int64_t integer)
{
    return (struct stats_cell){.kind = STATS_INTEGER, .integer = integer};
}

/* A tie such as 0.35 may lie a hair below itself as a double: it counts as the tie it was meant to
 * be. */
struct stats_cell stats_tenths(double real)
{
    long double size = fabsl((long double)real);
    long double tenths = floorl((size + 0.05L + size * 3e-16L) * 10);
    double rounded = (double)(tenths / 10);

    return (struct stats_cell){.kind = STATS_TENTHS, .real = real < 0 ? -rounded : rounded};
}

struct stats_cell stats_megabytes(double bytes)
{
    return (struct stats_cell){.kind = STATS_MEGABYTES, .real = bytes};
}
