/* Opens a database of Nsight Systems without ever writing, and says what is wrong with it. */
#include "readers/nsys/nsys_database.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/text/owned_text.h"
#include "base/text/prefix.h"
#include "trace/trace_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SQLITE_HEADER_BYTES = 100, BUSY_WAIT_MS = 200 };

static const char sqlite_magic[] = "SQLite format 3";

bool nsys_is_sqlite(const char *head, size_t length)
{
    return length >= sizeof sqlite_magic && memcmp(head, sqlite_magic, sizeof sqlite_magic) == 0;
}

/* ---- the file before SQLite sees it --------------------------------------------------------- */

struct file_state {
    int64_t bytes;
    int64_t expected_bytes; /* by the header; 0: not said */
    bool uses_log;          /* a write-ahead log */
};

static uint32_t big_endian_32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool read_header(struct file_state *state, const char *path, struct error *error)
{
    unsigned char header[SQLITE_HEADER_BYTES];
    struct stat status;
    ssize_t length;
    int64_t page_bytes;
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0 || fstat(file, &status) != 0) {
        int problem = errno;

        if (file >= 0)
            close(file);
        return error_set(error, ERROR_INPUT, "cannot be opened: %s", strerror(problem));
    }
    length = S_ISREG(status.st_mode) ? read(file, header, sizeof header) : 0;
    close(file);
    if (S_ISDIR(status.st_mode))
        return error_set(error, ERROR_INPUT,
                         "a folder, where a database of Nsight Systems was "
                         "expected");
    if (!S_ISREG(status.st_mode))
        return error_set(error, ERROR_INPUT,
                         "a pipe, where a database of Nsight Systems was expected: it is read at "
                         "many places, write it to a file and name that");
    if (length == 0)
        return error_set(error, ERROR_INPUT,
                         "empty: was 'nsys export' stopped before it had written anything?");
    if (length < (ssize_t)sizeof header || !nsys_is_sqlite((const char *)header, sizeof header))
        return error_set(error, ERROR_INPUT,
                         "byte 0: expected 'SQLite format 3', as 'nsys export --type sqlite' "
                         "writes%s",
                         nsys_is_sqlite((const char *)header, (size_t)length)
                             ? ", and the file ends in its header"
                             : "");
    state->bytes = status.st_size;
    state->uses_log = header[18] == 2 || header[19] == 2;
    page_bytes = (int64_t)header[16] << 8 | header[17];
    page_bytes = page_bytes == 1 ? 65536 : page_bytes;
    if (big_endian_32(header + 24) == big_endian_32(header + 92)) /* else the count is stale */
        state->expected_bytes = page_bytes * big_endian_32(header + 28);
    return true;
}

/* True where `path` + `suffix` is there and holds something. */
static bool has_companion(const char *path, const char *suffix)
{
    struct stat status;
    bool is_there;
    char *companion = text_format("%s%s", path, suffix);

    is_there = stat(companion, &status) == 0 && status.st_size > 0;
    free(companion);
    return is_there;
}

static bool check_companions(const char *path, struct error *error)
{
    if (has_companion(path, "-journal"))
        return error_set(error, ERROR_INPUT,
                         "'%s-journal' lies beside it: 'nsys export' still writes it, or was "
                         "killed; wait, or export the .nsys-rep again",
                         path);
    if (has_companion(path, "-wal"))
        return error_set(error, ERROR_INPUT,
                         "'%s-wal' lies beside it: another program still writes it, or did not "
                         "close it; close it with: sqlite3 '%s' 'PRAGMA wal_checkpoint(TRUNCATE)'",
                         path, path);
    return true;
}

/* "file:...?mode=ro": all that means something in a URI is written as %XX. free() it. */
static char *uri_of(const char *path, bool is_immutable)
{
    static const char options[] = "?mode=ro&immutable=1";
    char *uri = require_memory(malloc(3 * strlen(path) + sizeof options + 8));
    char *to = uri + sprintf(uri, "file:");

    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;

        if (c == '%' || c == '?' || c == '#')
            to += sprintf(to, "%%%02x", c);
        else
            *to++ = (char)c;
    }
    (void)sprintf(to, "%s", is_immutable ? options : "?mode=ro");
    return uri;
}

/* ---- what SQLite says ----------------------------------------------------------------------- */

/* SQLite says that memory is out also where a damaged page tells of a size that cannot be: it is
 * out only where as much as the longest value takes is not to be had. */
static bool is_memory_out(const struct nsys_database *database)
{
    void *volatile probe = NULL;
    bool is_out = (sqlite3_errcode(database->connection) & 0xff) == SQLITE_NOMEM;

    if (is_out) {
        probe = malloc((size_t)2 * NSYS_VALUE_BYTES_MAX); /* it may grow by doubling */
        is_out = probe == NULL;
        free(probe);
    }
    return is_out;
}

static void note_damage(struct nsys_database *database, const char *table)
{
    const char *what = sqlite3_errmsg(database->connection);

    if (is_memory_out(database))
        end_out_of_memory();
    if ((sqlite3_errcode(database->connection) & 0xff) == SQLITE_NOMEM)
        what = "a damaged page tells of a size that cannot be";
    if (!database->damage[0])
        (void)snprintf(database->damage, sizeof database->damage, "%s: %s", table, what);
}

static bool nsys_database_refuse(struct nsys_database *database, const struct file_state *state,
                                 struct error *error)
{
    if (is_memory_out(database))
        end_out_of_memory();
    switch (sqlite3_errcode(database->connection) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(error, ERROR_INPUT,
                         "locked by another program: does 'nsys export' still write it? Wait until "
                         "it is done, or read a copy");
    case SQLITE_NOTADB:
        return error_set(error, ERROR_INPUT,
                         "begins as an SQLite database and is none (%s): export the .nsys-rep "
                         "again with 'nsys export --type sqlite'",
                         sqlite3_errmsg(database->connection));
    default:
        if (state->expected_bytes > state->bytes)
            return error_set(error, ERROR_INPUT,
                             "cut: its header tells of %lld bytes, and the file has %lld; nothing "
                             "in it can be read (%s). Was the export stopped, or the disk full?",
                             (long long)state->expected_bytes, (long long)state->bytes,
                             sqlite3_errmsg(database->connection));
        return error_set(error, ERROR_INPUT,
                         "damaged, its list of tables cannot be read (%s): export the .nsys-rep "
                         "again with 'nsys export --type sqlite'",
                         sqlite3_errmsg(database->connection));
    }
}

/* The names of the first tables, for a message. */
static void list_tables(struct nsys_database *database, char *to, size_t size)
{
    sqlite3_stmt *statement = NULL;
    size_t used = 0;

    to[0] = '\0';
    if (sqlite3_prepare_v2(database->connection,
                           "SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 6", -1,
                           &statement, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(statement) == SQLITE_ROW && used + 2 < size) {
        const unsigned char *name = sqlite3_column_text(statement, 0);
        int length = snprintf(to + used, size - used, "%s'%.60s'", used ? ", " : "",
                              name ? (const char *)name : "");

        used += length > 0 ? (size_t)length : 0;
    }
    sqlite3_finalize(statement);
    if (!to[0])
        (void)snprintf(to, size, "none");
}

static bool is_of_nsight_systems(struct nsys_database *database)
{
    static const char *const marks[] = {"META_DATA_EXPORT",
                                        "EXPORT_META_DATA",
                                        "CUPTI_ACTIVITY_KIND_KERNEL",
                                        "CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "NVTX_EVENTS",
                                        "TARGET_INFO_SYSTEM_ENV"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (nsys_has_table(database, marks[i]))
            return true;
    }
    return false;
}

/* ---- what every reader needs ---------------------------------------------------------------- */

static void read_version(struct nsys_database *database)
{
    static const char *const columns[] = {"name", "value", NULL};
    static const char *const tables[] = {"META_DATA_EXPORT", "EXPORT_META_DATA"};

    for (size_t i = 0; i < 2; i++) {
        struct nsys_rows rows = {0};

        nsys_rows_open(&rows, database, tables[i], columns);
        while (nsys_rows_next(&rows)) {
            const char *name = nsys_text(&rows, 0);
            const char *value = nsys_text(&rows, 1);

            if (!name || !value)
                continue;
            if (strcmp(name, "EXPORT_SCHEMA_VERSION") == 0)
                (void)snprintf(database->schema, sizeof database->schema, "%s", value);
            if (strcmp(name, "EXPORT_PRODUCT_VERSION") == 0)
                (void)snprintf(database->product, sizeof database->product, "%s", value);
        }
        nsys_rows_clear(&rows);
    }
}

static void read_strings(struct nsys_database *database)
{
    static const char *const columns[] = {"id", "value", NULL};
    struct nsys_rows rows = {0};
    bool had_damage = database->damage[0] != '\0';

    string_pool_add(&database->strings, "", 0);
    nsys_rows_open(&rows, database, "StringIds", columns);
    while (nsys_rows_next(&rows)) {
        const char *value = nsys_text(&rows, 1);

        if (value && !nsys_is_null(&rows, 0))
            hash_map_add(&database->string_ids, (uint64_t)nsys_integer(&rows, 0, 0),
                         string_pool_add(&database->strings, value, strlen(value)));
    }
    nsys_rows_clear(&rows);
    database->has_strings =
        nsys_has_table(database, "StringIds") && (had_damage || !database->damage[0]);
}

const char *nsys_string(const struct nsys_database *database, int64_t id)
{
    uint32_t string = hash_map_find(&database->string_ids, (uint64_t)id);

    return string == NO_VALUE ? NULL : string_pool_text(&database->strings, string);
}

/* ---- open and close ------------------------------------------------------------------------- */

/* Pages that a cut file still has can be read only where SQLite does not check the header's count
 * of pages; this setting turns that check off. The connection stays read-only. */
static void accept_cut_file(struct nsys_database *database)
{
    sqlite3_db_config(database->connection, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_exec(database->connection, "PRAGMA writable_schema = ON", NULL, NULL, NULL);
}

static bool open_connection(struct nsys_database *database, const char *path,
                            const struct file_state *state, struct error *error)
{
    char *uri = uri_of(path, state->uses_log);
    int result =
        sqlite3_open_v2(uri, &database->connection,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);

    free(uri);
    if (!database->connection)
        end_out_of_memory();
    if (result != SQLITE_OK)
        return nsys_database_refuse(database, state, error);
    sqlite3_busy_timeout(database->connection, BUSY_WAIT_MS);
    if (database->missing_bytes > 0)
        accept_cut_file(database);
    nsys_guard(database->connection, &database->work, state->bytes);
    if (database->missing_bytes > 0)
        sqlite3_db_config(database->connection, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    if (sqlite3_exec(database->connection, "SELECT count(*) FROM sqlite_master", NULL, NULL,
                     NULL) != SQLITE_OK)
        return nsys_database_refuse(database, state, error);
    return true;
}

bool nsys_database_open_any(struct nsys_database *database, const char *path, struct error *error)
{
    struct file_state state = {0};

    if (!read_header(&state, path, error) || !check_companions(path, error))
        return false;
    database->file_bytes = state.bytes;
    if (state.expected_bytes > state.bytes)
        database->missing_bytes = state.expected_bytes - state.bytes;
    else if (state.expected_bytes > 0)
        database->surplus_bytes = state.bytes - state.expected_bytes;
    if (!open_connection(database, path, &state, error)) {
        nsys_database_clear(database);
        return false;
    }
    return true;
}

bool nsys_database_open(struct nsys_database *database, const char *path, struct error *error)
{
    char tables[512];

    if (!nsys_database_open_any(database, path, error))
        return false;
    if (!is_of_nsight_systems(database)) {
        list_tables(database, tables, sizeof tables);
        nsys_database_clear(database);
        return error_set(error, ERROR_INPUT,
                         "an SQLite database, but not one of Nsight Systems (expected tables such "
                         "as 'StringIds' and 'CUPTI_ACTIVITY_KIND_KERNEL', found: %s): name a file "
                         "that 'nsys export --type sqlite' wrote",
                         tables);
    }
    read_version(database);
    read_strings(database);
    return true;
}

void nsys_database_tell_damage(struct read_account *read, const struct nsys_database *database)
{
    if (database->missing_bytes > 0) {
        read->is_truncated = true;
        (void)snprintf(read->truncation, sizeof read->truncation,
                       "the database is cut: %" PRId64 " bytes are missing (%.120s)",
                       database->missing_bytes,
                       database->damage[0] ? database->damage : "what is left could be read");
    } else if (database->surplus_bytes > 0) {
        read->ending = ENDING_FOLLOWED;
        (void)snprintf(read->ending_message, sizeof read->ending_message,
                       "%" PRId64 " bytes behind the last page of the database are not read",
                       database->surplus_bytes);
    }
    if (database->missing_bytes == 0 && database->damage[0]) {
        struct damage *damage = &read->damages[0];

        read->damage_count = 1;
        read->damaged_events++;
        *damage = (struct damage){.byte = -1};
        (void)snprintf(damage->message, sizeof damage->message,
                       "rows of a table cannot be read: %.120s", database->damage);
    }
}

void nsys_database_clear(struct nsys_database *database)
{
    if (!database)
        return;
    sqlite3_close(database->connection);
    string_pool_clear(&database->strings);
    string_pool_clear(&database->opened);
    hash_map_clear(&database->string_ids);
    *database = (struct nsys_database){0};
}

/* ---- tables and columns --------------------------------------------------------------------- */

static bool query_has_row(struct nsys_database *database, const char *query, const char *first,
                          const char *second)
{
    sqlite3_stmt *statement = NULL;
    bool has_row = false;

    if (sqlite3_prepare_v2(database->connection, query, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
        if (second)
            sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
        has_row = sqlite3_step(statement) == SQLITE_ROW;
    }
    sqlite3_finalize(statement);
    return has_row;
}

/* N of "NAME_VN"; 0: `table` is no form of `name`. */
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

struct sqlite3_stmt *nsys_list_tables(struct nsys_database *database)
{
    sqlite3_stmt *list = NULL;

    (void)sqlite3_prepare_v2(database->connection,
                             "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 "
                             "ORDER BY name",
                             -1, &list, NULL);
    return list;
}

const char *nsys_next_table(struct sqlite3_stmt **list)
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

static void find_latest_form(struct nsys_database *database, const char *name, char *to)
{
    sqlite3_stmt *list = nsys_list_tables(database);
    const char *table;
    long latest = 0;

    while ((table = nsys_next_table(&list))) {
        long form = strlen(table) < NSYS_TABLE_NAME_MAX ? form_of(table, name) : 0;

        if (form > latest) {
            latest = form;
            (void)snprintf(to, NSYS_TABLE_NAME_MAX, "%s", table);
        }
    }
}

bool nsys_find_table(struct nsys_database *database, const char *name, char *to)
{
    to[0] = '\0';
    if (query_has_row(database,
                      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name "
                      "= ?1 COLLATE NOCASE",
                      name, NULL))
        (void)snprintf(to, NSYS_TABLE_NAME_MAX, "%s", name);
    else if (!database->damage[0] &&
             query_has_row(database,
                           "SELECT 1 FROM sqlite_master WHERE name = ?1 COLLATE NOCASE AND (type = "
                           "'view' OR type = 'table')",
                           name, NULL))
        (void)snprintf(database->damage, sizeof database->damage,
                       "%s: a view or a virtual table, and only tables are read", name);
    else
        find_latest_form(database, name, to);
    return *to;
}

bool nsys_has_table(struct nsys_database *database, const char *name)
{
    char found[NSYS_TABLE_NAME_MAX];

    return nsys_find_table(database, name, found);
}

static bool has_column(struct nsys_database *database, const char *table, const char *column)
{
    return query_has_row(database,
                         "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2 COLLATE NOCASE",
                         table, column);
}

bool nsys_has_column(struct nsys_database *database, const char *table, const char *column)
{
    char found[NSYS_TABLE_NAME_MAX];

    return nsys_find_table(database, table, found) && has_column(database, found, column);
}

/* A column without a type keeps numbers as the text that they were written as. */
static bool nsys_database_is_number(const char *text)
{
    char *end;

    if (!text || !*text)
        return false;
    (void)strtod(text, &end);
    return !*end;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* "SELECT a, NULL, c FROM t WHERE ..."; sqlite3_free() it. */
static char *query_of(struct nsys_rows *rows, const char *table, const char *const *columns,
                      const char *condition)
{
    sqlite3_str *text = sqlite3_str_new(rows->database->connection);

    sqlite3_str_appendall(text, "SELECT ");
    for (size_t i = 0; columns[i]; i++) {
        require_invariant(i < NSYS_COLUMNS_MAX, "that a query has few columns");
        sqlite3_str_appendall(text, i ? ", " : "");
        if (has_column(rows->database, table, columns[i])) {
            rows->has |= (uint32_t)1 << i;
            sqlite3_str_appendf(text, "\"%w\"", columns[i]);
        } else {
            sqlite3_str_appendall(text, "NULL");
        }
        rows->column_count = i + 1;
    }
    sqlite3_str_appendf(text, " FROM \"%w\"", table);
    if (condition)
        sqlite3_str_appendf(text, " WHERE %s", condition);
    return sqlite3_str_finish(text);
}

void nsys_rows_open_where(struct nsys_rows *rows, struct nsys_database *database, const char *table,
                          const char *const *columns, const struct nsys_condition *condition)
{
    char found[NSYS_TABLE_NAME_MAX];
    char *query;

    *rows = (struct nsys_rows){.database = database, .table = table};
    if (!nsys_find_table(database, table, found))
        return;
    string_pool_add(&database->opened, found, strlen(found));
    query = require_memory(query_of(rows, found, columns, condition ? condition->text : NULL));
    if (sqlite3_prepare_v2(database->connection, query, -1, &rows->statement, NULL) != SQLITE_OK)
        note_damage(database, table);
    else if (condition)
        sqlite3_bind_int64(rows->statement, 1, condition->parameter);
    sqlite3_free(query);
}

void nsys_rows_open(struct nsys_rows *rows, struct nsys_database *database, const char *table,
                    const char *const *columns)
{
    nsys_rows_open_where(rows, database, table, columns, NULL);
}

/* 0: the table has no rows, or no ids. */
static int64_t largest_id(struct nsys_database *database, const char *table)
{
    char *query = require_memory(sqlite3_mprintf("SELECT max(rowid) FROM \"%w\"", table));
    sqlite3_stmt *statement = NULL;
    int64_t id = 0;

    if (sqlite3_prepare_v2(database->connection, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        id = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_free(query);
    return id;
}

void nsys_database_tell_unused(struct read_account *read, struct nsys_database *database,
                               const char *lists)
{
    sqlite3_stmt *list = nsys_list_tables(database);
    const char *table;

    while ((table = nsys_next_table(&list))) {
        int64_t rows;

        if (has_prefix(table, "sqlite_") || has_prefix(table, lists) ||
            string_pool_find(&database->opened, table, strlen(table)) != UINT32_MAX)
            continue;
        rows = largest_id(database, table);
        if (rows > 0)
            read_account_leave(read, table, rows);
    }
}

bool nsys_rows_next(struct nsys_rows *rows)
{
    int result = rows->statement ? sqlite3_step(rows->statement) : SQLITE_DONE;

    if (result != SQLITE_ROW && result != SQLITE_DONE)
        note_damage(rows->database, rows->table);
    return result == SQLITE_ROW;
}

bool nsys_is_null(const struct nsys_rows *rows, int column)
{
    return sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
}

/* NULL, or no number: that is damage. */
static bool is_no_number(const struct nsys_rows *rows, int column)
{
    struct nsys_database *database = rows->database;
    int type = sqlite3_column_type(rows->statement, column);

    if (type != SQLITE_TEXT && type != SQLITE_BLOB)
        return type == SQLITE_NULL;
    if (type == SQLITE_TEXT && nsys_database_is_number(nsys_text(rows, column)))
        return false;
    if (!database->damage[0])
        (void)snprintf(database->damage, sizeof database->damage,
                       "%s: text or bytes where a number was expected", rows->table);
    return true;
}

int64_t nsys_integer(const struct nsys_rows *rows, int column, int64_t if_null)
{
    return is_no_number(rows, column) ? if_null : sqlite3_column_int64(rows->statement, column);
}

double nsys_real(const struct nsys_rows *rows, int column, double if_null)
{
    return is_no_number(rows, column) ? if_null : sqlite3_column_double(rows->statement, column);
}

const char *nsys_text(const struct nsys_rows *rows, int column)
{
    return (const char *)sqlite3_column_text(rows->statement, column);
}

const unsigned char *nsys_bytes(const struct nsys_rows *rows, int column, size_t *length)
{
    const unsigned char *bytes = sqlite3_column_blob(rows->statement, column);

    *length = bytes ? (size_t)sqlite3_column_bytes(rows->statement, column) : 0;
    return bytes;
}

void nsys_rows_clear(struct nsys_rows *rows)
{
    if (!rows)
        return;
    sqlite3_finalize(rows->statement);
    *rows = (struct nsys_rows){0};
}
