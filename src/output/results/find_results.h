/* Finds what is in results by its keys. All accept NULL for what was not found. */
#ifndef FLOPLEDGER_OUTPUT_RESULTS_FIND_RESULTS_H
#define FLOPLEDGER_OUTPUT_RESULTS_FIND_RESULTS_H

#include "output/results/results.h"

#include <stddef.h>

/* NULL where there is none of the key. */
const struct section *find_section(const struct rank_results *rank, const char *key);
const struct table *find_table(const struct section *section, const char *key);

/* NONE where there is no number of the key. */
struct value find_number(const struct section *section, const char *key);

/* Index of the column; table->column_count where there is none. `table` is not NULL. */
size_t find_column(const struct table *table, const char *key);

/* The cell in `column` of the row whose column `by` holds `text`; NONE where there is none. */
struct value find_cell(const struct table *table, const char *by, const char *text,
                       const char *column);

/* The cell in `column` of row `row`; NONE where there is no such column. */
struct value find_cell_at(const struct table *table, size_t row, const char *column);

/* ---- the conditions of `--fail-if`, and what became of them: what CI asks of a report ---- */

enum condition_row_state { ROW_HOLDS_NOT, ROW_HOLDS, ROW_UNDECIDED };

struct condition_row {
    const char *condition; /* "step_time>+3%" */
    const char *said;      /* why */
    enum condition_row_state state;
};

/* How many conditions the rank's results have. */
size_t condition_row_count(const struct rank_results *rank);

/* `index` is less than that. */
struct condition_row condition_row_at(const struct rank_results *rank, size_t index);

#endif
