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
