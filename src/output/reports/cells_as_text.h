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

#endif
