/* A table on a page of limited width: what is less important is left out, names are shortened, bars
 * take what is left. */
#ifndef FLOPLEDGER_BASE_TEXT_TEXT_TABLE_H
#define FLOPLEDGER_BASE_TEXT_TEXT_TABLE_H

#include "base/core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum text_kind {
    TEXT_COLUMN_NAME,   /* left-aligned, shortened where it is too wide */
    TEXT_COLUMN_NUMBER, /* right-aligned, never cut */
    TEXT_COLUMN_BAR,    /* a bar of cells[].fraction */
};

struct text_column {
    const char *title; /* broken over lines where it is wider than the cells */
    enum text_kind kind;
    int priority; /* 0: always shown; the highest goes first where it is too narrow */
};

struct text_cell {
    const char *text; /* made by display_text; NULL is an empty cell */
    double fraction;  /* of a bar: its length, 0...1 */
    double start;     /* of a bar: where it begins, 0...1 */
};

struct text_table {
    const struct text_column *columns;
    size_t column_count;
    const struct text_cell *cells; /* [row_count * column_count] */
    const int *depths; /* [row_count]: the first column is indented by 2 for each; NULL: not at all
                        */
    size_t row_count;
};

/* How a page looks. */
struct text_style {
    int width;
    bool use_color;
    bool use_unicode;
};

/* Writes the header, a rule and the rows, each line indented by `indent`. What the layout needs is
 * taken from `arena`. Returns the widths of the columns, 0 for those left out; they live there. */
const int *text_table_write(const struct text_table *table, FILE *output, int indent,
                            struct text_style style, struct arena *arena);

#endif
