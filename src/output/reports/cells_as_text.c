/* Values of results as text for a page. */
#include "output/reports/cells_as_text.h"

#include "base/text/display_text.h"
#include "base/text/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *copy(struct arena *arena, struct short_text text)
{
    return arena_copy_text(arena, text.text, strlen(text.text));
}

/* Only times and texts can hold a character beyond ASCII ("µs", names), so only these are
 * asked whether the page may show it. */
const char *value_as_text(struct arena *arena, const struct value *value, bool use_unicode)
{
    switch (value->unit) {
    case UNIT_NONE:
        return "";
    case UNIT_TEXT:
        return display_text(arena, value->text, use_unicode);
    case UNIT_COUNT:
        return copy(arena, format_count(value->integer));
    case UNIT_TIME_NS:
        return display_text(arena, format_time(value->integer).text, use_unicode);
    case UNIT_BYTES:
        return copy(arena, format_bytes(value->integer));
    case UNIT_FRACTION:
        return copy(arena, format_fraction(value->real));
    case UNIT_NUMBER:
        return copy(arena, format_number(value->real));
    case UNIT_BYTES_PER_SECOND:
        return copy(arena, format_bytes_per_second(value->real));
    case UNIT_FLOPS:
        return copy(arena, format_flops(value->real));
    case UNIT_FLOPS_PER_SECOND:
        return copy(arena, format_flops_per_second(value->real));
    case UNIT_NOT_KNOWN:
        return "not known";
    }
    return "";
}

static const struct value *cells_as_text_cell_of(const struct table *table, size_t row,
                                                 size_t column)
{
    return &table->cells[row * table->column_count + column];
}

/* The first that lacks something speaks for the column. */
const char *column_needs(const struct table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        if (cells_as_text_cell_of(table, row, column)->unit == UNIT_NOT_KNOWN)
            return cells_as_text_cell_of(table, row, column)->text;
    }
    return NULL;
}

/* Less than this is "0.0 %": a column that would be all of that gets more decimals. */
static const double NOTHING_TO_SEE = 0.0005;

/* It is for people, and something stands in it that is not "not known". A column of empty cells
 * and "not known" only is left out of the table and named below it. */
static bool holds_something(const struct table *table, size_t column)
{
    if (table->columns[column].priority >= PRIORITY_FOR_PROGRAMS)
        return false;
    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cell = cells_as_text_cell_of(table, row, column);
        bool is_empty = cell->unit == UNIT_NONE || cell->unit == UNIT_NOT_KNOWN ||
                        (cell->unit == UNIT_TEXT && cell->text[0] == '\0');

        if (!is_empty)
            return true;
    }
    return false;
}

bool column_is_unknown(const struct table *table, size_t column)
{
    return table->columns[column].priority < PRIORITY_FOR_PROGRAMS && column_needs(table, column) &&
           !holds_something(table, column);
}

/* How the numbers of a column are written: its unit, and the scale all of them share. */
struct column_scale {
    enum unit unit; /* of the cells that share the scale; UNIT_NONE: each cell by itself */
    struct unit_scale scale;
};

/* The largest number of the column that is of `unit`. */
static double cells_as_text_largest_of(const struct table *table, size_t column, enum unit unit)
{
    double largest = 0;

    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cell = cells_as_text_cell_of(table, row, column);

        if (cell->unit == unit)
            largest =
                fmax(largest, fabs(unit == UNIT_TIME_NS ? (double)cell->integer : cell->real));
    }
    return largest;
}

/* Digits behind the point with which all numbers of the column read well. One number of decimals
 * for all of a column, or points would not stand below each other. */
static int decimals_of_numbers(const struct table *table, size_t column)
{
    double largest = cells_as_text_largest_of(table, column, UNIT_NUMBER);
    bool are_whole = true;

    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cell = cells_as_text_cell_of(table, row, column);

        are_whole = are_whole && (cell->unit != UNIT_NUMBER || cell->real == floor(cell->real));
    }
    return are_whole ? 0 : largest >= 1000 ? 1 : 2;
}

/* Microseconds get the digits that say something: none where all are whole, as in traces that count
 * in them. Recorders that count in microseconds give whole ones: three zeros behind each say
 * nothing. */
static struct unit_scale time_scale_of(const struct table *table, size_t column, double largest_ns)
{
    struct unit_scale scale = time_scale(largest_ns < 9e18 ? (int64_t)largest_ns : INT64_MAX);
    bool are_whole = true;

    if (scale.factor > 1e3)
        return scale;
    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cell = cells_as_text_cell_of(table, row, column);

        are_whole = are_whole && (cell->unit != UNIT_TIME_NS || cell->integer % 1000 == 0);
    }
    scale.decimals = are_whole ? 0 : largest_ns >= 1e5 ? 1 : 3;
    return scale;
}

/* The scale fits the largest of the column, and all share it, since numbers of a column are
 * compared by their length. Counts and bytes are written each by itself, for they span more
 * than one scale can show. */
static struct column_scale scale_of(const struct table *table, size_t column)
{
    enum unit unit = table->columns[column].unit;
    double largest = cells_as_text_largest_of(table, column, unit);

    switch (unit) {
    case UNIT_TIME_NS:
        return (struct column_scale){unit, time_scale_of(table, column, largest)};
    case UNIT_FRACTION:
        return (struct column_scale){
            unit, {"%", 0.01, largest < NOTHING_TO_SEE ? percent_decimals(largest) : 1}};
    case UNIT_NUMBER:
        return (struct column_scale){unit, {"", 1, decimals_of_numbers(table, column)}};
    case UNIT_BYTES_PER_SECOND:
        return (struct column_scale){unit, decimal_scale(largest, bytes_per_second_units)};
    case UNIT_FLOPS:
        return (struct column_scale){unit, decimal_scale(largest, flops_units)};
    case UNIT_FLOPS_PER_SECOND:
        return (struct column_scale){unit, decimal_scale(largest, flops_per_second_units)};
    case UNIT_NONE:
    case UNIT_TEXT:
    case UNIT_COUNT:
    case UNIT_BYTES:
    case UNIT_NOT_KNOWN:
        break;
    }
    return (struct column_scale){.unit = UNIT_NONE, .scale = {"", 1, 0}};
}

static const char *title_with_unit(struct arena *arena, const char *title,
                                   struct column_scale scale, bool use_unicode)
{
    char text[256];

    snprintf(text, sizeof text, "%s (%s)", title, scale.scale.unit);
    return display_text(arena, scale.scale.unit[0] ? text : title, use_unicode);
}

static const char *cell_as_text(struct arena *arena, const struct value *cell,
                                struct column_scale scale, bool use_unicode)
{
    if (cell->unit != scale.unit || cell->unit == UNIT_NONE)
        return value_as_text(arena, cell, use_unicode);
    if (cell->unit == UNIT_TIME_NS)
        return copy(arena, format_scaled_time(cell->integer, scale.scale));
    return copy(arena, format_scaled(cell->real, scale.scale));
}

/* The columns of the page while they are chosen. */
struct conversion {
    struct arena *arena;
    const struct table *from;
    struct text_column *columns;
    struct text_cell *cells;
    size_t *sources;
    size_t column_count; /* of the page, in all */
    size_t next;
    bool use_unicode;
};

/* The scale is one for the whole column: with the unit in its title, numbers below each other
 * can be compared by their length. */
static void convert_column(struct conversion *conversion, size_t column)
{
    const struct column *head = &conversion->from->columns[column];
    struct column_scale scale = scale_of(conversion->from, column);

    conversion->columns[conversion->next] = (struct text_column){
        .title = title_with_unit(conversion->arena, head->title, scale, conversion->use_unicode),
        .kind = head->unit == UNIT_TEXT ? TEXT_COLUMN_NAME : TEXT_COLUMN_NUMBER,
        .priority = head->priority,
    };
    conversion->sources[conversion->next] = column;
    for (size_t row = 0; row < conversion->from->row_count; row++)
        conversion->cells[row * conversion->column_count + conversion->next].text =
            cell_as_text(conversion->arena, cells_as_text_cell_of(conversion->from, row, column),
                         scale, conversion->use_unicode);
    conversion->next++;
}

enum { WATERFALL_DEPTH_MAX = 8 };

/* Where the next bar of each depth ends: rows fill the row above them from the right. */
struct waterfall {
    double next_end[WATERFALL_DEPTH_MAX + 2];
    double left[WATERFALL_DEPTH_MAX + 2]; /* no bar of the depth begins before this */
};

/* Rows of the ledger fill the row above them from right to left, as what is taken off the
 * whole. next_end[depth] is where the next bar of that depth ends; a row opens the range in
 * which those below it go. A negative part has no length. Rounding may leave a bar a little
 * over the left end, and there it is stopped. */
static double waterfall_start(struct waterfall *fall, int depth, double fraction)
{
    int at = depth < WATERFALL_DEPTH_MAX ? depth : WATERFALL_DEPTH_MAX;
    double length = fmax(fraction, 0);
    double start = fall->next_end[at] - length;

    if (at == 0 && start < -1e-6) /* what came before was the whole */
        start = 1 - length;
    start = fmax(start, fall->left[at]);
    fall->next_end[at] = start;
    fall->next_end[at + 1] = start + length;
    fall->left[at + 1] = start;
    return start;
}

/* Its priority is after that of the numbers that it draws: where the width is short, the bar
 * goes first. */
static void convert_bar(struct conversion *conversion, size_t column)
{
    struct waterfall fall = {.next_end = {1}};

    conversion->columns[conversion->next] =
        (struct text_column){.title = "",
                             .kind = TEXT_COLUMN_BAR,
                             .priority = conversion->from->columns[column].priority + 1};
    conversion->sources[conversion->next] = column;
    for (size_t row = 0; row < conversion->from->row_count; row++) {
        const struct value *cell = cells_as_text_cell_of(conversion->from, row, column);
        struct text_cell *bar =
            &conversion->cells[row * conversion->column_count + conversion->next];

        if (cell->unit != UNIT_FRACTION)
            continue;
        bar->fraction = cell->real;
        if (conversion->from->columns[column].bar == BAR_WATERFALL)
            bar->start = waterfall_start(&fall, conversion->from->depths[row], cell->real);
    }
    conversion->next++;
}

static bool cells_as_text_has_bar(const struct column *column)
{
    return column->bar != BAR_NONE && column->unit == UNIT_FRACTION;
}

/* Counted first, then converted: a column with a bar takes two. */
struct page_table table_as_text(struct arena *arena, const struct table *table, bool use_unicode)
{
    struct conversion conversion = {.arena = arena, .from = table, .use_unicode = use_unicode};

    for (size_t i = 0; i < table->column_count; i++) {
        if (holds_something(table, i))
            conversion.column_count += cells_as_text_has_bar(&table->columns[i]) ? 2 : 1;
    }
    conversion.columns =
        arena_allocate(arena, conversion.column_count * sizeof *conversion.columns);
    conversion.sources =
        arena_allocate(arena, conversion.column_count * sizeof *conversion.sources);
    conversion.cells = arena_allocate(arena, table->row_count * conversion.column_count *
                                                 sizeof *conversion.cells);
    for (size_t i = 0; i < table->column_count; i++) {
        if (!holds_something(table, i))
            continue;
        convert_column(&conversion, i);
        if (cells_as_text_has_bar(&table->columns[i]))
            convert_bar(&conversion, i);
    }
    return (struct page_table){.text = {.columns = conversion.columns,
                                        .column_count = conversion.column_count,
                                        .cells = conversion.cells,
                                        .depths = table->depths,
                                        .row_count = table->row_count},
                               .sources = conversion.sources};
}
