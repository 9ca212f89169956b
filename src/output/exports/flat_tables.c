/* Results as plain tables: rows of all ranks below each other, and the names of their columns. */
#include "output/exports/flat_tables.h"

#include "base/text/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct flat_column flat_lead_columns[FLAT_LEAD_COUNT] = {
    {"trace", UNIT_COUNT}, {"rank", UNIT_COUNT}, {"row", UNIT_COUNT}, {"depth", UNIT_COUNT}};

/* A column of a file has no other place for its unit than its name. */
static const char *unit_suffix(enum unit unit)
{
    switch (unit) {
    case UNIT_TIME_NS:
        return "_ns";
    case UNIT_BYTES:
        return "_bytes";
    case UNIT_FRACTION:
        return "_fraction";
    case UNIT_BYTES_PER_SECOND:
        return "_bytes_per_second";
    case UNIT_FLOPS:
        return "_flops";
    case UNIT_FLOPS_PER_SECOND:
        return "_flops_per_second";
    case UNIT_NONE:
    case UNIT_TEXT:
    case UNIT_COUNT:
    case UNIT_NUMBER:
    case UNIT_NOT_KNOWN:
        break;
    }
    return "";
}

/* True of an empty ending: a unit without a suffix leaves the name as it is. */
static bool flat_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Letters count alike, as column names of SQL do. */
static bool is_lead_column(const char *key)
{
    for (int i = 0; i < FLAT_LEAD_COUNT; i++)
        if (strcasecmp(flat_lead_columns[i].name, key) == 0)
            return true;
    return false;
}

/* The unit goes into the name, since a plain table has no other place for it: "duration_ns". A
 * name that has it already stays, and one that is that of a leading column gets a number, as
 * columns of a table must differ (SQL compares them without case). */
const char *flat_column_name(struct arena *arena, const struct column *column, bool is_of_overview)
{
    const char *suffix = unit_suffix(column->unit);
    size_t size = strlen(column->key) + strlen(suffix) + 3;
    char *name;

    if (!is_of_overview && is_lead_column(column->key))
        suffix = "_2";
    else if (flat_ends_with(column->key, suffix) ||
             strcmp(column->key, suffix + (suffix[0] == '_')) == 0)
        return column->key;
    name = arena_allocate(arena, size);
    (void)snprintf(name, size, "%s%s", column->key, suffix);
    return name;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* What results hold beside their tables, as plain tables: the traces, all single numbers, findings,
 * and what is not known. */

enum { FLAT_FACTS_COUNT = 4 };

/* A table that grows row by row. */
struct growing_table {
    struct flat_tables *flat;
    struct flat_table *table;
};

/* The first two cells of a row: the index of the trace, and its rank where that is known. Rows
 * that are of all traces (problems, the overview) leave both cells empty: they refer to none. */
static void flat_name_trace(struct value *cells, const struct results *results, size_t trace)
{
    if (trace == SIZE_MAX) /* of all of them */
        return;
    *cells++ = value_count((int64_t)trace);
    if (results->ranks[trace].rank >= 0)
        *cells = value_count(results->ranks[trace].rank);
}

/* The last of `columns` has no name. */
static struct growing_table new_table(struct flat_tables *flat, struct flat_table head,
                                      const struct flat_column *columns)
{
    struct growing_table growing = {.flat = flat, .table = &flat->tables[flat->count++]};
    size_t column_count = 0;

    while (columns[column_count].name)
        column_count++;
    *growing.table = head;
    growing.table->column_count = column_count;
    growing.table->columns = arena_allocate(&flat->arena, column_count * sizeof *columns);
    memcpy(growing.table->columns, columns, column_count * sizeof *columns);
    return growing;
}

static struct value *flat_facts_new_row(struct growing_table *growing)
{
    struct flat_table *table = growing->table;
    size_t row_size = table->column_count * sizeof *table->cells;

    table->cells =
        arena_list_with_room(&growing->flat->arena, table->cells, table->row_count, row_size);
    return &table->cells[table->row_count++ * table->column_count];
}

/* NULL is no text. Names in a trace may hold bytes that are no UTF-8, which SQLite takes and
 * pandas does not read. */
static struct value text_cell(const struct growing_table *growing, const char *text)
{
    return text ? value_text(utf8_repaired(&growing->flat->arena, text)) : value_none();
}

/* A row is the number of the trace, its rank, and what a list says, which declares each column with
 * what stands in it: as COLUMN of output/results/results.h, for tables without titles. */
#define FACT_DECLARED(name, unit, cell) {name, unit},
#define FACT_FILLED(name, unit, cell)   *next_cell++ = (cell);
#define FACT_TABLE(flat, head, list)                              \
    new_table(flat, head,                                         \
              (const struct flat_column[]){{"trace", UNIT_COUNT}, \
                                           {"rank", UNIT_COUNT},  \
                                           list(FACT_DECLARED){NULL, UNIT_NONE}})
#define FACT_ROW(growing, results, trace, list)                \
    do {                                                       \
        struct value *next_cell = flat_facts_new_row(growing); \
                                                               \
        flat_name_trace(next_cell, results, trace);            \
        next_cell += 2;                                        \
        list(FACT_FILLED)                                      \
    } while (0)

#define TRACE_FACTS(FACT)                                                  \
    FACT("label", UNIT_TEXT, text_cell(&growing, results->ranks[i].label)) \
    FACT("file", UNIT_TEXT, text_cell(&growing, results->ranks[i].file))   \
    FACT("headline", UNIT_TEXT, text_cell(&growing, results->ranks[i].headline))

static void flat_facts_add_traces(struct flat_tables *flat, const struct results *results)
{
    struct growing_table growing = FACT_TABLE(
        flat, ((struct flat_table){.name = "traces", .title = "The traces"}), TRACE_FACTS);

    for (size_t i = 0; i < results->rank_count; i++)
        FACT_ROW(&growing, results, i, TRACE_FACTS);
}

/* ---- what is done for each section ----------------------------------------------------------- */

struct fact_tables {
    const struct results *results;
    struct growing_table numbers;
    struct growing_table findings;
    struct growing_table not_known;
};

static struct value known_value(const struct growing_table *growing, struct value value)
{
    if (value.unit == UNIT_TEXT)
        return text_cell(growing, value.text);
    return value.unit == UNIT_NOT_KNOWN ? value_none() : value;
}

#define NUMBER_FACTS(FACT)                                                                     \
    FACT("section", UNIT_TEXT, value_text(section->key))                                       \
    FACT("key", UNIT_TEXT, value_text(number->key))                                            \
    FACT("title", UNIT_TEXT, text_cell(&facts->numbers, number->title))                        \
    FACT("value", UNIT_NONE, known_value(&facts->numbers, number->value))                      \
    FACT("unit", UNIT_TEXT, value_text(unit_key(number->value.unit)))                          \
    FACT("note", UNIT_TEXT, text_cell(&facts->numbers, number->note))                          \
    FACT("not_known", UNIT_TEXT,                                                               \
         number->value.unit == UNIT_NOT_KNOWN ? text_cell(&facts->numbers, number->value.text) \
                                              : value_none())

static void flat_facts_add_numbers(struct fact_tables *facts, const struct section *section,
                                   size_t trace)
{
    for (size_t i = 0; i < section->number_count; i++) {
        const struct number *number = &section->numbers[i];

        FACT_ROW(&facts->numbers, facts->results, trace, NUMBER_FACTS);
    }
}

/* "idle_data idle_python"; NULL where there is no price. Sized first, then filled: snprintf
 * never cuts. */
static const char *joined_accounts(struct arena *arena, const struct advice_estimate *estimate)
{
    size_t size = 1, used = 0;
    char *text;

    if (!estimate->id)
        return NULL;
    for (size_t i = 0; i < estimate->account_count; i++)
        size += strlen(estimate->accounts[i]) + 1;
    text = arena_allocate(arena, size);
    for (size_t i = 0; i < estimate->account_count; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", estimate->accounts[i]);
    return text;
}

/* "3 4 5"; likewise. 21 is the longest 64-bit number with its space. */
static const char *joined_steps(struct arena *arena, const struct advice_estimate *estimate)
{
    size_t size = estimate->step_count * 21 + 1, used = 0;
    char *text = estimate->id ? arena_allocate(arena, size) : NULL;

    for (size_t i = 0; i < estimate->step_count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? " " : "",
                                 estimate->steps[i]);
    return text;
}

static struct value positive(double number)
{
    return number > 0 ? value_number(number) : value_none();
}

#define FINDING_FACTS(FACT)                                                                     \
    FACT("section", UNIT_TEXT, text_cell(growing, section))                                     \
    FACT("what", UNIT_TEXT, text_cell(growing, findings[i].what))                               \
    FACT("evidence", UNIT_TEXT, text_cell(growing, findings[i].evidence))                       \
    FACT("try", UNIT_TEXT, text_cell(growing, findings[i].try_this))                            \
    FACT("cost_per_step_ns", UNIT_TIME_NS,                                                      \
         findings[i].cost_ns >= 0 ? value_time_ns(findings[i].cost_ns) : value_none())          \
    FACT("is_warning", UNIT_COUNT, value_count(findings[i].is_warning))                         \
    FACT("id", UNIT_TEXT, text_cell(growing, estimate->id))                                     \
    FACT("accounts", UNIT_TEXT, text_cell(growing, joined_accounts(arena, estimate)))           \
    FACT("share_of_step_fraction", UNIT_FRACTION,                                               \
         estimate->share > 0 ? value_fraction(estimate->share) : value_none())                  \
    FACT("ceiling_speedup", UNIT_NUMBER, positive(estimate->ceiling_speedup))                   \
    FACT("steps", UNIT_TEXT, text_cell(growing, joined_steps(arena, estimate)))                 \
    FACT("confidence", UNIT_TEXT, text_cell(growing, estimate->confidence))                     \
    FACT("confidence_reason", UNIT_TEXT, text_cell(growing, estimate->reason))                  \
    FACT("change", UNIT_TEXT, text_cell(growing, estimate->change))                             \
    FACT("replayed_step_ns", UNIT_TIME_NS,                                                      \
         estimate->change && estimate->replayed_step_ns >= 0                                    \
             ? value_time_ns(estimate->replayed_step_ns)                                        \
             : value_none())                                                                    \
    FACT("replayed_speedup", UNIT_NUMBER,                                                       \
         positive(estimate->change ? estimate->replayed_speedup : 0))                           \
    FACT("replayed_least_speedup", UNIT_NUMBER,                                                 \
         estimate->change && estimate->most_speedup > 0 ? value_number(estimate->least_speedup) \
                                                        : value_none())                         \
    FACT("replayed_most_speedup", UNIT_NUMBER,                                                  \
         positive(estimate->change ? estimate->most_speedup : 0))

/* `section` NULL: problems, of no section. */
static void flat_facts_add_findings(struct fact_tables *facts, const char *section,
                                    const struct finding *findings, size_t count, size_t trace)
{
    static const struct advice_estimate no_cost = {0};
    struct growing_table *growing = &facts->findings;
    struct arena *arena = &growing->flat->arena;

    for (size_t i = 0; i < count; i++) {
        const struct advice_estimate *estimate =
            findings[i].estimate ? findings[i].estimate : &no_cost;

        FACT_ROW(growing, facts->results, trace, FINDING_FACTS);
    }
}

#define UNKNOWN_FACTS(FACT)                                                           \
    FACT("table_name", UNIT_TEXT, value_text(name))                                   \
    FACT("row", UNIT_COUNT, value_count((int64_t)(i / table->column_count)))          \
    FACT("column", UNIT_TEXT,                                                         \
         value_text(flat_column_name(arena, &table->columns[i % table->column_count], \
                                     trace == SIZE_MAX)))                             \
    FACT("needs", UNIT_TEXT, text_cell(&facts->not_known, table->cells[i].text))

/* Cells that are not known: by the table's name, the row within its trace, and the column. Empty
 * cells of the tables lose why they are empty; it is kept here, by the name that the column has
 * there. */
static void add_unknown_cells(struct fact_tables *facts, const struct section *section,
                              const struct table *table, size_t trace)
{
    struct arena *arena = &facts->not_known.flat->arena;
    size_t size = strlen(section->key) + strlen(table->key) + 2;
    char *name = NULL;

    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        if (table->cells[i].unit != UNIT_NOT_KNOWN)
            continue;
        if (!name) {
            name = arena_allocate(arena, size);
            (void)snprintf(name, size, "%s_%s", section->key, table->key);
        }
        FACT_ROW(&facts->not_known, facts->results, trace, UNKNOWN_FACTS);
    }
}

static void flat_facts_add_section(struct fact_tables *facts, const struct section *section,
                                   size_t trace)
{
    flat_facts_add_numbers(facts, section, trace);
    flat_facts_add_findings(facts, section->key, section->findings, section->finding_count, trace);
    for (size_t i = 0; i < section->table_count; i++)
        add_unknown_cells(facts, section, section->tables[i], trace);
}

/* A cell of a file has no room for the reason why it is empty: reasons are rows of a table of
 * their own. */
static void open_tables(struct fact_tables *facts, struct flat_tables *flat)
{
    facts->numbers =
        FACT_TABLE(flat, ((struct flat_table){.name = "numbers", .title = "All single numbers"}),
                   NUMBER_FACTS);
    facts->findings = FACT_TABLE(
        flat, ((struct flat_table){.name = "findings", .title = "Advice, warnings and problems"}),
        FINDING_FACTS);
    facts->not_known = FACT_TABLE(
        flat,
        ((struct flat_table){.name = "not_known", .title = "Cells that are not known, and why"}),
        UNKNOWN_FACTS);
}

/* Adds the tables traces, numbers, findings and not_known to `flat`, which has room for them.
 * Problems first, which are of no trace; then the overview, then traces in their order. */
static void flatten_facts(struct flat_tables *flat, const struct results *results)
{
    struct fact_tables facts = {.results = results};

    flat_facts_add_traces(flat, results);
    open_tables(&facts, flat);
    flat_facts_add_findings(&facts, NULL, results->problems, results->problem_count, SIZE_MAX);
    if (results->overview)
        flat_facts_add_section(&facts, results->overview, SIZE_MAX);
    for (size_t i = 0; i < results->rank_count; i++)
        for (size_t k = 0; k < results->ranks[i].section_count; k++)
            flat_facts_add_section(&facts, results->ranks[i].sections[k], i);
}

/* ---- flatten results ------------------------------------------------------------------------- */

/* One table of one rank, on its way into the flat one. */
struct source_table {
    const struct table *table;
    size_t trace; /* index of the rank; SIZE_MAX: of the overview */
};

/* All tables of one section and key. */
struct source_group {
    const char *section;
    const char *key;
    struct source_table *sources; /* [count] */
    size_t count;
};

struct flattening {
    struct flat_tables *flat;
    const struct results *results;
    struct source_group *groups; /* [group_count] */
    size_t group_count;
};

/* Without case, as SQL compares names. */
static size_t flat_column_of(const struct flat_table *table, const char *name)
{
    size_t i = 0;

    while (i < table->column_count && strcasecmp(table->columns[i].name, name) != 0)
        i++;
    return i;
}

/* ---- which tables there are ------------------------------------------------------------------ */

/* Linear in some tens of tables. */
static struct source_group *flat_group_of(struct flattening *work, const char *section,
                                          const char *key)
{
    for (size_t i = 0; i < work->group_count; i++)
        if (strcmp(work->groups[i].section, section) == 0 && strcmp(work->groups[i].key, key) == 0)
            return &work->groups[i];
    ARENA_LIST_ADD(&work->flat->arena, work->groups, work->group_count,
                   (struct source_group){.section = section, .key = key});
    return &work->groups[work->group_count - 1];
}

static void add_source(struct flattening *work, struct source_group *group,
                       struct source_table source)
{
    ARENA_LIST_ADD(&work->flat->arena, group->sources, group->count, source);
}

static void add_tables_of(struct flattening *work, const struct section *section, size_t trace)
{
    for (size_t i = 0; i < section->table_count; i++)
        add_source(work, flat_group_of(work, section->key, section->tables[i]->key),
                   (struct source_table){section->tables[i], trace});
}

/* The tables of the overview come first, and each table is where it was first seen. */
static void find_groups(struct flattening *work)
{
    const struct results *results = work->results;

    if (results->overview)
        add_tables_of(work, results->overview, SIZE_MAX);
    for (size_t i = 0; i < results->rank_count; i++)
        for (size_t k = 0; k < results->ranks[i].section_count; k++)
            add_tables_of(work, results->ranks[i].sections[k], i);
}

/* ---- one table ------------------------------------------------------------------------------- */

static size_t lead_count(const struct source_table *source)
{
    return source->trace == SIZE_MAX ? FLAT_OVERVIEW_LEAD_COUNT : FLAT_LEAD_COUNT;
}

static const char *flat_name_of(struct flattening *work, const struct source_table *source,
                                size_t column)
{
    return flat_column_name(&work->flat->arena, &source->table->columns[column],
                            source->trace == SIZE_MAX);
}

/* Ranks may lack columns that others have (a CPU trace beside GPU traces, a recording with memory
 * beside one without): one table of all ranks has them all, and a rank's missing cells are empty.
 */
/* The union of the columns, in the order in which they are first seen. */
static void collect_columns(struct flattening *work, struct flat_table *flat,
                            const struct source_group *group)
{
    size_t most = FLAT_LEAD_COUNT;

    for (size_t i = 0; i < group->count; i++)
        most += group->sources[i].table->column_count;
    flat->columns = arena_allocate(&work->flat->arena, most * sizeof *flat->columns);
    flat->column_count = lead_count(&group->sources[0]);
    memcpy(flat->columns, flat_lead_columns + FLAT_LEAD_COUNT - flat->column_count,
           flat->column_count * sizeof *flat_lead_columns);
    for (size_t i = 0; i < group->count; i++) {
        const struct table *table = group->sources[i].table;

        for (size_t k = 0; k < table->column_count; k++) {
            const char *name = flat_name_of(work, &group->sources[i], k);

            if (flat_column_of(flat, name) == flat->column_count)
                flat->columns[flat->column_count++] =
                    (struct flat_column){name, table->columns[k].unit};
        }
    }
}

static struct value clean_cell(struct flattening *work, struct value cell)
{
    if (cell.unit == UNIT_TEXT)
        return value_text(utf8_repaired(&work->flat->arena, cell.text));
    return cell.unit == UNIT_NOT_KNOWN ? value_none() : cell;
}

/* Places of columns are looked up once for a table, not for each cell. Cells that a rank lacks
 * keep the zero of the arena, which is UNIT_NONE: empty. */
static void flat_add_rows(struct flattening *work, struct flat_table *flat,
                          const struct source_table *source)
{
    const struct table *table = source->table;
    size_t lead = lead_count(source);
    size_t *place = arena_allocate(&work->flat->arena, table->column_count * sizeof *place);

    for (size_t i = 0; i < table->column_count; i++)
        place[i] = flat_column_of(flat, flat_name_of(work, source, i));
    for (size_t row = 0; row < table->row_count; row++) {
        struct value *cells = &flat->cells[flat->row_count++ * flat->column_count];

        cells[lead - 2] = value_count((int64_t)row);
        cells[lead - 1] = value_count(table->depths[row]);
        if (lead == FLAT_LEAD_COUNT)
            flat_name_trace(cells, work->results, source->trace);
        for (size_t i = 0; i < table->column_count; i++)
            cells[place[i]] = clean_cell(work, table->cells[row * table->column_count + i]);
    }
}

/* Room for all rows of all ranks is counted first: cells are one block. */
static void flatten_group(struct flattening *work, const struct source_group *group)
{
    struct flat_table *flat = &work->flat->tables[work->flat->count++];
    size_t size = strlen(group->section) + strlen(group->key) + 2;
    char *name = arena_allocate(&work->flat->arena, size);
    size_t rows = 0;

    (void)snprintf(name, size, "%s_%s", group->section, group->key);
    *flat = (struct flat_table){
        .name = name, .title = utf8_repaired(&work->flat->arena, group->sources[0].table->title)};
    collect_columns(work, flat, group);
    for (size_t i = 0; i < group->count; i++)
        rows += group->sources[i].table->row_count;
    flat->cells =
        arena_allocate(&work->flat->arena, (rows * flat->column_count + 1) * sizeof *flat->cells);
    for (size_t i = 0; i < group->count; i++)
        flat_add_rows(work, flat, &group->sources[i]);
}

/* Facts need four tables beside the groups, whose number is known once they are found. */
void flatten_results(struct flat_tables *flat, const struct results *results)
{
    struct flattening work = {.flat = flat, .results = results};

    find_groups(&work);
    flat->tables =
        arena_allocate(&flat->arena, (work.group_count + FLAT_FACTS_COUNT) * sizeof *flat->tables);
    flatten_facts(flat, results);
    for (size_t i = 0; i < work.group_count; i++)
        flatten_group(&work, &work.groups[i]);
}

void flat_tables_clear(struct flat_tables *flat)
{
    if (!flat)
        return;
    arena_clear(&flat->arena);
    *flat = (struct flat_tables){0};
}
