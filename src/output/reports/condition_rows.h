/* The conditions of `--fail-if` among results, and what became of them: what CI asks of a report.
 */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_CONDITION_ROWS_H
#define FLOPLEDGER_OUTPUT_REPORTS_CONDITION_ROWS_H

#include "output/results/results.h"

#include <stddef.h>

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
