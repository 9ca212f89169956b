/* Results as plain tables: each table of a section once, with the rows of all ranks below each
 * other, and everything else (numbers, findings, what is not known) as tables, too. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_FLAT_TABLES_H
#define FLOPLEDGER_OUTPUT_EXPORTS_FLAT_TABLES_H

#include "base/core/arena.h"
#include "output/results/results.h"

#include <stddef.h>

struct flat_column {
    const char *name; /* with its unit: "duration_ns" */
    enum unit unit;   /* of most cells */
};

struct flat_table {
    const char *name;            /* "step_ledger_steps": letters, digits and _ */
    const char *title;           /* "Every step, exactly" */
    struct flat_column *columns; /* [column_count]; no two have one name, whatever the case */
    size_t column_count;
    struct value *cells; /* [row_count * column_count]; a cell that is not known is NONE */
    size_t row_count;
};

/* Zeroed is empty. */
struct flat_tables {
    struct flat_table *tables; /* [count] */
    size_t count;
    struct arena arena; /* texts are UTF-8 */
};

/* Columns before those of the table: which trace, its rank, the row's place and how deep it is
 * indented. Tables of the overview, which are of no trace, have the last two only. */
enum { FLAT_LEAD_COUNT = 4, FLAT_OVERVIEW_LEAD_COUNT = 2 };
extern const struct flat_column flat_lead_columns[FLAT_LEAD_COUNT];

/* The name of a column: its key with its unit behind it ("duration_ns"), where the key does not say
 * it ("model_flops"); with _2 behind it where it would be that of a column which every table has.
 */
const char *flat_column_name(struct arena *arena, const struct column *column, bool is_of_overview);

/* `flat` must be zeroed; `results` must live as long as it. */
void flatten_results(struct flat_tables *flat, const struct results *results);
void flat_tables_clear(struct flat_tables *flat);

#endif
