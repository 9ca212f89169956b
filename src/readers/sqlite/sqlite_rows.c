/* Which tables and columns a database of a recorder has, and which rows are asked for. */
#include "readers/sqlite/sqlite_rows.h"

#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "trace/trace_builder.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables and columns --------------------------------------------------------------------- */

static bool query_has_row(struct sqlite_input *input, const char *query, const char *name)
{
    sqlite3_stmt *statement = NULL;
    bool has_row = false;

    if (sqlite3_prepare_v2(input->connection, query, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        has_row = sqlite3_step(statement) == SQLITE_ROW;
    }
    sqlite3_finalize(statement);
    return has_row;
}

/* N of "NAME_VN"; 0: `table` is no form of `name`. Newer exports may have a table in several
 * forms; each is whole. */
static long form_of(const char *table, const char *name)
{
    size_t length = strlen(name);
    const char *digits = table + length + 2;
    char *end;
    long number;

    if (strncasecmp(table, name, length) != 0 || strncasecmp(table + length, "_V", 2) != 0 ||
        *digits < '1' || *digits > '9')
        return 0;
    number = strtol(digits, &end, 10);
    return *end ? 0 : number;
}

struct sqlite3_stmt *sqlite_list_tables(struct sqlite_input *input)
{
    sqlite3_stmt *list = NULL;

    (void)sqlite3_prepare_v2(input->connection,
                             "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 "
                             "ORDER BY name",
                             -1, &list, NULL);
    return list;
}

const char *sqlite_next_table(struct sqlite3_stmt **list)
{
    while (*list && sqlite3_step(*list) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(*list, 0);

        if (table)
            return table;
    }
    sqlite3_finalize(*list);
    *list = NULL;
    return NULL;
}

/* Newer recorders add a form's number to a table's name, and may write old and new side by
 * side. */
static void find_latest_form(struct sqlite_input *input, const char *name, char *to)
{
    sqlite3_stmt *list = sqlite_list_tables(input);
    const char *table;
    long latest = 0;

    while ((table = sqlite_next_table(&list))) {
        long form = strlen(table) < SQLITE_INPUT_NAME_MAX ? form_of(table, name) : 0;

        if (form > latest) {
            latest = form;
            (void)snprintf(to, SQLITE_INPUT_NAME_MAX, "%s", table);
        }
    }
}

/* The name itself, else its latest form. Views are told and not read: they are programs of the
 * file. */
bool sqlite_find_table(struct sqlite_input *input, const char *name, char *to)
{
    to[0] = '\0';
    if (query_has_row(input,
                      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name "
                      "= ?1 COLLATE NOCASE",
                      name))
        (void)snprintf(to, SQLITE_INPUT_NAME_MAX, "%s", name);
    else if (!input->damage[0] &&
             query_has_row(input,
                           "SELECT 1 FROM sqlite_master WHERE name = ?1 COLLATE NOCASE AND (type = "
                           "'view' OR type = 'table')",
                           name))
        (void)snprintf(input->damage, sizeof input->damage,
                       "%s: a view or a virtual table, and only tables are read", name);
    else
        find_latest_form(input, name, to);
    return *to;
}

bool sqlite_has_table(struct sqlite_input *input, const char *name)
{
    char found[SQLITE_INPUT_NAME_MAX];

    return sqlite_find_table(input, name, found);
}

/* "table\ncolumn" in small letters: names are the same in either case. One that does not fit is
 * none that anybody asks for. */
enum { COLUMN_KEY_MAX = 2 * SQLITE_INPUT_NAME_MAX };

static void name_column(char *key, const char *table, const char *column)
{
    (void)snprintf(key, COLUMN_KEY_MAX, "%s\n%s", table, column);
    for (; *key; key++)
        *key = (char)tolower((unsigned char)*key);
}

/* Generated columns are not in this list: they are programs of the file, too. */
static void read_columns(struct sqlite_input *input, const char *table)
{
    sqlite3_stmt *statement = NULL;
    char key[COLUMN_KEY_MAX];

    if (sqlite3_prepare_v2(input->connection, "SELECT name FROM pragma_table_info(?1)", -1,
                           &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const char *column = (const char *)sqlite3_column_text(statement, 0);

            name_column(key, table, column ? column : "");
            string_pool_add(&input->columns, key, strlen(key));
        }
    }
    sqlite3_finalize(statement);
    string_pool_add(&input->columns, table, strlen(table));
}

static bool has_column(struct sqlite_input *input, const char *table, const char *column)
{
    char key[COLUMN_KEY_MAX];

    if (string_pool_find(&input->columns, table, strlen(table)) == UINT32_MAX)
        read_columns(input, table);
    name_column(key, table, column);
    return string_pool_find(&input->columns, key, strlen(key)) != UINT32_MAX;
}

bool sqlite_has_column(struct sqlite_input *input, const char *table, const char *column)
{
    char found[SQLITE_INPUT_NAME_MAX];

    return sqlite_find_table(input, table, found) && has_column(input, found, column);
}

/* ---- rows ----------------------------------------------------------------------------------- */

void sqlite_append_columns(struct sqlite3_str *text, struct sqlite_rows *rows, const char *table,
                           const char *alias, const char *const *columns)
{
    for (size_t i = 0; columns[i]; i++) {
        require_invariant(rows->column_count < SQLITE_INPUT_COLUMNS_MAX,
                          "that a query has few columns");
        sqlite3_str_appendall(text, rows->column_count ? ", " : "");
        if (*table && has_column(rows->input, table, columns[i])) {
            rows->has |= (uint32_t)1 << rows->column_count;
            sqlite3_str_appendf(text, "%s.\"%w\"", alias, columns[i]);
        } else {
            sqlite3_str_appendall(text, "NULL");
        }
        rows->column_count++;
    }
}

/* "SELECT 1 FROM t AS T WHERE flopledger_row(T.a, NULL, T.c)"; sqlite3_free() it. */
static char *query_of(struct sqlite_rows *rows, const char *table, const char *const *columns,
                      const char *condition)
{
    sqlite3_str *text = sqlite3_str_new(rows->input->connection);

    sqlite3_str_appendf(text, "SELECT 1 FROM \"%w\" AS T", table);
    sqlite_append_rows_begin(text, rows, condition);
    sqlite_append_columns(text, rows, table, "T", columns);
    sqlite_append_rows_end(text, condition);
    return sqlite3_str_finish(text);
}

/* A table that is not there is a table without rows: recorders leave out tables of what they
 * were not asked to record. */
void sqlite_rows_open_where(struct sqlite_rows *rows, struct sqlite_input *input, const char *table,
                            const char *const *columns, const struct sqlite_condition *condition)
{
    char found[SQLITE_INPUT_NAME_MAX];
    char *query;

    *rows = (struct sqlite_rows){.input = input, .table = table};
    if (!sqlite_find_table(input, table, found))
        return;
    string_pool_add(&input->opened, found, strlen(found));
    query = require_memory(query_of(rows, found, columns, condition ? condition->text : NULL));
    if (sqlite3_prepare_v2(input->connection, query, -1, &rows->statement, NULL) != SQLITE_OK)
        sqlite_input_note_damage(input, table);
    else if (condition)
        sqlite3_bind_int64(rows->statement, 1, condition->parameter);
    sqlite3_free(query);
}

void sqlite_rows_open(struct sqlite_rows *rows, struct sqlite_input *input, const char *table,
                      const char *const *columns)
{
    sqlite_rows_open_where(rows, input, table, columns, NULL);
}

/* 0: the table has no rows, or no ids. Counting rows would read the whole table; rows of a
 * recorder are numbered from 1, so the largest id is their number. */
static int64_t largest_id(struct sqlite_input *input, const char *table)
{
    char *query = require_memory(sqlite3_mprintf("SELECT max(rowid) FROM \"%w\"", table));
    sqlite3_stmt *statement = NULL;
    int64_t id = 0;

    if (sqlite3_prepare_v2(input->connection, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        id = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_free(query);
    return id;
}

/* Rows by the largest id: counting them would read the table, which is just what was not done. */
void sqlite_input_tell_unused(struct read_account *read, struct sqlite_input *input,
                              const char *lists)
{
    sqlite3_stmt *list = sqlite_list_tables(input);
    const char *table;

    while ((table = sqlite_next_table(&list))) {
        int64_t rows;

        if (has_prefix(table, "sqlite_") || has_prefix(table, lists) ||
            string_pool_find(&input->opened, table, strlen(table)) != UINT32_MAX)
            continue;
        rows = largest_id(input, table);
        if (rows > 0)
            read_account_leave(read, table, rows);
    }
}
