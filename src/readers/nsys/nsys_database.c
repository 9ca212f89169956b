/* What every reader of a database of Nsight Systems needs: that it is one, its version, its
 * strings. */
#include "readers/nsys/nsys_database.h"

#include <stdio.h>
#include <string.h>

/* Any one will do: which tables there are depends on what was recorded and on the version. */
bool is_of_nsight_systems(struct sqlite_input *database)
{
    static const char *const marks[] = {"META_DATA_EXPORT",
                                        "EXPORT_META_DATA",
                                        "CUPTI_ACTIVITY_KIND_KERNEL",
                                        "CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "NVTX_EVENTS",
                                        "TARGET_INFO_SYSTEM_ENV"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (sqlite_has_table(database, marks[i]))
            return true;
    }
    return false;
}

/* Newer exports have the table under the other name. */
static void read_version(struct nsys_database *database)
{
    static const char *const columns[] = {"name", "value", NULL};
    static const char *const tables[] = {"META_DATA_EXPORT", "EXPORT_META_DATA"};

    for (size_t i = 0; i < 2; i++) {
        struct sqlite_rows rows = {0};

        sqlite_rows_open(&rows, &database->file, tables[i], columns);
        while (sqlite_rows_next(&rows)) {
            const char *name = sqlite_text(&rows, 0);
            const char *value = sqlite_text(&rows, 1);

            if (!name || !value)
                continue;
            if (strcmp(name, "EXPORT_SCHEMA_VERSION") == 0)
                (void)snprintf(database->schema, sizeof database->schema, "%s", value);
            if (strcmp(name, "EXPORT_PRODUCT_VERSION") == 0)
                (void)snprintf(database->product, sizeof database->product, "%s", value);
        }
        sqlite_rows_clear(&rows);
    }
}

/* The empty text is number 0 of our own pool, "no name". */
static void read_strings(struct nsys_database *database)
{
    static const char *const columns[] = {"id", "value", NULL};
    struct sqlite_rows rows = {0};

    string_pool_add(&database->strings, "", 0);
    sqlite_rows_open(&rows, &database->file, "StringIds", columns);
    while (sqlite_rows_next(&rows)) {
        const char *value = sqlite_text(&rows, 1);

        if (value && !sqlite_is_null(&rows, 0))
            hash_map_add(&database->string_ids, (uint64_t)sqlite_integer(&rows, 0, 0),
                         string_pool_add(&database->strings, value, strlen(value)));
    }
    sqlite_rows_clear(&rows);
}

const char *nsys_string(const struct nsys_database *database, int64_t id)
{
    uint32_t string = hash_map_find(&database->string_ids, (uint64_t)id);

    return string == NO_VALUE ? NULL : string_pool_text(&database->strings, string);
}

/* Other tools write SQLite, too: the tables that were found are named, by which a reader knows
 * what the file is. */
bool nsys_database_open(struct nsys_database *database, const char *path, const char *others,
                        struct error *error)
{
    char tables[512];

    if (!sqlite_input_open(&database->file, path, error))
        return false;
    if (!is_of_nsight_systems(&database->file)) {
        sqlite_name_tables(&database->file, tables, sizeof tables);
        nsys_database_clear(database);
        return error_set(error, ERROR_INPUT,
                         "an SQLite database, but not one of Nsight Systems (tables such as "
                         "'StringIds', 'CUPTI_ACTIVITY_KIND_KERNEL')%s; found: %s: name a file "
                         "that 'nsys export --type sqlite' wrote%s",
                         others ? others : "", tables, others ? ", or one of theirs" : "");
    }
    read_version(database);
    read_strings(database);
    return true;
}

void nsys_database_clear(struct nsys_database *database)
{
    if (!database)
        return;
    sqlite_input_clear(&database->file);
    string_pool_clear(&database->strings);
    hash_map_clear(&database->string_ids);
    *database = (struct nsys_database){0};
}
