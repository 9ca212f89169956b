/* Finds what a table does not know, and joins columns that need the same. */
#include "output/reports/cells_as_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_NAMED = 4 };

/* "decode, " "MFU, MBU" " not known" "": what needs the same. */
struct joined_need {
    const char *before; /* the only row, or "" */
    const char *titles;
    const char *behind; /* " of " and the rows, or "" */
    const char *needs;
};

/* The lines while they are collected. */
struct need_list {
    struct arena *arena;
    const struct table *table;
    struct joined_need *needs; /* [count] */
    size_t count;
};

static const struct value *table_needs_cells(const struct table *table, size_t row)
{
    return &table->cells[row * table->column_count];
}

static bool row_needs(const struct table *table, size_t row, size_t column, const char *needs)
{
    const struct value *cell = &table_needs_cells(table, row)[column];

    return cell->unit == UNIT_NOT_KNOWN && strcmp(cell->text, needs) == 0;
}

static const char *joined(struct arena *arena, const char *a, const char *b, const char *c)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = arena_allocate(arena, size);

    snprintf(text, size, "%s%s%s", a, b, c);
    return text;
}

/* The name of the only row that is not known in the column, or NULL. A single row that is not
 * known is named; of several the column's title says enough. */
static const char *only_unknown_row(const struct table *table, size_t column)
{
    const char *name = NULL;

    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cells = table_needs_cells(table, row);

        if (cells[column].unit != UNIT_NOT_KNOWN)
            continue;
        if (name || cells[0].unit != UNIT_TEXT)
            return NULL;
        name = cells[0].text;
    }
    return table->row_count > 1 ? name : NULL;
}

/* "all-reduce, broadcast": the rows of which the column needs that. */
static const char *rows_that_need(struct need_list *list, size_t column, const char *needs)
{
    const char *names = "";
    int named = 0;

    for (size_t row = 0; row < list->table->row_count && named <= ROWS_NAMED; row++) {
        const struct value *first = table_needs_cells(list->table, row);

        if (!row_needs(list->table, row, column, needs) || first->unit != UNIT_TEXT)
            continue;
        names =
            joined(list->arena, names, named ? ", " : "", named < ROWS_NAMED ? first->text : "...");
        named++;
    }
    return names;
}

/* "type" joins "ranks not known": what needs the same, of the same rows. */
static void add_table_need(struct need_list *list, const char *title, const char *before,
                           const char *behind, const char *needs)
{
    for (size_t i = 0; i < list->count; i++) {
        struct joined_need *need = &list->needs[i];

        if (strcmp(need->needs, needs) != 0 || strcmp(need->before, before) != 0 ||
            strcmp(need->behind, behind) != 0)
            continue;
        need->titles = joined(list->arena, need->titles, ", ", title);
        return;
    }
    list->needs[list->count++] = (struct joined_need){before, title, behind, needs};
}

/* What the column needs; where its rows need different things, each of these. Where all rows
 * need the same it is said of the column. Else each need once, with the rows that have it;
 * quadratic in the rows of one table. */
static void add_needs_of(struct need_list *list, size_t column)
{
    const struct table *table = list->table;
    const char *title = table->columns[column].title;
    const char *needs = column_needs(table, column);
    bool is_same = true;

    for (size_t row = 0; row < table->row_count; row++)
        is_same = is_same && (table_needs_cells(table, row)[column].unit != UNIT_NOT_KNOWN ||
                              row_needs(table, row, column, needs));
    /* One row alone is named: "needs" of a whole column would be too much said then. */
    if (is_same) {
        const char *row = only_unknown_row(table, column);

        add_table_need(list, title, row ? joined(list->arena, row, ", ", "") : "", "", needs);
        return;
    }
    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cell = &table_needs_cells(table, row)[column];
        bool is_first = cell->unit == UNIT_NOT_KNOWN;

        for (size_t before = 0; is_first && before < row; before++)
            is_first = !row_needs(table, before, column, cell->text);
        if (is_first)
            add_table_need(
                list, title, "",
                joined(list->arena, " of ", rows_that_need(list, column, cell->text), ""),
                cell->text);
    }
}

/* Columns that are left out of the page as unknown come first; then those that are on it and
 * have a cell that is not known. Room for one need of each cell, which is the most. */
struct table_need *find_table_needs(struct arena *arena, const struct table *table,
                                    const struct page_table *shown, const int *widths,
                                    size_t *count)
{
    size_t most = (table->row_count + 1) * table->column_count + 1;
    struct need_list list = {
        .arena = arena, .table = table, .needs = arena_allocate(arena, most * sizeof *list.needs)};
    struct table_need *found;

    for (size_t i = 0; i < table->column_count; i++)
        if (column_is_unknown(table, i))
            add_needs_of(&list, i);
    for (size_t i = 0; i < shown->text.column_count; i++) {
        bool is_bar = shown->text.columns[i].kind == TEXT_COLUMN_BAR;

        if (widths[i] > 0 && !is_bar && column_needs(table, shown->sources[i]))
            add_needs_of(&list, shown->sources[i]);
    }
    found = arena_allocate(arena, (list.count + 1) * sizeof *found);
    for (size_t i = 0; i < list.count; i++)
        found[i] =
            (struct table_need){joined(arena, list.needs[i].before, list.needs[i].titles,
                                       joined(arena, " not known", list.needs[i].behind, "")),
                                list.needs[i].needs};
    *count = list.count;
    return found;
}

const char *brief_hint(struct arena *arena, const char *needs)
{
    const char *how = strstr(needs, ": ");

    return how ? arena_copy_text(arena, needs, (size_t)(how - needs)) : needs;
}
