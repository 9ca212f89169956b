/* Finds what is in results by its keys. */
#include "output/results/find_results.h"

#include <string.h>

const struct section *find_section(const struct rank_results *rank, const char *key)
{
    for (size_t i = 0; rank && i < rank->section_count; i++)
        if (strcmp(rank->sections[i]->key, key) == 0)
            return rank->sections[i];
    return NULL;
}

const struct table *find_table(const struct section *section, const char *key)
{
    for (size_t i = 0; section && i < section->table_count; i++)
        if (strcmp(section->tables[i]->key, key) == 0)
            return section->tables[i];
    return NULL;
}

struct value find_number(const struct section *section, const char *key)
{
    for (size_t i = 0; section && i < section->number_count; i++)
        if (strcmp(section->numbers[i].key, key) == 0)
            return section->numbers[i].value;
    return value_none();
}

size_t find_column(const struct table *table, const char *key)
{
    size_t i = 0;

    while (i < table->column_count && strcmp(table->columns[i].key, key) != 0)
        i++;
    return i;
}

/* A missing table, column or row all give "none": callers show what is there, and what is not
 * is left out. */
struct value find_cell(const struct table *table, const char *by, const char *text,
                       const char *column)
{
    size_t by_index = table ? find_column(table, by) : 0;
    size_t index = table ? find_column(table, column) : 0;

    if (!table || by_index == table->column_count || index == table->column_count)
        return value_none();
    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cells = &table->cells[row * table->column_count];

        if (cells[by_index].unit == UNIT_TEXT && strcmp(cells[by_index].text, text) == 0)
            return cells[index];
    }
    return value_none();
}

struct value find_cell_at(const struct table *table, size_t row, const char *column)
{
    size_t index = table ? find_column(table, column) : 0;

    return table && index < table->column_count ? table->cells[row * table->column_count + index]
                                                : value_none();
}

/* ---- the table of conditions, by its keys, which docs/formats/report-json.md has ---- */

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
