/* Which tables and columns a database of a recorder has, and which rows are asked for. */
#include "readers/sqlite/sqlite_rows.h"

#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "readers/sqlite/sqlite_pages.h"
#include "trace/trace_builder.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables and columns --------------------------------------------------------------------- */

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

/* Once for a file: readers ask for some fifty tables, of which most are not there. */
static void list_tables(struct sqlite_input *input)
{
    static const char query[] = "SELECT name, type = 'table' AND rootpage > 0 FROM sqlite_master "
                                "WHERE type = 'table' OR type = 'view' ORDER BY name";
    sqlite3_stmt *list = NULL;

    if (input->has_tables)
        return;
    input->has_tables = true;
    (void)sqlite3_prepare_v2(input->connection, query, -1, &list, NULL);
    while (list && sqlite3_step(list) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(list, 0);

        if (name)
            string_pool_add(sqlite3_column_int(list, 1) ? &input->tables : &input->views, name,
                            strlen(name));
    }
    sqlite3_finalize(list);
}

/* In the order of names, so that of several forms of a table the same is found each time. */
const char *sqlite_table_name(struct sqlite_input *input, uint32_t index)
{
    list_tables(input);
    return index < input->tables.count ? string_pool_text(&input->tables, index) : NULL;
}

/* The same in either case; NULL: there is none. */
static const char *name_in(const struct string_pool *names, const char *name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (strcasecmp(string_pool_text(names, i), name) == 0)
            return string_pool_text(names, i);
    return NULL;
}

/* Newer recorders add a form's number to a table's name, and may write old and new side by
 * side. */
static void find_latest_form(struct sqlite_input *input, const char *name, char *to)
{
    const char *table;
    long latest = 0;

    for (uint32_t i = 0; (table = sqlite_table_name(input, i)); i++) {
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
    const char *found;

    to[0] = '\0';
    list_tables(input);
    found = name_in(&input->tables, name);
    if (found)
        (void)snprintf(to, SQLITE_INPUT_NAME_MAX, "%s", found);
    else if (!input->damage[0] && name_in(&input->views, name))
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
    rows->pages = condition ? NULL : sqlite_pages_open(input, found, columns);
    if (!rows->pages &&
        sqlite3_prepare_v2(input->connection, query, -1, &rows->statement, NULL) != SQLITE_OK)
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
    const char *table;

    for (uint32_t i = 0; (table = sqlite_table_name(input, i)); i++) {
        int64_t rows;

        if (has_prefix(table, "sqlite_") || has_prefix(table, lists) ||
            string_pool_find(&input->opened, table, strlen(table)) != UINT32_MAX)
            continue;
        rows = largest_id(input, table);
        if (rows > 0)
            read_account_leave(read, table, rows);
    }
}
