/* What the readers of databases of ROCm's recorders do alike with rows: texts, records, and what is
 * told of a process. */
#include "base/io/progress.h"
#include "base/text/prefix.h"
#include "readers/rocprof/rocprof_reading.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All the names at once: a table that is asked for by its name would be looked for in every form of
 * it, and files that are none of these are the usual case. */
bool rocprof_has_table_like(const struct input_stream *input, const char *begin, const char *other)
{
    SCOPED(sqlite_input) database = {0};
    sqlite3_stmt *statement = NULL;
    struct error unused = {0};
    bool is_found = false;

    if (!input_stream_can_seek(input) || input->compression != COMPRESSION_NONE ||
        !sqlite_input_open(&database, input->name, &unused))
        return false;
    if (sqlite3_prepare_v2(database.connection, "SELECT name FROM sqlite_master", -1, &statement,
                           NULL) == SQLITE_OK)
        while (!is_found && sqlite3_step(statement) == SQLITE_ROW) {
            const char *name = (const char *)sqlite3_column_text(statement, 0);

            is_found = name && (has_prefix(name, begin) || has_prefix(name, other));
        }
    sqlite3_finalize(statement);
    return is_found;
}

/* Names are kept once in the builder's strings, whichever table they stand in. */
uint32_t rocprof_text(struct rocprof_run *run, const char *text)
{
    return text && *text ? string_pool_add(&run->builder.strings, text, strlen(text)) : 0;
}

const char *const rocprof_string_columns[] = {"id", "string", NULL};

/* Empty texts have no place: 0 stands for them wherever a name may be missing. */
void rocprof_read_strings(struct rocprof_run *run, struct hash_map *strings,
                          struct sqlite_rows *rows)
{
    while (sqlite_rows_next(rows))
        (void)hash_map_add(strings, (uint64_t)sqlite_integer(rows, 0, -1),
                           rocprof_text(run, sqlite_text(rows, 1)));
    sqlite_rows_clear(rows);
}

uint32_t rocprof_string(const struct hash_map *strings, int64_t id)
{
    uint32_t string = hash_map_find(strings, (uint64_t)id);

    return string == NO_VALUE ? 0 : string;
}

struct json_slice rocprof_json_copy(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    char *copy = require_memory(calloc(length + INPUT_PADDING, 1));

    if (text)
        (void)snprintf(copy, length + 1, "%s", text);
    return (struct json_slice){.text = copy, .length = (uint32_t)length};
}

/* The kind of all of them is one number, and the operation the string. */
void rocprof_take_name(struct rocprof_run *run, struct rocprof_record *record, uint32_t name)
{
    const struct rocprof_operation operation = {0, name, name};

    if (name)
        rocprof_run_name_operation(run, &operation);
    rocprof_record_set(record, ROCPROF_KIND, 0);
    rocprof_record_set(record, ROCPROF_OPERATION, name);
}

/* RANK of the environment is the program's own word; any order of the file is a guess, and is told
 * as one. */
void rocprof_name_process(struct rocprof_run *run, uint32_t part, uint32_t count, const char *order)
{
    struct run_facts *facts = &run->builder.facts;
    char text[128];

    if (count <= 1)
        return;
    (void)snprintf(text, sizeof text,
                   "process %" PRId64 " (of %" PRIu32 " with device work; ranks are %s)", run->pid,
                   count, facts->rank >= 0 ? "those of RANK" : order);
    facts->process = rocprof_text(run, text);
    facts->is_rank_by_order = facts->rank < 0;
    if (facts->is_rank_by_order)
        facts->rank = part;
}

/* A recording of the host alone is worth a report, and one of nothing is told with what to do. */
static bool has_rows_of_use(const struct rocprof_run *run, const struct sqlite_input *database,
                            const char *remedy, struct error *error)
{
    if (rocprof_run_has_events(run))
        return true;
    if (database->missing_bytes > 0 || database->damage[0])
        return error_set(error, ERROR_INPUT,
                         "cut or damaged: no kernel and no call in it can be read (%s); copy it "
                         "again, or record again",
                         database->damage[0] ? database->damage : "its end is missing");
    return error_set(error, ERROR_NO_DATA,
                     "no kernel, copy, call or marker in it (%" PRId64 " other rows): %s",
                     run->builder.read.events, remedy);
}

bool rocprof_finish_rows(struct rocprof_run *run, const struct rocprof_rows_end *end,
                         struct trace *trace, const struct read_options *options,
                         struct error *error)
{
    sqlite_input_tell_damage(&run->builder.read, end->database);
    if (end->own_tables)
        sqlite_input_tell_unused(&run->builder.read, end->database, end->own_tables);
    run->builder.read.text_bytes = end->database->file_bytes;
    progress_advance(options->progress, end->database->file_bytes);
    if (!has_rows_of_use(run, end->database, end->remedy, error))
        return false;
    rocprof_run_finish(run);
    trace_finish(trace, &run->builder, 1, options->threads);
    return true;
}
