/* Files of plain rows. A folder of CSV files, one a table: RFC 4180, in UTF-8. JSON lines, one a
 * step and rank: for Weights & Biases, MLflow and the like; of what has no steps (a job), one a row
 * of each table. */
#include "base/core/attributes.h"
#include "base/core/exact_real.h"
#include "base/json/json_writer.h"
#include "base/text/csv_field.h"
#include "base/text/owned_text.h"
#include "output/exports/export_format.h"
#include "output/exports/flat_tables.h"
#include "output/exports/step_scalars.h"
#include "output/results/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is not known is an empty cell, as is a number without a finite value: RFC 4180 knows no
 * null, and "nan" would be text to a spreadsheet. */
static void csv_write_cell(FILE *output, const struct value *cell)
{
    if (cell->unit == UNIT_TEXT)
        csv_write_text(output, cell->text);
    else if (!value_is_number(cell))
        return;
    else if (value_is_integer(cell))
        (void)fprintf(output, "%" PRId64, cell->integer);
    else if (isfinite(cell->real))
        (void)fputs(exact_real(cell->real).text, output);
}

/* RFC 4180 ends lines with CR LF. */
static void csv_write_table(FILE *output, const struct flat_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        (void)fputs(i ? "," : "", output);
        csv_write_text(output, table->columns[i].name);
    }
    (void)fputs("\r\n", output);
    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        csv_write_cell(output, &table->cells[i]);
        (void)fputs((i + 1) % table->column_count ? "," : "\r\n", output);
    }
}

/* The name is of no use any more once the file is opened, whether that worked or not. */
static bool csv_write_file(struct output_folder *folder, const struct flat_table *table,
                           struct error *error)
{
    SCOPED(output_file) file = {0};
    bool is_open;
    char *name = text_format("%s.csv", table->name);

    is_open = output_folder_add(folder, &file, name, error);
    free(name);
    if (!is_open)
        return false;
    csv_write_table(file.stream, table);
    return output_file_close(&file, error);
}

/* One file a table: a CSV has one kind of rows. */
static bool write_csv(struct output_folder *folder, const struct export_content *content,
                      struct error *error)
{
    SCOPED(flat_tables) flat = {0};

    flatten_results(&flat, content->results);
    for (size_t i = 0; i < flat.count; i++)
        if (!csv_write_file(folder, &flat.tables[i], error))
            return false;
    return true;
}

const struct export_format csv_export = {
    .name = "csv",
    .summary = "a folder of tables, for spreadsheets and pandas",
    .place = EXPORT_FOLDER,
    .write_folder = write_csv,
};

/* A number that is not known is left out rather than null: importers take null for a value of
 * a series. Rank and time are always there, null where not known, so that all lines have them. */
static void write_step(FILE *output, const struct rank_results *rank,
                       const struct step_scalars *scalars, const struct scalar_step *step)
{
    struct json_writer json = {.output = output};

    json_begin_object(&json, NULL, JSON_ON_ONE_LINE);
    json_integer(&json, "step", step->number);
    if (rank->rank >= 0)
        json_integer(&json, "rank", rank->rank);
    else
        json_null(&json, "rank");
    json_text(&json, "file", rank->file);
    if (step->end_unix_ns >= 0)
        json_real(&json, "time", (double)step->end_unix_ns / 1e9);
    else
        json_null(&json, "time");
    json_begin_object(&json, "scalars", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < scalars->series_count; i++)
        if (isfinite(step->values[i]))
            json_real(&json, scalars->series[i].tag, step->values[i]);
    json_end_object(&json);
    json_end_object(&json);
}

/* Of any rank: a run of which one trace has steps is told by steps. */
static bool jsonl_has_steps(const struct results *results)
{
    for (size_t i = 0; i < results->rank_count; i++)
        if (metric_column(&results->ranks[i], METRIC_STEP_DURATION).table)
            return true;
    return false;
}

/* JSON knows neither NaN nor infinity, and integers stay exact: times are in nanoseconds. */
static void jsonl_write_cell(struct json_writer *json, const char *key, const struct value *cell)
{
    if (cell->unit == UNIT_TEXT)
        json_text(json, key, cell->text);
    else if (!value_is_number(cell))
        json_null(json, key);
    else if (value_is_integer(cell))
        json_integer(json, key, cell->integer);
    else if (isfinite(cell->real))
        json_real(json, key, cell->real);
    else
        json_null(json, key);
}

/* The table's name is in each line: readers of JSON lines filter them one by one and know no
 * line before. */
static void jsonl_write_rows(FILE *output, const struct results *results)
{
    SCOPED(flat_tables) flat = {0};

    flatten_results(&flat, results);
    for (size_t i = 0; i < flat.count; i++) {
        const struct flat_table *table = &flat.tables[i];

        for (size_t row = 0; row < table->row_count; row++) {
            struct json_writer json = {.output = output};

            json_begin_object(&json, NULL, JSON_ON_ONE_LINE);
            json_text(&json, "table", table->name);
            for (size_t column = 0; column < table->column_count; column++)
                jsonl_write_cell(&json, table->columns[column].name,
                                 &table->cells[row * table->column_count + column]);
            json_end_object(&json);
        }
    }
}

/* With steps a line is a step, which is what a dashboard plots; results without steps (of a
 * job, of memory) have their rows as lines. */
static bool write_jsonl(FILE *output, const struct export_content *content, struct error *error)
{
    const struct results *results = content->results;

    (void)error;
    if (!jsonl_has_steps(results))
        jsonl_write_rows(output, results);
    for (size_t i = 0; i < results->rank_count; i++) {
        SCOPED(step_scalars) scalars = {0};

        find_step_scalars(&scalars, &results->ranks[i]);
        for (size_t k = 0; k < scalars.step_count; k++)
            write_step(output, &results->ranks[i], &scalars, &scalars.steps[k]);
    }
    return true;
}

const struct export_format jsonl_export = {
    .name = "jsonl",
    .summary = "a line of JSON for each step, for Weights & Biases and MLflow",
    .place = EXPORT_TEXT,
    .write = write_jsonl,
};
