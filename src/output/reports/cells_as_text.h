/* Values of results as text for a page. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_CELLS_AS_TEXT_H
#define FLOPLEDGER_OUTPUT_REPORTS_CELLS_AS_TEXT_H

#include "base/core/arena.h"
#include "base/text/text_table.h"
#include "output/results/results.h"

/* "1.235 ms", "12.3 %", "not known": safe for a terminal; lives in `arena`. */
const char *value_as_text(struct arena *arena, const struct value *value, bool use_unicode);

/* A table of results made ready for a page. */
struct page_table {
    struct text_table text;
    const size_t *sources; /* [text.column_count]: the column of the table of results */
};

/* The same table for a page: a column's times share one unit, which stands in its title; columns in
 * which nothing stands are left out; a bar stands beside a column that asks for it. All lives in
 * `arena`. */
struct page_table table_as_text(struct arena *arena, const struct table *table, bool use_unicode);

/* For a column of `table` in which some cells are not known: what they need, of the first of them.
 * NULL where all are. */
const char *column_needs(const struct table *table, size_t column);

/* Nothing is known of the column: it does not stand on the page. */
bool column_is_unknown(const struct table *table, size_t column);

/* What a table on a page does not know, and what would tell: a line below it (table_needs.c). */
struct table_need {
    const char *what;  /* "type, bytes not known", "time not known of all-reduce, broadcast" */
    const char *needs; /* "needs record_shapes=True" */
};

/* Columns that need the same stand in one; first those that are not on the page because nothing is
 * known of them, then those on it: `widths` has 0 for what the page has no room for. All lives in
 * `arena`. */
struct table_need *find_table_needs(struct arena *arena, const struct table *table,
                                    const struct page_table *shown, const int *widths,
                                    size_t *count);

/* The hint without the part that says how, which another line has said already. */
const char *brief_hint(struct arena *arena, const char *needs);

#endif
