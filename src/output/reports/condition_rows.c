/* Reads the table of conditions by its keys, which docs/formats/report-json.md has. */
#include "output/reports/condition_rows.h"

#include "output/results/find_results.h"

#include <string.h>

static const struct table *conditions_of(const struct rank_results *rank)
{
    return find_table(find_section(rank, "conditions"), "conditions");
}

size_t condition_row_count(const struct rank_results *rank)
{
    const struct table *table = conditions_of(rank);

    return table ? table->row_count : 0;
}

static const char *text_at(const struct table *table, size_t row, const char *column)
{
    struct value value = find_cell_at(table, row, column);

    return value.unit == UNIT_TEXT ? value.text : "";
}

/* Any state but the two that decide leaves it open, one that a newer program writes included. */
struct condition_row condition_row_at(const struct rank_results *rank, size_t index)
{
    const struct table *table = conditions_of(rank);
    const char *state = text_at(table, index, "state");
    struct condition_row row = {.condition = text_at(table, index, "condition"),
                                .said = text_at(table, index, "said"),
                                .state = ROW_UNDECIDED};

    if (strcmp(state, "met") == 0)
        row.state = ROW_HOLDS;
    else if (strcmp(state, "not met") == 0)
        row.state = ROW_HOLDS_NOT;
    return row;
}
