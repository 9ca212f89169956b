/* A folder of CSV files, one a table: RFC 4180, in UTF-8. */
#include "base/csv_field.h"
#include "base/exact_real.h"
#include "base/out_of_memory.h"
#include "exports/export_format.h"
#include "exports/flat_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_cell(FILE *output, const struct value *cell)
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

static void write_table(FILE *output, const struct flat_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        (void)fputs(i ? "," : "", output);
        csv_write_text(output, table->columns[i].name);
    }
    (void)fputs("\r\n", output);
    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        write_cell(output, &table->cells[i]);
        (void)fputs((i + 1) % table->column_count ? "," : "\r\n", output);
    }
}

static bool write_file(struct output_folder *folder, const struct flat_table *table,
                       struct error *error)
{
    SCOPED(output_file) file = {0};
    char *name;
    bool is_open;

    if (asprintf(&name, "%s.csv", table->name) < 0)
        end_out_of_memory();
    is_open = output_folder_add(folder, &file, name, error);
    free(name);
    if (!is_open)
        return false;
    write_table(file.stream, table);
    return output_file_close(&file, error);
}

static bool write_csv(struct output_folder *folder, const struct export_content *content,
                      struct error *error)
{
    SCOPED(flat_tables) flat = {0};

    flatten_results(&flat, content->results);
    for (size_t i = 0; i < flat.count; i++)
        if (!write_file(folder, &flat.tables[i], error))
            return false;
    return true;
}

const struct export_format csv_export = {
    .name = "csv",
    .summary = "a folder of tables, for spreadsheets and pandas",
    .place = EXPORT_FOLDER,
    .write_folder = write_csv,
};
