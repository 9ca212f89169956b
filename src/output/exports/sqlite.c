/* One SQLite database with a table for each table of the results. */
#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "output/exports/export_format.h"
#include "output/exports/flat_tables.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_VERSION = 1 };

/* A database in memory, on its way into a file. */
struct database {
    sqlite3 *handle;
};

static void database_clear(struct database *database)
{
    sqlite3_close(database->handle);
}

static bool sqlite_cannot(const struct database *database, const char *what, struct error *error)
{
    return error_set(error, ERROR_FAILURE, "cannot %s the database: %s", what,
                     sqlite3_errmsg(database->handle));
}

static bool sqlite_run(const struct database *database, const char *sql, struct error *error)
{
    return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ||
           sqlite_cannot(database, "make", error);
}

/* An empty type takes whatever comes: the values of `numbers` are of any kind. */
static const char *type_of(enum unit unit)
{
    switch (unit) {
    case UNIT_COUNT:
    case UNIT_TIME_NS:
    case UNIT_BYTES:
        return " INTEGER";
    case UNIT_FRACTION:
    case UNIT_NUMBER:
    case UNIT_BYTES_PER_SECOND:
    case UNIT_FLOPS:
    case UNIT_FLOPS_PER_SECOND:
        return " REAL";
    case UNIT_TEXT:
        return " TEXT";
    case UNIT_NONE:
    case UNIT_NOT_KNOWN:
        break;
    }
    return "";
}

/* CREATE TABLE and INSERT of one table; free() both. */
struct table_statements {
    char *create;
    char *insert;
};

/* Names of tables and columns are ours and hold no quotation marks. Every table refers to
 * `traces` by its number, so that queries may join. */
static struct table_statements statements_of(const struct flat_table *table)
{
    struct table_statements statements;
    size_t create_size, insert_size;
    FILE *create = require_memory(open_memstream(&statements.create, &create_size));
    FILE *insert = require_memory(open_memstream(&statements.insert, &insert_size));
    bool is_of_traces = strcmp(table->name, "traces") == 0;

    (void)fprintf(create, "CREATE TABLE \"%s\" (", table->name);
    (void)fprintf(insert, "INSERT INTO \"%s\" VALUES (", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        bool is_trace = strcmp(table->columns[i].name, "trace") == 0;

        (void)fprintf(create, "%s\"%s\"%s%s", i ? ", " : "", table->columns[i].name,
                      type_of(table->columns[i].unit),
                      !is_trace      ? ""
                      : is_of_traces ? " PRIMARY KEY"
                                     : " REFERENCES traces (trace)");
        (void)fputs(i ? ", ?" : "?", insert);
    }
    (void)fputs(")", create);
    (void)fputs(")", insert);
    if (fclose(create) != 0 || fclose(insert) != 0)
        end_out_of_memory();
    return statements;
}

/* SQLITE_STATIC: the text lives until the statement has run. Not finite numbers become NULL,
 * which is what sqlite3_bind_double makes of NaN. */
static void bind(sqlite3_stmt *statement, int index, const struct value *cell)
{
    if (cell->unit == UNIT_TEXT)
        sqlite3_bind_text(statement, index, cell->text, -1, SQLITE_STATIC);
    else if (!value_is_number(cell))
        sqlite3_bind_null(statement, index);
    else if (value_is_integer(cell))
        sqlite3_bind_int64(statement, index, cell->integer);
    else
        sqlite3_bind_double(statement, index, cell->real);
}

/* One prepared statement for all rows, and all of it in one transaction: a statement compiled
 * for each row, or a transaction for each, would cost many times as much. */
static bool insert_rows(const struct database *database, const struct flat_table *table,
                        const char *sql, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    bool is_done = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL) == SQLITE_OK;

    for (size_t row = 0; is_done && row < table->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++)
            bind(statement, (int)i + 1, &table->cells[row * table->column_count + i]);
        is_done = sqlite3_step(statement) == SQLITE_DONE;
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return is_done || sqlite_cannot(database, "fill", error);
}

/* Columns are those of the flat table, so that the names in all exports are the same. */
static bool sqlite_add_table(const struct database *database, const struct flat_table *table,
                             struct error *error)
{
    struct table_statements statements = statements_of(table);
    bool is_done = sqlite_run(database, statements.create, error) &&
                   insert_rows(database, table, statements.insert, error);

    free(statements.create);
    free(statements.insert);
    return is_done;
}

/* user_version and application_id are in the file's header, by which content_of_file knows it
 * again. */
static bool add_all(const struct database *database, const struct flat_tables *flat,
                    struct error *error)
{
    char *sql = sqlite3_mprintf(
        "BEGIN; PRAGMA user_version = %d; PRAGMA application_id = %u; "
        "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT); "
        "INSERT INTO about VALUES ('schema', 'flopledger.export'), ('schema_version', '%d'), "
        "('flopledger_version', %Q); CREATE TABLE table_titles (name TEXT PRIMARY KEY, title TEXT)",
        SCHEMA_VERSION, EXPORT_APPLICATION_ID, SCHEMA_VERSION, FLOPLEDGER_VERSION);
    bool is_done = sqlite_run(database, require_memory(sql), error);

    sqlite3_free(sql);
    for (size_t i = 0; is_done && i < flat->count; i++) {
        sql = sqlite3_mprintf("INSERT INTO table_titles VALUES (%Q, %Q)", flat->tables[i].name,
                              flat->tables[i].title);
        is_done = sqlite_run(database, require_memory(sql), error) &&
                  sqlite_add_table(database, &flat->tables[i], error);
        sqlite3_free(sql);
    }
    return is_done && sqlite_run(database, "COMMIT", error);
}

/* Made in memory and then written as an image: SQLite writes only to files that it opens
 * itself, while the output may be standard output, or a file that must only appear whole. */
static bool write_sqlite(FILE *output, const struct export_content *content, struct error *error)
{
    __attribute__((cleanup(database_clear))) struct database database = {0};
    SCOPED(flat_tables) flat = {0};
    sqlite3_int64 size = 0;
    unsigned char *image;

    flatten_results(&flat, content->results);
    if (sqlite3_open(":memory:", &database.handle) != SQLITE_OK)
        return sqlite_cannot(&database, "make", error);
    if (!add_all(&database, &flat, error))
        return false;
    image = sqlite3_serialize(database.handle, "main", &size, 0);
    if (!image)
        return sqlite_cannot(&database, "write", error);
    (void)fwrite(image, 1, (size_t)size, output); /* whoever closes the file says what failed */
    sqlite3_free(image);
    return true;
}

const struct export_format sqlite_export = {
    .name = "sqlite",
    .summary = "a database with a documented schema, for queries",
    .place = EXPORT_FILE,
    .write = write_sqlite,
};
