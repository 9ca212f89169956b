/* Finds what DeepSpeed's report needs in the results. */
#include "output/reports/deepspeed_rows.h"

#include "base/core/invariant.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const struct section *deepspeed_section(const struct results *results)
{
    for (size_t i = 0; i < results->rank_count; i++) {
        const struct rank_results *rank = &results->ranks[i];

        if (results->detailed_rank != ALL_RANKS && results->detailed_rank < results->rank_count &&
            i != results->detailed_rank)
            continue;
        for (size_t k = 0; k < rank->section_count; k++)
            if (strcmp(rank->sections[k]->key, "module_cost") == 0)
                return rank->sections[k];
    }
    return NULL;
}

const struct value *deepspeed_value(const struct section *section, const char *key)
{
    for (size_t i = 0; i < section->number_count; i++)
        if (strcmp(section->numbers[i].key, key) == 0)
            return section->numbers[i].value.unit == UNIT_NOT_KNOWN ? NULL
                                                                    : &section->numbers[i].value;
    return NULL;
}

static double deepspeed_rows_real_of(const struct value *value, double otherwise)
{
    return value && value_is_number(value) ? value_as_real(value) : otherwise;
}

double deepspeed_real(const struct section *section, const char *key, double otherwise)
{
    return deepspeed_rows_real_of(deepspeed_value(section, key), otherwise);
}

static const struct table *modules_table(const struct section *section)
{
    for (size_t i = 0; i < section->table_count; i++)
        if (strcmp(section->tables[i]->key, "modules") == 0)
            return section->tables[i];
    return NULL;
}

static const struct value *cell(const struct table *table, size_t row, const char *key)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].key, key) == 0)
            return &table->cells[row * table->column_count + i];
    return NULL;
}

static const char *deepspeed_rows_text_of(const struct value *value, const char *otherwise)
{
    return value && value->unit == UNIT_TEXT ? value->text : otherwise;
}

static struct deepspeed_row read_row(const struct table *table, size_t row, double steps)
{
    const struct value *parameters = cell(table, row, "parameters");
    struct deepspeed_row result = {
        .depth = table->depths[row],
        .name = deepspeed_rows_text_of(cell(table, row, "name"), ""),
        .class_name = deepspeed_rows_text_of(cell(table, row, "class"), NULL),
        .extra_repr = deepspeed_rows_text_of(cell(table, row, "extra_repr"), ""),
        .parameters = deepspeed_rows_real_of(parameters, -1),
        .macs = deepspeed_rows_real_of(cell(table, row, "forward_macs_in_all"), 0) / steps,
        .seconds =
            deepspeed_rows_real_of(cell(table, row, "forward_latency_in_all"), 0) / steps / 1e9,
    };

    result.flops = (deepspeed_rows_real_of(cell(table, row, "forward_flops_in_all"), 0) +
                    deepspeed_rows_real_of(cell(table, row, "forward_pointwise_flops_in_all"), 0)) /
                   steps;
    if (parameters && parameters->unit == UNIT_NOT_KNOWN)
        result.needs = parameters->text;
    if (!result.class_name)
        result.class_name = result.name;
    return result;
}

bool deepspeed_rows_read(struct deepspeed_rows *rows, const struct section *section)
{
    const struct table *table = modules_table(section);
    double steps = deepspeed_real(section, "steps", 1);

    if (!table)
        return false;
    rows->rows = require_memory(calloc(table->row_count + 1, sizeof *rows->rows));
    for (size_t i = 0; i < table->row_count; i++)
        if (deepspeed_rows_text_of(cell(table, i, "module"), NULL)) /* not what is outside of
                                                                       modules */
            rows->rows[rows->count++] = read_row(table, i, steps > 0 ? steps : 1);
    return rows->count > 0;
}
