/* What the analyses hand to the reports: kept in one arena, grown by doubling; found by its keys.
 */
#include "output/results/results.h"

#include "base/core/arena.h"
#include "base/core/out_of_memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void results_init(struct results *results)
{
    results->arena = calloc(1, sizeof *results->arena);
    if (!results->arena)
        end_out_of_memory();
}

void results_clear(struct results *results)
{
    if (!results)
        return;
    if (results->arena) {
        arena_clear(results->arena);
        free(results->arena);
    }
    memset(results, 0, sizeof *results);
}

void *results_allocate(struct results *results, size_t bytes)
{
    return arena_allocate(results->arena, bytes);
}

const char *results_text(struct results *results, const char *text)
{
    return arena_copy_text(results->arena, text, strlen(text));
}

/* Measured first, for the arena gives room that cannot grow. */
const char *results_format(struct results *results, const char *format, ...)
{
    va_list arguments;
    va_list again;
    char *text;
    int length;

    va_start(arguments, format);
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert(length >= 0);
    text = arena_allocate(results->arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

/* The list may move when it grows: the pointer is valid until the next rank is added. */
struct rank_results *results_add_rank(struct results *results, const char *label, const char *file,
                                      int64_t rank, uint32_t speakers)
{
    struct rank_results *added;

    results->ranks = arena_list_with_room(results->arena, results->ranks, results->rank_count,
                                          sizeof *results->ranks);
    added = &results->ranks[results->rank_count++];
    *added =
        (struct rank_results){.label = label, .file = file, .rank = rank, .speakers = speakers};
    return added;
}

void results_add_problem(struct results *results, struct finding problem)
{
    results->problems = arena_list_with_room(results->arena, results->problems,
                                             results->problem_count, sizeof *results->problems);
    results->problems[results->problem_count++] = problem;
}

void results_add_warning(struct results *results, const char *what)
{
    results_add_problem(results, (struct finding){.what = what, .cost_ns = -1, .is_warning = true});
}

void results_add_failure(struct results *results, const struct error *error)
{
    results_add_warning(results, results_text(results, error->message));
}

/* The arena is adopted rather than copied: what the ranks point to stays where it is. */
void results_take(struct results *results, struct results *from)
{
    for (size_t i = 0; i < from->rank_count; i++) {
        results->ranks = arena_list_with_room(results->arena, results->ranks, results->rank_count,
                                              sizeof *results->ranks);
        results->ranks[results->rank_count++] = from->ranks[i];
    }
    for (size_t i = 0; i < from->problem_count; i++)
        results_add_problem(results, from->problems[i]);
    if (!results->headline)
        results->headline = from->headline;
    if (!results->overview)
        results->overview = from->overview;
    arena_adopt(results->arena, from->arena);
    results_clear(from);
}

struct section *section_new(struct results *results, const char *key, const char *title,
                            const char *intro)
{
    struct section *section = results_allocate(results, sizeof *section);

    *section = (struct section){.key = key, .title = title, .intro = intro};
    return section;
}

void section_add_number(struct results *results, struct section *section, struct number number)
{
    section->numbers = arena_list_with_room(results->arena, section->numbers, section->number_count,
                                            sizeof *section->numbers);
    section->numbers[section->number_count++] = number;
}

void section_add_value(struct results *results, struct section *section, const char *key,
                       const char *title, struct value value)
{
    section_add_number(results, section,
                       (struct number){.key = key, .title = title, .value = value});
}

void section_add_finding(struct results *results, struct section *section, struct finding finding)
{
    section->findings = arena_list_with_room(results->arena, section->findings,
                                             section->finding_count, sizeof *section->findings);
    section->findings[section->finding_count++] = finding;
}

void section_add_note(struct results *results, struct section *section, const char *what,
                      const char *evidence, const char *try_this)
{
    section_add_finding(
        results, section,
        (struct finding){.what = what, .evidence = evidence, .try_this = try_this, .cost_ns = -1});
}

/* -1 is "no cost is told", which 0 is not. */
void section_add_warning(struct results *results, struct section *section, const char *what,
                         const char *evidence, const char *try_this)
{
    section_add_finding(results, section,
                        (struct finding){.what = what,
                                         .evidence = evidence,
                                         .try_this = try_this,
                                         .cost_ns = -1,
                                         .is_warning = true});
}

/* A table is named where it is made. NOLINTNEXTLINE(readability-function-size) */
struct table *section_add_table(struct results *results, struct section *section, const char *key,
                                const char *title, const struct column *columns,
                                size_t column_count)
{
    struct table *table = results_allocate(results, sizeof *table);

    assert(column_count > 0);
    *table = (struct table){.key = key, .title = title, .column_count = column_count};
    table->columns = results_allocate(results, column_count * sizeof *columns);
    memcpy(table->columns, columns, column_count * sizeof *columns);
    section->tables = arena_list_with_room(results->arena, section->tables, section->table_count,
                                           sizeof *section->tables);
    section->tables[section->table_count++] = table;
    return table;
}

/* Cells begin as "none", so that a row that is filled in part prints blanks, not zeros. */
struct value *table_add_row(struct results *results, struct table *table, int depth)
{
    struct value *row;

    table->cells = arena_list_with_room(results->arena, table->cells, table->row_count,
                                        table->column_count * sizeof *table->cells);
    table->depths = arena_list_with_room(results->arena, table->depths, table->row_count,
                                         sizeof *table->depths);
    row = &table->cells[table->row_count * table->column_count];
    for (size_t i = 0; i < table->column_count; i++)
        row[i] = value_none();
    table->depths[table->row_count++] = depth;
    return row;
}

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
