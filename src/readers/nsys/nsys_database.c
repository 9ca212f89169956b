/* What the pieces of the reader of Nsight Systems databases share: that a file is one, its version,
 * its strings. */
#include "readers/nsys/nsys_database.h"

#include "readers/nsys/nsys_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* globalTid and globalPid have the process in their upper bits and the thread in the lower 24,
 * so one condition in SQL leaves the rows of one rank. */
void nsys_reading_open(struct nsys_reading *reading, struct sqlite_rows *rows, const char *table,
                       const char *const *columns, const char *process_column)
{
    char text[64];
    const struct sqlite_condition is_of_process = {text, reading->process >> 24};
    bool is_filtered =
        reading->process >= 0 && sqlite_has_column(&reading->database->file, table, process_column);

    reading->category = table;
    reading->category_name = string_pool_add(&reading->builder.strings, table, strlen(table));
    (void)snprintf(text, sizeof text, "(%s >> 24) = ?1", process_column);
    sqlite_rows_open_where(rows, &reading->database->file, table, columns,
                           is_filtered ? &is_of_process : NULL);
}

/* Each bad row is counted under one reason, and under its table, so that the sums of what was
 * read agree. */
bool nsys_reading_time(struct nsys_reading *reading, const struct sqlite_rows *rows,
                       struct nsys_row_time *time)
{
    struct trace_builder *builder = &reading->builder;
    bool is_timed = !sqlite_is_null(rows, 0) && !sqlite_is_null(rows, 1);
    int64_t duration_ns;

    *time = (struct nsys_row_time){sqlite_integer(rows, 0, 1), sqlite_integer(rows, 1, 0)};
    builder->read.events++;
    if (!is_timed)
        builder->read.missing_times++;
    else if (__builtin_sub_overflow(time->end_ns, time->start_ns, &duration_ns))
        builder->read.overflowing_durations++;
    else if (duration_ns < 0)
        builder->read.negative_durations++;
    trace_builder_count(builder, reading->category_name, 'X', time->start_ns, time->end_ns);
    return is_timed && time->end_ns >= time->start_ns &&
           !__builtin_sub_overflow(time->end_ns, time->start_ns, &duration_ns);
}

/* Only strings that rows of this rank name are copied: the file's pool is that of all
 * processes. */
uint32_t nsys_reading_string(struct nsys_reading *reading, int64_t id)
{
    uint32_t string = hash_map_find(&reading->database->string_ids, (uint64_t)id);
    const char *text;

    if (string == NO_VALUE)
        return 0;
    if (!reading->names[string]) {
        text = string_pool_text(&reading->database->strings, string);
        reading->names[string] = string_pool_add(&reading->builder.strings, text, strlen(text));
    }
    return reading->names[string];
}

/* Rows of a thread follow each other: formatting numbers for each would take longer than
 * reading the row. */
uint32_t nsys_reading_thread(struct nsys_reading *reading, int64_t global_tid)
{
    struct track_key key = {.device = -1, .stream = -1};
    char text[24];
    int length;

    if (global_tid == reading->last_thread)
        return reading->last_thread_track;
    length = snprintf(text, sizeof text, "%" PRId64, nsys_pid(global_tid));
    key.process = string_pool_add(&reading->builder.strings, text, (size_t)length);
    length = snprintf(text, sizeof text, "%" PRId64, nsys_tid(global_tid));
    key.thread = string_pool_add(&reading->builder.strings, text, (size_t)length);
    reading->last_thread = global_tid;
    reading->last_thread_track = trace_builder_track(&reading->builder, &key);
    return reading->last_thread_track;
}

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
    if (database->file.missing_bytes > 0 && !is_of_nsight_systems(&database->file)) {
        int64_t missing = database->file.missing_bytes;

        nsys_database_clear(database);
        return error_set(error, ERROR_INPUT,
                         "an SQLite database that is cut: %" PRId64
                         " bytes are missing, and what is left does not "
                         "hold a table of events; copy it again, or record again",
                         missing);
    }
    if (others && sqlite_has_table(&database->file, "KERN")) {
        nsys_database_clear(database);
        return error_set(error, ERROR_INPUT,
                         "a database of rocprof, which came before rocprofv3 and is not read: "
                         "record with rocprofv3 --kernel-trace --memory-copy-trace --hip-trace");
    }
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
