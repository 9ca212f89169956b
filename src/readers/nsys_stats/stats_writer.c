/* Writes the table of a report of nsys-stats as CSV, as JSON, and for the screen. */
#include "base/core/attributes.h"
#include "base/json/json_writer.h"
#include "base/text/csv_field.h"
#include "base/text/display_text.h"
#include "base/text/terminal.h"
#include "base/text/text_table.h"
#include "readers/nsys_stats/stats_report.h"

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

/* As `nsys stats --format csv`. */
static void stats_write_csv(FILE *output, const struct stats_table *table)
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

/* As `nsys stats --format json`. `key`: of the array in the object around it, or NULL. */
static void stats_write_json(struct json_writer *writer, const char *key,
                             const struct stats_table *table)
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

/* 0: always shown; the others go one after the other, the highest first. What a column's title
 * begins with decides, as its unit stands behind. */
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

/* By the first cell that is not empty: a column holds either texts or numbers. An empty one is
 * laid out as numbers. */
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
 * stay are put into `chosen`. From the right, where nsys has its details; columns of priority 0
 * stay even where they do not fit, and are then shortened. */
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

/* Texts are made for a hundred thousand rows at a time, so memory does not grow with the
 * table. */
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

/* Of more than 100,000 rows the titles come again. */
static void stats_write_text(FILE *output, const struct stats_table *table, int width)
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

/* ---- reports --------------------------------------------------------------------------------- */

/* Those of nsys stats that a training run is most often asked for. */
static const char *const default_reports[] = {"nvtx_sum",
                                              "osrt_sum",
                                              "cuda_api_sum",
                                              "cuda_gpu_kern_sum",
                                              "cuda_gpu_mem_time_sum",
                                              "cuda_gpu_mem_size_sum"};
enum { DEFAULT_REPORT_COUNT = sizeof default_reports / sizeof *default_reports };

/* Where pages go. */
struct stats_page {
    FILE *output;
    struct json_writer json;
    const struct stats_page_settings *settings;
    size_t report_count; /* in all */
    size_t written;
};

/* Names are checked before the database is opened for them: a typing error costs no minute of
 * reading. */
bool choose_stats_reports(struct chosen_stats *chosen, char **names, int count, struct error *error)
{
    size_t wanted = count ? (size_t)count : DEFAULT_REPORT_COUNT;

    if (wanted > STATS_REPORTS_MAX)
        return error_set(error, ERROR_USAGE, "more than %d reports asked for", STATS_REPORTS_MAX);
    for (size_t i = 0; i < wanted; i++) {
        const char *name = count ? names[i] : default_reports[i];

        chosen->reports[i].report = find_stats_report(name, &chosen->reports[i].form, error);
        if (!chosen->reports[i].report)
            return false;
    }
    chosen->count = wanted;
    return true;
}

/* A heading where there are several; CSV has none of its own, so it is a comment there. */
static void stats_write_heading(struct stats_page *page, const struct stats_report *report)
{
    if (page->settings->format == STATS_AS_JSON)
        return;
    if (page->report_count > 1 && page->written > 0)
        (void)fputc('\n', page->output);
    if (page->settings->format == STATS_AS_TEXT)
        (void)fprintf(page->output, "%s (%s)\n\n", report->title, report->name);
    else if (page->report_count > 1)
        (void)fprintf(page->output, "# %s\n", report->name);
}

/* Several reports in JSON are members of one object and need their names; a single one stands
 * alone, as a program expects it. */
static void write_report_table(struct stats_page *page, const struct stats_report *report,
                               const struct stats_table *table)
{
    int width =
        page->settings->width > 0 ? (int)page->settings->width : terminal_width(page->output);

    stats_write_heading(page, report);
    switch ((enum stats_format)page->settings->format) {
    case STATS_AS_TEXT:
        stats_write_text(page->output, table, width);
        break;
    case STATS_AS_CSV:
        stats_write_csv(page->output, table);
        break;
    case STATS_AS_JSON:
        stats_write_json(&page->json, page->report_count > 1 ? report->name : NULL, table);
        break;
    }
    page->written++;
}

/* What a report lacks is told in its place, where there are others. */
static void write_missing(struct stats_page *page, const struct stats_report *report,
                          const struct error *error)
{
    if (page->settings->format == STATS_AS_JSON) {
        json_null(&page->json, report->name);
        return;
    }
    stats_write_heading(page, report);
    (void)fprintf(page->output, "%snothing: %s\n",
                  page->settings->format == STATS_AS_CSV ? "# " : "  ", error->message);
    page->written++;
}

/* The columns are set first: also an empty table has its head. */
static bool fill_report(struct stats_table *table, struct nsys_database *database,
                        const struct stats_report *report, enum kernel_name_form form,
                        struct error *error)
{
    stats_table_init(table, report->columns);
    for (int i = 0; i < STATS_NEEDS_MAX && report->needs[i].table; i++) {
        if (!sqlite_has_table(&database->file, report->needs[i].table))
            return error_set(error, ERROR_NO_DATA, "the file holds no %s (it has no table %s)",
                             report->needs[i].what, report->needs[i].table);
    }
    return report->fill(table, database, form, error);
}

/* A single report that lacks its table is an error; among several it is told in its place, so
 * that the others are still written. */
bool stats_write_reports(FILE *output, struct nsys_database *database,
                         const struct chosen_stats *chosen,
                         const struct stats_page_settings *settings, struct error *error)
{
    struct stats_page page = {.output = output,
                              .json = {.output = output},
                              .settings = settings,
                              .report_count = chosen->count};
    bool is_object = settings->format == STATS_AS_JSON && chosen->count > 1;
    size_t missing = 0;

    if (is_object)
        json_begin_object(&page.json, NULL, JSON_ONE_PER_LINE);
    for (size_t i = 0; i < chosen->count; i++) {
        SCOPED(stats_table) table = {0};
        const struct stats_report *report = chosen->reports[i].report;

        if (fill_report(&table, database, report, chosen->reports[i].form, error)) {
            write_report_table(&page, report, &table);
        } else if (chosen->count == 1) {
            return false;
        } else {
            write_missing(&page, report, error);
            missing++;
        }
    }
    if (is_object)
        json_end_object(&page.json);
    if (settings->format == STATS_AS_JSON)
        (void)fputc('\n', output);
    return missing < chosen->count;
}
