/* Finds the processes of a database of rocprofv3, those whose rows stand in tables of device work,
 * and the rows of one in a table. */
#include "base/text/prefix.h"
#include "readers/rocprof/rocpd_reading.h"
#include "readers/sqlite/sqlite_batch.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tables of several runs stand in one file, told apart by a suffix or by an id in each row: a
 * part is one process of one run. */
static struct rocpd_part *rocpd_add_part(struct rocpd_parts *parts, const struct rocpd_part *part)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        struct rocpd_part *known = &parts->parts[i];

        if (strcmp(known->suffix, part->suffix) == 0 && known->has_guid == part->has_guid &&
            strcmp(known->guid, part->guid) == 0 && known->process == part->process)
            return known;
    }
    if (parts->count == READER_PARTS_MAX) {
        parts->are_too_many = true;
        return NULL;
    }
    parts->parts[parts->count] = *part;
    return &parts->parts[parts->count++];
}

/* True where the suffix is the guid, with '_' for '-'. */
static bool suffix_names_guid(const char *suffix, const char *guid)
{
    size_t length = strlen(guid);

    if (length == 0 || suffix[0] != '_' || strlen(suffix) != length + 1)
        return false;
    for (size_t i = 0; i < length; i++)
        if (suffix[i + 1] != (guid[i] == '-' ? '_' : guid[i]))
            return false;
    return true;
}

/* Asks for the first row alone, as tables are long. */
static bool has_rows(struct sqlite_input *database, const char *table)
{
    char query[SQLITE_INPUT_NAME_MAX + 48];
    sqlite3_stmt *statement = NULL;
    bool has_row;

    (void)snprintf(query, sizeof query, "SELECT 1 FROM \"%s\" LIMIT 1", table);
    has_row = sqlite3_prepare_v2(database->connection, query, -1, &statement, NULL) == SQLITE_OK &&
              sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return has_row;
}

/* The tables are of one process, as rocprofv3 writes them: named by its guid, and their list of
 * processes has it alone. Looking at each row for its process takes a tenth of all work. */
static bool has_only_process(struct sqlite_input *database, const char *suffix)
{
    char table[SQLITE_INPUT_NAME_MAX], query[SQLITE_INPUT_NAME_MAX + 48];
    sqlite3_stmt *statement = NULL;
    bool is_one = false;

    (void)snprintf(table, sizeof table, "rocpd_info_process%s", suffix);
    if (!sqlite_has_column(database, table, "guid"))
        return false;
    (void)snprintf(query, sizeof query, "SELECT guid FROM \"%s\" LIMIT 2", table);
    if (sqlite3_prepare_v2(database->connection, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        const char *guid = (const char *)sqlite3_column_text(statement, 0);

        is_one = guid && suffix_names_guid(suffix, guid) && sqlite3_step(statement) == SQLITE_DONE;
    }
    sqlite3_finalize(statement);
    return is_one;
}

/* The processes with rows in a table of device work. DISTINCT over two columns needs no order
 * and little memory; the tables may have millions of rows. */
static void add_parts_of(struct rocpd_parts *parts, struct sqlite_input *database,
                         const char *table, const char *suffix)
{
    struct rocpd_part part = {.process = -1};
    sqlite3_stmt *statement = NULL;
    char query[SQLITE_INPUT_NAME_MAX + 96];
    const bool has_guid = sqlite_has_column(database, table, "guid");
    const bool has_process = sqlite_has_column(database, table, "pid");

    (void)snprintf(part.suffix, sizeof part.suffix, "%s", suffix);
    if (has_only_process(database, suffix)) {
        if (parts->count < parts->most && has_rows(database, table))
            (void)rocpd_add_part(parts, &part);
        return;
    }
    (void)snprintf(query, sizeof query, "SELECT DISTINCT %s, %s FROM \"%s\"",
                   has_guid ? "guid" : "NULL", has_process ? "pid" : "NULL", table);
    if (sqlite3_prepare_v2(database->connection, query, -1, &statement, NULL) == SQLITE_OK) {
        while (parts->count < parts->most && sqlite3_step(statement) == SQLITE_ROW) {
            const char *guid = (const char *)sqlite3_column_text(statement, 0);

            part.has_guid = guid != NULL;
            (void)snprintf(part.guid, sizeof part.guid, "%s", guid ? guid : "");
            part.process = sqlite3_column_type(statement, 1) == SQLITE_NULL
                               ? -1
                               : sqlite3_column_int64(statement, 1);
            (void)rocpd_add_part(parts, &part);
        }
    }
    sqlite3_finalize(statement);
}

/* The suffixes of the tables that begin with `name`: each calls `add_parts_of`, or is taken as a
 * part as a whole. */
static void for_each_suffix(struct rocpd_parts *parts, struct sqlite_input *database,
                            const char *name, bool as_a_whole)
{
    const char *table;

    for (uint32_t i = 0; (table = sqlite_table_name(database, i)); i++) {
        struct rocpd_part whole = {.process = -1};

        if (!has_prefix(table, name) || strlen(table) >= SQLITE_INPUT_NAME_MAX ||
            strlen(table) - strlen(name) >= ROCPD_SUFFIX_MAX || strchr(table, '"'))
            continue;
        (void)snprintf(whole.suffix, sizeof whole.suffix, "%s", table + strlen(name));
        if (as_a_whole)
            (void)rocpd_add_part(parts, &whole);
        else
            add_parts_of(parts, database, table, whole.suffix);
    }
}

/* Comparing the guid of each row takes a tenth of all work: tables that have it in their names,
 * and rows of one process, need none. */
static void note_own_tables(struct rocpd_parts *parts)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        struct rocpd_part *part = &parts->parts[i];
        uint32_t sharing = 0;

        for (uint32_t k = 0; k < parts->count; k++)
            sharing += strcmp(parts->parts[k].suffix, part->suffix) == 0;
        if (sharing == 1 && suffix_names_guid(part->suffix, part->guid))
            part->has_guid = false;
    }
}

/* Without device work all that is there is one part, so that a file of calls alone is read
 * too. */
void rocpd_find_parts(struct rocpd_parts *parts, struct sqlite_input *database, uint32_t most)
{
    parts->count = 0;
    parts->most = most;
    for_each_suffix(parts, database, "rocpd_kernel_dispatch", false);
    for_each_suffix(parts, database, "rocpd_memory_copy", false);
    note_own_tables(parts);
    if (parts->count > 0)
        return;
    for_each_suffix(parts, database, "rocpd_region", true);
    for_each_suffix(parts, database, "rocpd_info_process", true);
    parts->count = parts->count > 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void rocpd_table_name(char *to, const char *name, const char *suffix)
{
    (void)snprintf(to, SQLITE_INPUT_NAME_MAX, "rocpd_%s%s", name, suffix);
}

/* Whose rows are wanted, where the tables hold those of others; empty: all. In the list of
 * processes `pid` is the system's number, not that of a row there. */
static void rocpd_condition(char *to, size_t size, const struct rocpd_reading *reading,
                            const char *table)
{
    const bool by_guid =
        reading->part->has_guid && sqlite_has_column(reading->database, table, "guid");
    const bool by_process = reading->part->process >= 0 &&
                            !has_prefix(table, "rocpd_info_process") &&
                            sqlite_has_column(reading->database, table, "pid");

    (void)snprintf(to, size, "%s%s%s", by_guid ? "T.guid = ?1" : "",
                   by_guid && by_process ? " AND " : "", by_process ? "T.pid = ?2" : "");
}

/* "SELECT 1 FROM t AS T LEFT JOIN e AS E ON ... WHERE ..."; sqlite3_free() it. The event is joined
 * by SQLite, which has an index on its id: a map of all events here would be as large as the
 * file. */
static char *rocpd_query_text(const struct rocpd_reading *reading, struct sqlite_rows *rows,
                              const struct rocpd_query *query, const char *table)
{
    sqlite3_str *text = sqlite3_str_new(reading->database->connection);
    char event[SQLITE_INPUT_NAME_MAX];
    char condition[64];
    bool is_joined;

    rocpd_table_name(event, "event", reading->part->suffix);
    rocpd_condition(condition, sizeof condition, reading, table);
    is_joined = query->event_columns && sqlite_has_table(reading->database, event) &&
                sqlite_has_column(reading->database, table, "event_id");
    sqlite3_str_appendf(text, "SELECT 1 FROM \"%w\" AS T", table);
    if (is_joined) {
        string_pool_add(&reading->database->opened, event, strlen(event));
        sqlite3_str_appendf(text, " LEFT JOIN \"%w\" AS E ON E.id = T.event_id", event);
    }
    if (is_joined && reading->part->has_guid && sqlite_has_column(reading->database, event, "guid"))
        sqlite3_str_appendall(text, " AND E.guid = ?1");
    sqlite_append_rows_begin(text, rows, *condition ? condition : NULL);
    sqlite_append_columns(text, rows, table, "T", query->columns);
    if (query->event_columns)
        sqlite_append_columns(text, rows, is_joined ? event : "", "E", query->event_columns);
    sqlite_append_rows_end(text, *condition ? condition : NULL);
    return sqlite3_str_finish(text);
}

/* The rows of the process in a table; none where there is no such table. */
void rocpd_rows_open(struct sqlite_rows *rows, struct rocpd_reading *reading,
                     const struct rocpd_query *query)
{
    char table[SQLITE_INPUT_NAME_MAX];
    struct sqlite_input *database = reading->database;
    char *text;

    *rows = (struct sqlite_rows){.input = database, .table = query->table};
    rocpd_table_name(table, query->table, reading->part->suffix);
    if (!sqlite_has_table(database, table))
        return;
    string_pool_add(&database->opened, table, strlen(table));
    text = require_memory(rocpd_query_text(reading, rows, query, table));
    if (sqlite3_prepare_v2(database->connection, text, -1, &rows->statement, NULL) != SQLITE_OK) {
        sqlite_input_note_damage(database, table);
    } else {
        if (reading->part->has_guid)
            (void)sqlite3_bind_text(rows->statement, 1, reading->part->guid, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(rows->statement, 2, reading->part->process);
    }
    sqlite3_free(text);
}
