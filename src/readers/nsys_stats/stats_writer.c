/* Writes the table of a report of nsys-stats as CSV, as JSON, and for the screen. */
#include "readers/nsys_stats/stats_writer.h"

#include "base/core/attributes.h"
#include "base/text/csv_field.h"
#include "base/text/display_text.h"
#include "base/text/terminal.h"
#include "base/text/text_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_WIDTH_WANTED = 36,
    ROWS_AT_ONCE = 100000, /* on the screen; a longer table goes on under its titles again */
};

/* Room for any number. */
struct cell_text {
    char text[64];
};

/* The text of a number; of a text only whether there is one. */
static struct cell_text stats_writer_number_text(const struct stats_cell *cell)
{
    struct cell_text text = {""};

    switch (cell->kind) {
    case STATS_NONE:
    case STATS_TEXT:
        break;
    case STATS_INTEGER:
        (void)snprintf(text.text, sizeof text.text, "%" PRId64, cell->integer);
        break;
    case STATS_TENTHS:
        (void)snprintf(text.text, sizeof text.text, "%.1f", cell->real);
        break;
    case STATS_MEGABYTES:
        (void)snprintf(text.text, sizeof text.text, "%.3f", cell->real / 1e6);
        break;
    }
    return text;
}

/* ---- CSV ------------------------------------------------------------------------------------ */

void stats_write_csv(FILE *output, const struct stats_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        (void)fputs(i ? "," : "", output);
        csv_write_text(output, table->columns[i]);
    }
    (void)fputc('\n', output);
    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        const struct stats_cell *cell = &table->cells[i];

        if (cell->kind == STATS_TEXT)
            csv_write_text(output, cell->text);
        else
            (void)fputs(stats_writer_number_text(cell).text, output);
        (void)fputc((i + 1) % table->column_count ? ',' : '\n', output);
    }
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void write_json_cell(struct json_writer *writer, const char *key,
                            const struct stats_cell *cell)
{
    switch (cell->kind) {
    case STATS_NONE: /* as nsys has it */
        json_text(writer, key, "");
        break;
    case STATS_TEXT:
        json_text(writer, key, cell->text);
        break;
    case STATS_INTEGER:
        json_integer(writer, key, cell->integer);
        break;
    case STATS_TENTHS:
        json_real(writer, key, cell->real);
        break;
    case STATS_MEGABYTES:
        json_real(writer, key, strtod(stats_writer_number_text(cell).text, NULL));
        break;
    }
}

void stats_write_json(struct json_writer *writer, const char *key, const struct stats_table *table)
{
    json_begin_array(writer, key, JSON_ONE_PER_LINE);
    for (size_t row = 0; row < table->row_count; row++) {
        json_begin_object(writer, NULL, JSON_ONE_PER_LINE);
        for (size_t i = 0; i < table->column_count; i++)
            write_json_cell(writer, table->columns[i],
                            &table->cells[row * table->column_count + i]);
        json_end_object(writer);
    }
    json_end_array(writer);
}

/* ---- the screen ----------------------------------------------------------------------------- */

/* 0: always shown; the others go one after the other, the highest first. */
static int priority_of(const struct stats_table *table, size_t column)
{
    static const char *const first[] = {
        "Time (%)",    "Total", "Num Calls",  "Instances", "Count", "Start",     "Duration", "Name",
        "Kernel Name", "Range", "NVTX Range", "Operation", "Avg",   "Kern Inst", "TAvg"};

    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        if (strncmp(table->columns[column], first[i], strlen(first[i])) == 0)
            return 0;
    }
    return 1 + (int)column;
}

static bool is_name_column(const struct stats_table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        enum stats_kind kind = table->cells[row * table->column_count + column].kind;

        if (kind != STATS_NONE)
            return kind == STATS_TEXT;
    }
    return false;
}

/* The longest word of a title, which may be broken between words. */
static size_t title_width(const char *title)
{
    size_t longest = 0;

    while (*title) {
        size_t length = strcspn(title, " ");

        longest = length > longest ? length : longest;
        title += length + (title[length] == ' ');
    }
    return longest;
}

/* Columns of the screen that column `column` wants; of a name not more than it needs to be known
 * by.
 */
static size_t wanted_width(const struct stats_table *table, size_t column)
{
    size_t widest = title_width(table->columns[column]);

    for (size_t row = 0; row < table->row_count; row++) {
        const struct stats_cell *cell = &table->cells[row * table->column_count + column];
        size_t length = cell->kind == STATS_TEXT ? strlen(cell->text)
                                                 : strlen(stats_writer_number_text(cell).text);

        widest = length > widest ? length : widest;
    }
    return is_name_column(table, column) && widest > NAME_WIDTH_WANTED ? NAME_WIDTH_WANTED : widest;
}

/* Leaves out what is less important until the rest has the room that it wants; the columns that
 * stay are put into `chosen`. */
static size_t choose_columns(const struct stats_table *table, int width, struct arena *arena,
                             size_t *chosen)
{
    bool *is_out = arena_allocate(arena, table->column_count * sizeof *is_out);
    size_t count = 0;
    size_t total = 0;

    for (size_t i = 0; i < table->column_count; i++)
        total += wanted_width(table, i) + 2;
    while (total > (size_t)width) {
        size_t last = table->column_count;

        for (size_t i = 0; i < table->column_count; i++) {
            if (!is_out[i] && priority_of(table, i) > 0 &&
                (last == table->column_count || priority_of(table, i) > priority_of(table, last)))
                last = i;
        }
        if (last == table->column_count)
            break;
        is_out[last] = true;
        total -= wanted_width(table, last) + 2;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        if (!is_out[i])
            chosen[count++] = i;
    }
    return count;
}

/* What of the table goes on the screen. */
struct screen {
    const struct stats_table *table;
    size_t *chosen; /* [count]: its columns */
    struct text_column *columns;
    size_t count;
    struct text_style style;
};

static void stats_writer_write_rows(FILE *output, const struct screen *screen, size_t first,
                                    size_t row_count)
{
    SCOPED(arena) arena = {0};
    size_t count = screen->count;
    struct text_cell *cells = arena_allocate(&arena, (row_count * count + 1) * sizeof *cells);
    struct text_table text = {
        .columns = screen->columns, .column_count = count, .cells = cells, .row_count = row_count};

    for (size_t i = 0; i < row_count * count; i++) {
        const struct stats_cell *cell =
            &screen->table->cells[(first + i / count) * screen->table->column_count +
                                  screen->chosen[i % count]];
        struct cell_text number = stats_writer_number_text(cell);

        if (cell->kind == STATS_TEXT)
            cells[i].text = display_text(&arena, cell->text, screen->style.use_unicode);
        else
            cells[i].text = arena_copy_text(&arena, number.text, strlen(number.text));
    }
    (void)text_table_write(&text, output, 2, screen->style, &arena);
}

void stats_write_text(FILE *output, const struct stats_table *table, int width)
{
    SCOPED(arena) arena = {0};
    struct screen screen = {
        .table = table,
        .style = {.width = width, .use_unicode = locale_is_utf8()},
        .chosen = arena_allocate(&arena, table->column_count * sizeof *screen.chosen)};
    size_t first = 0;

    screen.count = choose_columns(table, width, &arena, screen.chosen);
    screen.columns = arena_allocate(&arena, screen.count * sizeof *screen.columns);
    for (size_t i = 0; i < screen.count; i++)
        screen.columns[i] = (struct text_column){
            table->columns[screen.chosen[i]],
            is_name_column(table, screen.chosen[i]) ? TEXT_COLUMN_NAME : TEXT_COLUMN_NUMBER, 0};
    do {
        size_t left = table->row_count - first;
        size_t row_count = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;

        if (first > 0)
            (void)fputc('\n', output);
        stats_writer_write_rows(output, &screen, first, row_count);
        first += row_count;
    } while (first < table->row_count);
}
