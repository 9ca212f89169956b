/* What results hold beside their tables, as plain tables. */
#include "exports/flat_facts.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A table that grows row by row. */
struct growing_table {
    struct flat_tables *flat;
    struct flat_table *table;
    size_t capacity;
};

void flat_name_trace(struct value *cells, const struct results *results, size_t trace)
{
    if (trace == SIZE_MAX) /* of all of them */
        return;
    cells[0] = value_count((int64_t)trace);
    if (results->ranks[trace].rank >= 0)
        cells[1] = value_count(results->ranks[trace].rank);
}

static struct growing_table new_table(struct flat_tables *flat, struct flat_table head,
                                      const struct flat_column *columns, size_t column_count)
{
    struct growing_table growing = {.flat = flat, .table = &flat->tables[flat->count++]};

    *growing.table = head;
    growing.table->column_count = column_count;
    growing.table->columns = arena_allocate(&flat->arena, column_count * sizeof *columns);
    memcpy(growing.table->columns, columns, column_count * sizeof *columns);
    return growing;
}

static struct value *new_row(struct growing_table *growing)
{
    struct flat_table *table = growing->table;
    size_t row_size = table->column_count * sizeof *table->cells;

    if (table->row_count == growing->capacity) {
        size_t capacity = growing->capacity * 2 + 8;
        struct value *larger = arena_allocate(&growing->flat->arena, capacity * row_size);

        if (table->row_count > 0)
            memcpy(larger, table->cells, table->row_count * row_size);
        table->cells = larger;
        growing->capacity = capacity;
    }
    return &table->cells[table->row_count++ * table->column_count];
}

/* NULL is no text. */
static struct value text_cell(const struct growing_table *growing, const char *text)
{
    return text ? value_text(utf8_repaired(&growing->flat->arena, text)) : value_none();
}

static void add_traces(struct flat_tables *flat, const struct results *results)
{
    static const struct flat_column columns[] = {{"trace", UNIT_COUNT},
                                                 {"rank", UNIT_COUNT},
                                                 {"label", UNIT_TEXT},
                                                 {"file", UNIT_TEXT},
                                                 {"headline", UNIT_TEXT}};
    struct growing_table growing =
        new_table(flat, (struct flat_table){.name = "traces", .title = "The traces"}, columns, 5);

    for (size_t i = 0; i < results->rank_count; i++) {
        struct value *cells = new_row(&growing);

        flat_name_trace(cells, results, i);
        cells[2] = text_cell(&growing, results->ranks[i].label);
        cells[3] = text_cell(&growing, results->ranks[i].file);
        cells[4] = text_cell(&growing, results->ranks[i].headline);
    }
}

/* ---- what is done for each section ----------------------------------------------------------- */

struct fact_tables {
    const struct results *results;
    struct growing_table numbers;
    struct growing_table findings;
    struct growing_table not_known;
};

static void add_numbers(struct fact_tables *facts, const struct section *section, size_t trace)
{
    for (size_t i = 0; i < section->number_count; i++) {
        const struct number *number = &section->numbers[i];
        struct value *cells = new_row(&facts->numbers);
        bool is_known = number->value.unit != UNIT_NOT_KNOWN;

        flat_name_trace(cells, facts->results, trace);
        cells[2] = value_text(section->key);
        cells[3] = value_text(number->key);
        cells[4] = text_cell(&facts->numbers, number->title);
        cells[5] = number->value.unit == UNIT_TEXT ? text_cell(&facts->numbers, number->value.text)
                   : is_known                      ? number->value
                                                   : value_none();
        cells[6] = value_text(unit_key(number->value.unit));
        cells[7] = text_cell(&facts->numbers, number->note);
        cells[8] = is_known ? value_none() : text_cell(&facts->numbers, number->value.text);
    }
}

/* "idle_data idle_python" */
static const char *joined_accounts(struct arena *arena, const struct advice_price *price)
{
    size_t size = 1, used = 0;
    char *text;

    for (size_t i = 0; i < price->account_count; i++)
        size += strlen(price->accounts[i]) + 1;
    text = arena_allocate(arena, size);
    for (size_t i = 0; i < price->account_count; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", price->accounts[i]);
    return text;
}

/* "3 4 5" */
static const char *joined_steps(struct arena *arena, const struct advice_price *price)
{
    size_t size = price->step_count * 21 + 1, used = 0;
    char *text = arena_allocate(arena, size);

    for (size_t i = 0; i < price->step_count; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? " " : "", price->steps[i]);
    return text;
}

static void add_price(struct growing_table *growing, struct value *cells,
                      const struct advice_price *price)
{
    struct arena *arena = &growing->flat->arena;

    cells[8] = value_text(price->id);
    cells[9] = value_text(joined_accounts(arena, price));
    if (price->share > 0)
        cells[10] = value_fraction(price->share);
    if (price->ceiling_speedup > 0)
        cells[11] = value_number(price->ceiling_speedup);
    cells[12] = value_text(joined_steps(arena, price));
    cells[13] = value_text(price->confidence);
    cells[14] = text_cell(growing, price->reason);
    if (price->change) {
        cells[15] = value_text(price->change);
        if (price->replayed_step_ns >= 0)
            cells[16] = value_time_ns(price->replayed_step_ns);
        if (price->replayed_speedup > 0)
            cells[17] = value_number(price->replayed_speedup);
        if (price->most_speedup > 0) {
            cells[18] = value_number(price->least_speedup);
            cells[19] = value_number(price->most_speedup);
        }
    }
}

/* `section` NULL: problems, of no section. */
static void add_findings(struct fact_tables *facts, const char *section,
                         const struct finding *findings, size_t count, size_t trace)
{
    struct growing_table *growing = &facts->findings;

    for (size_t i = 0; i < count; i++) {
        struct value *cells = new_row(growing);

        flat_name_trace(cells, facts->results, trace);
        cells[2] = text_cell(growing, section);
        cells[3] = text_cell(growing, findings[i].what);
        cells[4] = text_cell(growing, findings[i].evidence);
        cells[5] = text_cell(growing, findings[i].try_this);
        if (findings[i].cost_ns >= 0)
            cells[6] = value_time_ns(findings[i].cost_ns);
        cells[7] = value_count(findings[i].is_warning);
        if (findings[i].price)
            add_price(growing, cells, findings[i].price);
    }
}

/* Cells that are not known: by the table's name, the row within its trace, and the column. */
static void add_unknown_cells(struct fact_tables *facts, const struct section *section,
                              const struct table *table, size_t trace)
{
    struct arena *arena = &facts->not_known.flat->arena;
    size_t size = strlen(section->key) + strlen(table->key) + 2;
    char *name = NULL;
    struct value *cells;

    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        if (table->cells[i].unit != UNIT_NOT_KNOWN)
            continue;
        if (!name) {
            name = arena_allocate(arena, size);
            (void)snprintf(name, size, "%s_%s", section->key, table->key);
        }
        cells = new_row(&facts->not_known);
        flat_name_trace(cells, facts->results, trace);
        cells[2] = value_text(name);
        cells[3] = value_count((int64_t)(i / table->column_count));
        cells[4] = value_text(
            flat_column_name(arena, &table->columns[i % table->column_count], trace == SIZE_MAX));
        cells[5] = text_cell(&facts->not_known, table->cells[i].text);
    }
}

static void add_section(struct fact_tables *facts, const struct section *section, size_t trace)
{
    add_numbers(facts, section, trace);
    add_findings(facts, section->key, section->findings, section->finding_count, trace);
    for (size_t i = 0; i < section->table_count; i++)
        add_unknown_cells(facts, section, section->tables[i], trace);
}

static void open_tables(struct fact_tables *facts, struct flat_tables *flat)
{
    static const struct flat_column numbers[] = {
        {"trace", UNIT_COUNT}, {"rank", UNIT_COUNT}, {"section", UNIT_TEXT},
        {"key", UNIT_TEXT},    {"title", UNIT_TEXT}, {"value", UNIT_NONE},
        {"unit", UNIT_TEXT},   {"note", UNIT_TEXT},  {"not_known", UNIT_TEXT}};
    static const struct flat_column findings[] = {{"trace", UNIT_COUNT},
                                                  {"rank", UNIT_COUNT},
                                                  {"section", UNIT_TEXT},
                                                  {"what", UNIT_TEXT},
                                                  {"evidence", UNIT_TEXT},
                                                  {"try", UNIT_TEXT},
                                                  {"cost_per_step_ns", UNIT_TIME_NS},
                                                  {"is_warning", UNIT_COUNT},
                                                  {"id", UNIT_TEXT},
                                                  {"accounts", UNIT_TEXT},
                                                  {"share_of_step_fraction", UNIT_FRACTION},
                                                  {"ceiling_speedup", UNIT_NUMBER},
                                                  {"steps", UNIT_TEXT},
                                                  {"confidence", UNIT_TEXT},
                                                  {"confidence_reason", UNIT_TEXT},
                                                  {"change", UNIT_TEXT},
                                                  {"replayed_step_ns", UNIT_TIME_NS},
                                                  {"replayed_speedup", UNIT_NUMBER},
                                                  {"replayed_least_speedup", UNIT_NUMBER},
                                                  {"replayed_most_speedup", UNIT_NUMBER}};
    static const struct flat_column not_known[] = {{"trace", UNIT_COUNT},     {"rank", UNIT_COUNT},
                                                   {"table_name", UNIT_TEXT}, {"row", UNIT_COUNT},
                                                   {"column", UNIT_TEXT},     {"needs", UNIT_TEXT}};

    facts->numbers =
        new_table(flat, (struct flat_table){.name = "numbers", .title = "All single numbers"},
                  numbers, sizeof numbers / sizeof *numbers);
    facts->findings = new_table(
        flat, (struct flat_table){.name = "findings", .title = "Advice, warnings and problems"},
        findings, sizeof findings / sizeof *findings);
    facts->not_known = new_table(
        flat,
        (struct flat_table){.name = "not_known", .title = "Cells that are not known, and why"},
        not_known, sizeof not_known / sizeof *not_known);
}

void flatten_facts(struct flat_tables *flat, const struct results *results)
{
    struct fact_tables facts = {.results = results};

    add_traces(flat, results);
    open_tables(&facts, flat);
    add_findings(&facts, NULL, results->problems, results->problem_count, SIZE_MAX);
    if (results->overview)
        add_section(&facts, results->overview, SIZE_MAX);
    for (size_t i = 0; i < results->rank_count; i++)
        for (size_t k = 0; k < results->ranks[i].section_count; k++)
            add_section(&facts, results->ranks[i].sections[k], i);
}
