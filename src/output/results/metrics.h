/* What a step, a run or a job is measured by: metric_list.def declares each metric once. A section
 * that gives a number or a column the key of a metric fills that metric of its rank; exports and
 * first screens read it by its identifier. */
#ifndef FLOPLEDGER_OUTPUT_RESULTS_METRICS_H
#define FLOPLEDGER_OUTPUT_RESULTS_METRICS_H

#include "output/results/results.h"

enum metric {
#define METRIC(id, key, title, unit, help) METRIC_##id,
#include "output/results/metric_list.def"
    METRIC_COUNT,
    NO_METRIC = -1
};

/* Units as constants, so that columns of static tables can have them. */
enum {
#define METRIC(id, key, title, unit, help) METRIC_UNIT_OF_##id = (int)(unit),
#include "output/results/metric_list.def"
};

struct metric_declaration {
    char key[32]; /* an array, not a pointer: where a key lies says whose it is (metric_of_key) */
    char title[48];
    enum unit unit;
    const char *help; /* one sentence; "" of what only labels others */
};

extern const struct metric_declaration metric_declarations[METRIC_COUNT];

#define METRIC_KEY(id)   (metric_declarations[METRIC_##id].key)
#define METRIC_TITLE(id) (metric_declarations[METRIC_##id].title)
#define METRIC_UNIT(id)  ((enum unit)METRIC_UNIT_OF_##id)
#define METRIC_NAMES(id) METRIC_KEY(id), METRIC_TITLE(id)

/* Where a metric stands in the results of a rank. */
struct metric_column {
    const struct table *table; /* NULL: this rank has none */
    size_t column;
};

/* The metric whose declared key this very pointer is; a copy of its text belongs to none. */
enum metric metric_of_key(const char *key);

/* Adds a section whose numbers and columns are all there, and enters them; of several of one
 * metric, the first stays. */
void rank_add_section(struct results *results, struct rank_results *rank, struct section *section);

/* Below, `rank` NULL has nothing: a page of summaries of ranks shows none in full. */

/* NULL: the rank has none of the role. */
const struct section *section_of_role(const struct rank_results *rank, enum section_role role);

/* NONE where the rank has no number of the metric. */
struct value metric_number(const struct rank_results *rank, enum metric metric);
struct metric_column metric_column(const struct rank_results *rank, enum metric metric);

/* `column` is one that the rank has. */
static inline struct value metric_column_cell(struct metric_column column, size_t row)
{
    return column.table->cells[row * column.table->column_count + column.column];
}

/* Of the device that the steps ran on; NONE: not known. */
struct value name_of_reported_device(const struct rank_results *rank);

/* The cell of `metric` in row `row` of `table`; NONE where it has no such column, or no such row.
 */
struct value metric_cell(const struct table *table, size_t row, enum metric metric);

#endif
