/* Finds the processes of a database of rocprofv3: those whose rows stand in tables of device work.
 */
#include "base/text/prefix.h"
#include "readers/rocprof/rocprof_reading.h"

#include <sqlite3.h>
#include <stdio.h>
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
    sqlite3_stmt *list = sqlite_list_tables(database);
    const char *table;

    while ((table = sqlite_next_table(&list))) {
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

/* True where the suffix is the guid, with '_' for '-'. */
static bool suffix_names_guid(const struct rocpd_part *part)
{
    size_t length = strlen(part->guid);

    if (length == 0 || part->suffix[0] != '_' || strlen(part->suffix) != length + 1)
        return false;
    for (size_t i = 0; i < length; i++)
        if (part->suffix[i + 1] != (part->guid[i] == '-' ? '_' : part->guid[i]))
            return false;
    return true;
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
        if (sharing == 1 && suffix_names_guid(part))
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
