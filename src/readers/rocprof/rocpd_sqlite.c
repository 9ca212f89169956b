/* Reads the SQLite databases of rocprofv3 (rocpd), one process at a time: a process is a rank.
 *
 * Each process has tables of its own, rocpd_NAME_GUID, or stands in common ones with its guid; the
 * views of the file, which are programs, are not run. Ids count within a guid. */
#include "base/core/array.h"
#include "base/io/progress.h"
#include "base/json/json_walk.h"
#include "base/text/prefix.h"
#include "readers/reader.h"
#include "readers/rocprof/rocprof_reading.h"
#include "readers/sqlite/sqlite_input.h"

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One process on its way into a trace. */
struct rocpd_reading {
    struct sqlite_input *database; /* not owned */
    const struct rocpd_part *part;
    struct rocprof_run run;
    struct hash_map strings; /* id in rocpd_string: id in the builder */
    struct hash_map threads; /* row in rocpd_info_thread: index in thread_ids */
    int64_t *thread_ids;
    uint32_t thread_count;
    struct hash_map dispatches; /* event of a kernel: index in `dispatched` */
    struct rocprof_count *dispatched;
    uint32_t dispatch_count;
};

static void rocpd_table_name(char *to, const char *name, const char *suffix)
{
    (void)snprintf(to, SQLITE_INPUT_NAME_MAX, "rocpd_%s%s", name, suffix);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* What is read of a table: columns of its own, and of the event that its rows name. */
struct rocpd_query {
    const char *table;
    const char *const *columns;       /* ends with NULL */
    const char *const *event_columns; /* ends with NULL; NULL: no event is asked for */
};

/* "SELECT T.a, E.b FROM t AS T LEFT JOIN e AS E ON ... WHERE ..."; sqlite3_free() it. The event
 * is joined by SQLite, which has an index on its id: a map of all events here would be as large
 * as the file. */
static char *rocpd_query_text(const struct rocpd_reading *reading, struct sqlite_rows *rows,
                              const struct rocpd_query *query, const char *table)
{
    sqlite3_str *text = sqlite3_str_new(reading->database->connection);
    char event[SQLITE_INPUT_NAME_MAX];
    bool is_joined;

    rocpd_table_name(event, "event", reading->part->suffix);
    is_joined = query->event_columns && sqlite_has_table(reading->database, event) &&
                sqlite_has_column(reading->database, table, "event_id");
    sqlite3_str_appendall(text, "SELECT ");
    sqlite_append_columns(text, rows, table, "T", query->columns);
    if (query->event_columns)
        sqlite_append_columns(text, rows, is_joined ? event : "", "E", query->event_columns);
    sqlite3_str_appendf(text, " FROM \"%w\" AS T", table);
    if (is_joined) {
        string_pool_add(&reading->database->opened, event, strlen(event));
        sqlite3_str_appendf(text, " LEFT JOIN \"%w\" AS E ON E.id = T.event_id", event);
    }
    if (is_joined && reading->part->has_guid && sqlite_has_column(reading->database, event, "guid"))
        sqlite3_str_appendall(text, " AND E.guid = ?1");
    sqlite3_str_appendall(text, " WHERE 1");
    if (reading->part->has_guid && sqlite_has_column(reading->database, table, "guid"))
        sqlite3_str_appendall(text, " AND T.guid = ?1");
    if (reading->part->process >= 0 && sqlite_has_column(reading->database, table, "pid"))
        sqlite3_str_appendall(text, " AND T.pid = ?2");
    return sqlite3_str_finish(text);
}

/* The rows of the process in a table; none where there is no such table. */
static void rocpd_rows_open(struct sqlite_rows *rows, struct rocpd_reading *reading,
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

/* ---- what names rows ------------------------------------------------------------------------ */

static void rocpd_read_strings(struct rocpd_reading *reading)
{
    const struct rocpd_query query = {"string", rocprof_string_columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    rocprof_read_strings(&reading->run, &reading->strings, &rows);
}

/* A number in the environment, where it is text: -1: none. */
static int64_t rocpd_variable_of(const struct json_slice *environment, const char *name)
{
    struct json_slice value;
    int64_t number;

    return rocprof_json_member(environment, name, &value) && slice_integer(&value, &number) &&
                   number >= 0 && number < INT32_MAX
               ? number
               : -1;
}

/* The rank is nowhere but in the environment that the recorder kept of the process. */
static void rocpd_read_process(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"id", "pid", "environment", NULL};
    const struct rocpd_query query = {"info_process", columns, NULL};
    struct run_facts *facts = &reading->run.builder.facts;
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        struct json_slice environment;
        const int64_t row = sqlite_integer(&rows, 0, -1);

        if (reading->part->process >= 0 && row != reading->part->process)
            continue;
        reading->run.pid = sqlite_integer(&rows, 1, -1);
        environment = rocprof_json_copy(sqlite_text(&rows, 2));
        facts->rank = rocpd_variable_of(&environment, "RANK");
        facts->world_size = rocpd_variable_of(&environment, "WORLD_SIZE");
        free((char *)(uintptr_t)environment.text);
    }
    sqlite_rows_clear(&rows);
}

static void rocpd_read_node(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"hostname", NULL};
    const struct rocpd_query query = {"info_node", columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    if (sqlite_rows_next(&rows))
        reading->run.builder.facts.hostname = rocprof_text(&reading->run, sqlite_text(&rows, 0));
    sqlite_rows_clear(&rows);
}

static void rocpd_read_threads(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"id", "tid", NULL};
    const struct rocpd_query query = {"info_thread", columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        const int64_t row = sqlite_integer(&rows, 0, -1);

        if (hash_map_add(&reading->threads, (uint64_t)row, reading->thread_count) ==
            reading->thread_count)
            ARRAY_ADD(reading->thread_ids, reading->thread_count, sqlite_integer(&rows, 1, row));
    }
    sqlite_rows_clear(&rows);
}

enum { AGENT_ID, AGENT_TYPE, AGENT_INDEX, AGENT_NAME, AGENT_PRODUCT, AGENT_JSON };

/* extdata is the JSON that rocprofv3 also writes to its JSON output, so both are read by one
 * function; columns count before it. */
static void rocpd_read_agents(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"id",           "type",    "type_index", "name",
                                          "product_name", "extdata", NULL};
    const struct rocpd_query query = {"info_agent", columns, NULL};
    struct sqlite_rows rows;
    uint32_t index = 0;

    rocpd_rows_open(&rows, reading, &query);
    for (; sqlite_rows_next(&rows); index++) {
        struct json_slice agent = rocprof_json_copy(sqlite_text(&rows, AGENT_JSON));
        const char *type = sqlite_text(&rows, AGENT_TYPE);
        const bool is_gpu = type && strcmp(type, "GPU") == 0;
        struct device device;
        uint32_t name;

        rocprof_run_read_device(&reading->run, &agent, index, &device);
        if (type)
            device.number =
                is_gpu ? rocprof_run_small(sqlite_integer(&rows, AGENT_INDEX, index)) : -1;
        name = rocprof_text(&reading->run, sqlite_text(&rows, AGENT_PRODUCT));
        name = name ? name : rocprof_text(&reading->run, sqlite_text(&rows, AGENT_NAME));
        device.name = name ? name : device.name;
        rocprof_run_add_agent(&reading->run, sqlite_integer(&rows, AGENT_ID, -1), &device);
        free((char *)(uintptr_t)agent.text);
    }
    sqlite_rows_clear(&rows);
}

/* Accumulation registers are of the same file of registers from CDNA 2 on: both together limit
 * how many waves fit. */
static void rocpd_read_symbols(struct rocpd_reading *reading)
{
    static const char *const columns[] = {
        "id", "display_name", "kernel_name", "arch_vgpr_count", "accum_vgpr_count", NULL};
    const struct rocpd_query query = {"info_kernel_symbol", columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        struct rocprof_kernel kernel = {.id = sqlite_integer(&rows, 0, -1), .registers = -1};
        const int64_t registers = (int64_t)((uint64_t)sqlite_integer(&rows, 3, 0) +
                                            (uint64_t)sqlite_integer(&rows, 4, 0));

        kernel.name = rocprof_text(&reading->run, sqlite_text(&rows, 1));
        kernel.name =
            kernel.name ? kernel.name : rocprof_text(&reading->run, sqlite_text(&rows, 2));
        kernel.registers = registers > 0 ? rocprof_run_small(registers) : -1;
        rocprof_run_name_kernel(&reading->run, &kernel);
    }
    sqlite_rows_clear(&rows);
}

/* ---- records -------------------------------------------------------------------------------- */

static const char *const stack_columns[] = {"stack_id", NULL};

#define KERNEL_COLUMNS                                                                    \
    "start", "end", "agent_id", "queue_id", "stream_id", "kernel_id", "dispatch_id",      \
        "group_segment_size", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z", \
        "grid_size_x", "grid_size_y", "grid_size_z"

/* Counts name the event of their kernel. */
static void keep_dispatch(struct rocpd_reading *reading, int64_t event,
                          const struct rocprof_record *record)
{
    const struct rocprof_count kept = {.agent = record->values[ROCPROF_AGENT],
                                       .time_ns = record->values[ROCPROF_START]};
    const uint32_t needed = (uint32_t)1 << ROCPROF_AGENT | (uint32_t)1 << ROCPROF_START;

    if ((record->has & needed) == needed &&
        hash_map_add(&reading->dispatches, (uint64_t)event, reading->dispatch_count) ==
            reading->dispatch_count)
        ARRAY_ADD(reading->dispatched, reading->dispatch_count, kept);
}

static const char *const count_columns[] = {"event_id", "pmc_id", "value", NULL};
static const struct rocpd_query count_query = {"pmc_event", count_columns, NULL};

/* Else no kernel has to be found again: the table is there in any case. */
static bool rocpd_has_counts(struct rocpd_reading *reading)
{
    struct sqlite_rows rows;
    bool has_counts;

    rocpd_rows_open(&rows, reading, &count_query);
    has_counts = sqlite_rows_next(&rows);
    sqlite_rows_clear(&rows);
    return has_counts;
}

static void rocpd_read_kernels(struct rocpd_reading *reading)
{
    static const char *const columns[] = {KERNEL_COLUMNS, "event_id", NULL};
    static const enum rocprof_value values[] = {
        ROCPROF_START,    ROCPROF_END,       ROCPROF_AGENT,     ROCPROF_QUEUE,
        ROCPROF_STREAM,   ROCPROF_KERNEL,    ROCPROF_DISPATCH,  ROCPROF_SHARED_MEMORY,
        ROCPROF_BLOCK,    ROCPROF_BLOCK + 1, ROCPROF_BLOCK + 2, ROCPROF_GRID,
        ROCPROF_GRID + 1, ROCPROF_GRID + 2};
    enum { KERNEL_EVENT = sizeof values / sizeof *values, KERNEL_STACK };
    const struct rocpd_query query = {"kernel_dispatch", columns, stack_columns};
    const bool has_counts = rocpd_has_counts(reading);
    struct sqlite_rows rows;

    rocprof_run_set_category(&reading->run, query.table);
    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        struct rocprof_record record = {.has = 0};

        for (int i = 0; i < KERNEL_EVENT; i++)
            rocprof_take(&record, &rows, i, values[i]);
        rocprof_take(&record, &rows, KERNEL_STACK, ROCPROF_CORRELATION);
        rocprof_run_add(&reading->run, ROCPROF_KERNELS, &record);
        if (has_counts)
            keep_dispatch(reading, sqlite_integer(&rows, KERNEL_EVENT, -1), &record);
    }
    sqlite_rows_clear(&rows);
}

static void rocpd_read_copies(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"start",     "end",  "dst_agent_id", "src_agent_id",
                                          "stream_id", "size", "name_id",      NULL};
    static const enum rocprof_value values[] = {ROCPROF_START,  ROCPROF_END,    ROCPROF_DESTINATION,
                                                ROCPROF_SOURCE, ROCPROF_STREAM, ROCPROF_BYTES};
    enum { COPY_NAME = sizeof values / sizeof *values, COPY_STACK };
    const struct rocpd_query query = {"memory_copy", columns, stack_columns};
    struct sqlite_rows rows;

    rocprof_run_set_category(&reading->run, query.table);
    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        struct rocprof_record record = {.has = 0};

        for (int i = 0; i < COPY_NAME; i++)
            rocprof_take(&record, &rows, i, values[i]);
        rocprof_take(&record, &rows, COPY_STACK, ROCPROF_CORRELATION);
        rocprof_take_name(&reading->run, &record,
                          rocprof_string(&reading->strings, sqlite_integer(&rows, COPY_NAME, -1)));
        rocprof_run_add(&reading->run, ROCPROF_COPIES, &record);
    }
    sqlite_rows_clear(&rows);
}

/* By the category of the event; other writers leave it out. */
static enum rocprof_content content_of_region(const char *category, const char *name)
{
    static const char *const calls[] = {"HIP_", "HSA_", "RCCL_", NULL};
    static const char *const names[] = {"hip", "hsa_", "nccl", "__hip", NULL};
    const char *const *starts = *category ? calls : names;
    const char *text = *category ? category : name;

    if (has_prefix(category, "ROC"))
        return ROCPROF_UNUSED; /* rocDecode, rocJPEG */
    for (; *starts; starts++)
        if (has_prefix(text, *starts))
            return ROCPROF_CALLS;
    return ROCPROF_MARKERS;
}

enum { REGION_START, REGION_END, REGION_THREAD, REGION_NAME, REGION_STACK, REGION_CATEGORY };

static uint32_t rocpd_message_of(struct rocpd_reading *reading, const char *extra)
{
    struct json_slice json = rocprof_json_copy(extra);
    struct json_slice value;
    uint32_t message = 0;

    if (rocprof_json_member(&json, "message", &value) && value.is_string && value.length > 0)
        message = rocprof_json_string(&reading->run, &value);
    free((char *)(uintptr_t)json.text);
    return message;
}

/* The message of a marker is in the event's JSON, its name only says that it is one. */
static void rocpd_read_region(struct rocpd_reading *reading, const struct sqlite_rows *rows)
{
    struct string_pool *strings = &reading->run.builder.strings;
    struct rocprof_record record = {.has = 0};
    const uint32_t name = rocprof_string(&reading->strings, sqlite_integer(rows, REGION_NAME, -1));
    const uint32_t category =
        rocprof_string(&reading->strings, sqlite_integer(rows, REGION_CATEGORY, -1));
    const int64_t row = sqlite_integer(rows, REGION_THREAD, 0);
    const uint32_t thread = hash_map_find(&reading->threads, (uint64_t)row);
    enum rocprof_content content =
        content_of_region(string_pool_text(strings, category), string_pool_text(strings, name));
    uint32_t message;

    rocprof_take(&record, rows, REGION_START, ROCPROF_START);
    rocprof_take(&record, rows, REGION_END, ROCPROF_END);
    rocprof_take(&record, rows, REGION_STACK, ROCPROF_CORRELATION);
    rocprof_record_set(&record, ROCPROF_THREAD,
                       thread == NO_VALUE ? row : reading->thread_ids[thread]);
    rocprof_take_name(&reading->run, &record, name);
    rocprof_run_set_category(&reading->run,
                             category ? string_pool_text(strings, category) : "region");
    message = content == ROCPROF_MARKERS
                  ? rocpd_message_of(reading, sqlite_text(rows, REGION_CATEGORY + 1))
                  : 0;
    if (message)
        rocprof_run_name_marker(&reading->run, sqlite_integer(rows, REGION_STACK, -1), message);
    rocprof_run_add(&reading->run, content, &record);
}

static void rocpd_read_regions(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"start", "end", "tid", "name_id", NULL};
    static const char *const event_columns[] = {"stack_id", "category_id", "extdata", NULL};
    const struct rocpd_query query = {"region", columns, event_columns};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows))
        rocpd_read_region(reading, &rows);
    sqlite_rows_clear(&rows);
}

/* Tables whose rows are counted only: with their times, or with none. */
static void rocpd_count_rows(struct rocpd_reading *reading, const char *table, const char *start,
                             const char *end)
{
    const char *const columns[] = {start, end, NULL};
    const struct rocpd_query query = {table, columns, NULL};
    struct trace_builder *builder = &reading->run.builder;
    struct sqlite_rows rows;

    rocprof_run_set_category(&reading->run, table);
    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        builder->read.events++;
        read_account_leave(&builder->read, table, 1);
        trace_builder_count(builder, reading->run.category, strcmp(start, end) == 0 ? 'i' : 'X',
                            sqlite_integer(&rows, 0, 1), sqlite_integer(&rows, 1, 0));
    }
    sqlite_rows_clear(&rows);
}

static void rocpd_read_counters(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"id", "name", "symbol", NULL};
    const struct rocpd_query query = {"info_pmc", columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        const uint32_t name = rocprof_text(&reading->run, sqlite_text(&rows, 1));
        const uint32_t symbol = rocprof_text(&reading->run, sqlite_text(&rows, 2));

        rocprof_run_name_counter(&reading->run, sqlite_integer(&rows, 0, -1), name ? name : symbol);
    }
    sqlite_rows_clear(&rows);
}

/* What was counted in a kernel; rows of other events are told as not read. Counts of one kernel
 * come one per part of the device and are added (rocprof_run_count). */
static void rocpd_read_counts(struct rocpd_reading *reading)
{
    struct trace_builder *builder = &reading->run.builder;
    struct sqlite_rows rows;

    rocprof_run_set_category(&reading->run, count_query.table);
    rocpd_rows_open(&rows, reading, &count_query);
    while (sqlite_rows_next(&rows)) {
        const uint32_t place =
            hash_map_find(&reading->dispatches, (uint64_t)sqlite_integer(&rows, 0, -1));
        struct rocprof_count count;

        builder->read.events++;
        if (place == NO_VALUE) {
            read_account_leave(&builder->read, count_query.table, 1);
            continue;
        }
        count = reading->dispatched[place];
        count.kernel = place;
        count.counter = sqlite_integer(&rows, 1, -1);
        count.value = sqlite_real(&rows, 2, NAN);
        trace_builder_count(builder, reading->run.category, 'C', count.time_ns, count.time_ns);
        rocprof_run_count(&reading->run, &count);
    }
    sqlite_rows_clear(&rows);
}

/* What names rows comes before the rows, counters last, as they name the kernels' events. */
static void rocpd_read_all(struct rocpd_reading *reading)
{
    rocpd_read_strings(reading);
    rocpd_read_process(reading);
    rocpd_read_node(reading);
    rocpd_read_threads(reading);
    rocpd_read_agents(reading);
    rocpd_read_symbols(reading);
    rocpd_read_kernels(reading);
    rocpd_read_copies(reading);
    rocpd_read_regions(reading);
    rocpd_count_rows(reading, "memory_allocate", "start", "end");
    rocpd_count_rows(reading, "sample", "timestamp", "timestamp");
    rocpd_read_counters(reading);
    rocpd_read_counts(reading);
}

/* ---- the reader ----------------------------------------------------------------------------- */

/* By a table's name rather than the file's: rocprofv3 lets the user choose the name. */
static bool rocpd_recognises_file(const struct input_stream *input)
{
    return rocprof_has_table_like(input, "rocpd_", "rocpd_");
}

static bool rocpd_count_parts(uint32_t *count, const struct input_stream *input,
                              struct error *error)
{
    SCOPED(sqlite_input) database = {0};
    struct rocpd_parts *parts;
    bool is_good;

    if (!sqlite_input_open(&database, input->name, error))
        return false;
    parts = require_memory(calloc(1, sizeof *parts));
    rocpd_find_parts(parts, &database, UINT32_MAX);
    *count = parts->count > 0 ? parts->count : 1;
    is_good = reader_can_split(parts->count + parts->are_too_many, error);
    free(parts);
    return is_good;
}

/* RANK of the environment is the program's own word; the order of the file is a guess, and is
 * told as one. */
static void rocpd_name_run(struct rocpd_reading *reading, uint32_t part, uint32_t count)
{
    static const char *const columns[] = {"tag", "value", NULL};
    const struct rocpd_query query = {"metadata", columns, NULL};
    char text[128] = "rocprofv3, rocpd";
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        const char *tag = sqlite_text(&rows, 0);
        const char *value = sqlite_text(&rows, 1);

        if (tag && value && strcmp(tag, "schema_version") == 0)
            (void)snprintf(text, sizeof text, "rocprofv3, rocpd, schema %.32s", value);
    }
    sqlite_rows_clear(&rows);
    memcpy(reading->run.builder.read.recorder, text, sizeof text);
    rocprof_name_process(&reading->run, part, count, "numbered in the order of the file");
}

static void rocpd_reading_clear(struct rocpd_reading *reading)
{
    rocprof_run_clear(&reading->run);
    hash_map_clear(&reading->strings);
    hash_map_clear(&reading->threads);
    free(reading->thread_ids);
    hash_map_clear(&reading->dispatches);
    free(reading->dispatched);
}

static bool rocpd_read(struct trace *trace, struct input_stream *input,
                       const struct read_options *options, struct error *error)
{
    static const struct rocpd_part nothing = {.process = -1};
    SCOPED(sqlite_input) database = {0};
    struct rocpd_reading reading = {.database = &database, .part = &nothing};
    struct rocpd_parts *parts;
    bool is_good;

    if (!sqlite_input_open(&database, input->name, error))
        return false;
    parts = require_memory(calloc(1, sizeof *parts));
    rocpd_find_parts(parts, &database, options->part_count ? options->part_count : UINT32_MAX);
    if (options->part < parts->count)
        reading.part = &parts->parts[options->part];
    rocprof_run_init(&reading.run);
    rocpd_read_all(&reading);
    rocpd_name_run(&reading, options->part, parts->count);
    sqlite_input_tell_damage(&reading.run.builder.read, &database);
    if (parts->count <= 1) /* else tables are those of other ranks */
        sqlite_input_tell_unused(&reading.run.builder.read, &database, "rocpd_info_");
    reading.run.builder.read.text_bytes = database.file_bytes;
    progress_advance(options->progress, database.file_bytes);
    is_good = rocprof_check_rows(&reading.run, &database,
                                 "record with rocprofv3 --kernel-trace --memory-copy-trace "
                                 "--hip-trace --marker-trace",
                                 error);
    if (is_good) {
        rocprof_run_finish(&reading.run);
        trace_finish(trace, &reading.run.builder, 1, options->threads);
    }
    rocpd_reading_clear(&reading);
    free(parts);
    return is_good;
}

const struct reader rocpd_sqlite_reader = {
    .name = "rocprofv3-rocpd",
    .summary = "an SQLite database that rocprofv3 wrote (rocpd, ROCm 7)",
    .recognises = is_sqlite_head,
    .recognises_file = rocpd_recognises_file,
    .count_parts = rocpd_count_parts,
    .read = rocpd_read,
};
