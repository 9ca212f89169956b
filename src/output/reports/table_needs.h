/* What a table on a page does not know, and what would tell: the lines below it. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_TABLE_NEEDS_H
#define FLOPLEDGER_OUTPUT_REPORTS_TABLE_NEEDS_H

#include "output/reports/cells_as_text.h"

#include <stddef.h>

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
