/* A folder of CSV files, one a table: RFC 4180, in UTF-8. */
#include "base/core/exact_real.h"
#include "base/text/csv_field.h"
#include "base/text/owned_text.h"
#include "output/exports/export_format.h"
#include "output/exports/flat_tables.h"

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
