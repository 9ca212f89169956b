/* Reads the SQLite databases of Ascend's recorders: ascend_pytorch_profiler_RANK.db of torch_npu,
 * and msprof_TIME.db of msprof, which has the same tables without those of PyTorch. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/paged_map.h"
#include "base/io/progress.h"
#include "base/text/prefix.h"
#include "readers/ascend/ascend_counters.h"
#include "readers/ascend/ascend_words.h"
#include "readers/reader.h"
#include "readers/sqlite/sqlite_rows.h"
#include "trace/trace_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the tables beside TASK say of a task, as a value of the map of all: its name, a string of
 * the builder, and whether it is a part of a collective. */
static uint32_t task_info(uint32_t name, bool is_transfer)
{
    return name << 1 | is_transfer;
}

struct ascend_reading {
    struct sqlite_input *database; /* not owned */
    struct trace_builder builder;
    struct hash_map strings; /* id in STRING_IDS: id in the builder */
    struct paged_map infos;  /* globalTaskId: task_info() */
    struct paged_map copies; /* globalTaskId: index in copy_bytes */
    int64_t *copy_bytes;
    uint32_t copy_count;
    struct hash_map links;     /* id in CONNECTION_IDS: the first of its connections */
    struct hash_map operators; /* connection: index in operator_list */
    struct linked_operator *operator_list;
    uint32_t operator_count;
    struct connection_link *link_list;
    uint32_t link_count;
    struct ascend_words words;
    uint32_t category;
    uint32_t schema;          /* its version; a string of the builder, empty: not told */
    int32_t device;           /* of the tasks */
    bool has_steps;           /* the operators have ProfilerStep */
    struct hash_map launched; /* launches of tasks that consist of others: ascend_task_launch() */
    struct unnamed_task *unnamed;
    uint32_t unnamed_count;
    bool counts_tasks; /* counters were counted in tasks */
    struct ascend_places places;
};

/* A kernel by its type that no table names: it may consist of other tasks. */
struct unnamed_task {
    struct found_event event;
    uint64_t launch;
};

/* One row of CONNECTION_IDS; those of one id are a list. */
struct connection_link {
    int64_t connection;
    uint32_t next; /* NO_VALUE: the last */
};

/* The operator with which a connection begins. */
struct linked_operator {
    int64_t external_id;
    int64_t start_ns;
};

/* ---- columns -------------------------------------------------------------------------------- */

/* False for NULL. Some writers declare columns of times as text. */
static bool ascend_take_other(const struct sqlite_rows *rows, int column, int64_t if_none,
                              int64_t *number)
{
    const char *text = sqlite_is_text(rows, column) ? sqlite_text(rows, column) : NULL;
    char *end;

    *number = text ? strtoll(text, &end, 10) : sqlite_integer(rows, column, if_none);
    if (text && (end == text || *end))
        *number = if_none;
    return !sqlite_is_null(rows, column);
}

static inline bool ascend_take(const struct sqlite_rows *rows, int column, int64_t if_none,
                               int64_t *number)
{
    return sqlite_is_integer(rows, column, number) ||
           ascend_take_other(rows, column, if_none, number);
}

static int64_t ascend_number(const struct sqlite_rows *rows, int column, int64_t if_none)
{
    int64_t number;

    (void)ascend_take(rows, column, if_none, &number);
    return number;
}

static uint32_t ascend_text(struct ascend_reading *reading, const char *text)
{
    return text ? string_pool_add(&reading->builder.strings, text, strlen(text)) : 0;
}

static uint32_t ascend_string(const struct ascend_reading *reading, const struct sqlite_rows *rows,
                              int column)
{
    int64_t number;
    uint32_t string = ascend_take(rows, column, -1, &number)
                          ? hash_map_find(&reading->strings, (uint64_t)number)
                          : NO_VALUE;

    return string == NO_VALUE ? 0 : string;
}

static int32_t ascend_small(int64_t number)
{
    return number >= 0 && number < INT32_MAX ? (int32_t)number : -1;
}

/* Opens a table whose first two columns are start and end. */
static void ascend_rows_of(struct sqlite_rows *rows, struct ascend_reading *reading,
                           const char *table, const char *const *columns)
{
    reading->category = ascend_text(reading, table);
    sqlite_rows_open(rows, reading->database, table, columns);
}

/* Counts the row; false where its times make no event. Rows without times, or that end before
 * they begin, are counted by reason and make no event. */
static bool ascend_row_event(struct ascend_reading *reading, const struct sqlite_rows *rows,
                             struct found_event *event)
{
    struct trace_builder *builder = &reading->builder;
    int64_t start_ns, end_ns;
    bool has_start = ascend_take(rows, 0, 1, &start_ns);
    bool is_timed = ascend_take(rows, 1, 0, &end_ns) && has_start;

    builder->read.events++;
    *event = (struct found_event){.start_ns = start_ns, .correlation = NO_ID, .external_id = NO_ID};
    trace_builder_count(builder, reading->category, 'X', is_timed ? start_ns : 1,
                        is_timed ? end_ns : 0);
    if (!is_timed)
        builder->read.missing_times++;
    else if (__builtin_sub_overflow(end_ns, start_ns, &event->duration_ns))
        builder->read.overflowing_durations++;
    else if (event->duration_ns < 0)
        builder->read.negative_durations++;
    else
        return true;
    return false;
}

/* ---- what names rows ------------------------------------------------------------------------ */

/* Names are numbers in all other tables, so these go first. Of two rows with one number the
 * first counts. */
static void ascend_read_strings(struct ascend_reading *reading)
{
    static const char *const columns[] = {"id", "value", NULL};
    struct sqlite_rows rows;

    sqlite_rows_open(&rows, reading->database, "STRING_IDS", columns);
    while (sqlite_rows_next(&rows))
        (void)hash_map_add(&reading->strings, (uint64_t)sqlite_integer(&rows, 0, -1),
                           ascend_text(reading, sqlite_text(&rows, 1)));
    sqlite_rows_clear(&rows);
}

/* Sizes that the table does not have are -1, "not told": zero would be read as a device
 * without memory. */
static void ascend_read_devices(struct ascend_reading *reading)
{
    static const char *const columns[] = {"id", "name", NULL};
    struct sqlite_rows rows;

    sqlite_rows_open(&rows, reading->database, "NPU_INFO", columns);
    while (sqlite_rows_next(&rows)) {
        const struct device device = {
            .number = ascend_small(sqlite_integer(&rows, 0, -1)),
            .name = ascend_text(reading, sqlite_text(&rows, 1)),
            .memory_bytes = -1,
            .compute_major = -1,
            .compute_minor = -1,
            .multiprocessors = -1,
            .entry = DEVICE_ENTRY_OWN,
        };

        if (device.number >= 0)
            trace_builder_add_device(&reading->builder, &device);
    }
    sqlite_rows_clear(&rows);
}

/* One database is of one rank: the first row of each of these tables is the only one. */
static void ascend_read_run(struct ascend_reading *reading)
{
    static const char *const host[] = {"hostName", NULL};
    static const char *const ranks[] = {"rankId", NULL};
    static const char *const values[] = {"name", "value", NULL};
    struct run_facts *facts = &reading->builder.facts;
    struct sqlite_rows rows;

    facts->platform = PLATFORM_NPU;
    sqlite_rows_open(&rows, reading->database, "HOST_INFO", host);
    if (sqlite_rows_next(&rows))
        facts->hostname = ascend_text(reading, sqlite_text(&rows, 0));
    sqlite_rows_clear(&rows);
    sqlite_rows_open(&rows, reading->database, "RANK_DEVICE_MAP", ranks);
    if (sqlite_rows_next(&rows))
        facts->rank = ascend_small(sqlite_integer(&rows, 0, -1));
    sqlite_rows_clear(&rows);
    sqlite_rows_open(&rows, reading->database, "META_DATA", values);
    while (sqlite_rows_next(&rows)) {
        const char *name = sqlite_text(&rows, 0);

        if (name && strcmp(name, "torch_npu_version") == 0)
            facts->torch_version = ascend_text(reading, sqlite_text(&rows, 1));
        /* CANN is to these devices what CUDA is to others: one field for the runtime's
         * version. */
        if (name && strcmp(name, "cann_version") == 0)
            facts->cuda_version = ascend_text(reading, sqlite_text(&rows, 1));
        if (name && strcmp(name, "SCHEMA_VERSION") == 0)
            reading->schema = ascend_text(reading, sqlite_text(&rows, 1));
    }
    sqlite_rows_clear(&rows);
}

/* The names are in tables beside the tasks, read first so that each task is one look-up. */
static void ascend_read_infos(struct ascend_reading *reading)
{
    static const char *const tables[] = {"COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO",
                                         "COMMUNICATION_SCHEDULE_TASK_INFO"};
    static const char *const columns[] = {"globalTaskId", "name", NULL};
    static const char *const copy_columns[] = {"globalTaskId", "size", NULL};
    struct sqlite_rows rows;

    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        sqlite_rows_open(&rows, reading->database, tables[t], columns);
        while (sqlite_rows_next(&rows))
            paged_map_set(&reading->infos, (uint64_t)sqlite_integer(&rows, 0, -1),
                          task_info(ascend_string(reading, &rows, 1), t == 1));
        sqlite_rows_clear(&rows);
    }
    sqlite_rows_open(&rows, reading->database, "MEMCPY_INFO", copy_columns);
    while (sqlite_rows_next(&rows)) {
        const uint64_t task = (uint64_t)sqlite_integer(&rows, 0, -1);

        if (paged_map_find(&reading->infos, task) == NO_VALUE)
            paged_map_set(&reading->infos, task, task_info(0, false));
        paged_map_set(&reading->copies, task, reading->copy_count);
        ARRAY_ADD(reading->copy_bytes, reading->copy_count, sqlite_integer(&rows, 1, -1));
    }
    sqlite_rows_clear(&rows);
}

/* Rows of one id are a list through an array, newest first: no allocation per row. They lead to the
 * operators of tasks, for which sums do not ask. */
static void ascend_read_links(struct ascend_reading *reading)
{
    static const char *const columns[] = {"id", "connectionId", NULL};
    struct sqlite_rows rows;

    sqlite_rows_open(&rows, reading->database, "CONNECTION_IDS", columns);
    while (!reading->builder.sums_events && sqlite_rows_next(&rows)) {
        uint64_t id = (uint64_t)sqlite_integer(&rows, 0, -1);
        uint32_t before = hash_map_find(&reading->links, id);

        (void)hash_map_set(&reading->links, id, reading->link_count);
        ARRAY_ADD(reading->link_list, reading->link_count,
                  (struct connection_link){sqlite_integer(&rows, 1, -1), before});
    }
    sqlite_rows_clear(&rows);
}

/* ---- the host ------------------------------------------------------------------------------- */

enum {
    API_START,
    API_END,
    API_THREAD,
    API_NAME,
    API_TYPE,
    API_SEQUENCE,
    API_CONNECTION,
    API_SHAPES,
    API_TYPES,
    API_CALL_CHAIN
};

/* Numbers of ENUM_API_TYPE. */
enum { TYPE_OPERATOR = 50001, TYPE_QUEUE = 50002, TYPE_TRACE = 50003, TYPE_MARKER = 50004 };

static enum event_kind kind_of_api(int64_t type)
{
    return type == TYPE_OPERATOR ? EVENT_OPERATOR
           : type == TYPE_TRACE  ? EVENT_PYTHON_FUNCTION
           : type == TYPE_MARKER ? EVENT_ANNOTATION
                                 : EVENT_HOST_OTHER;
}

/* Of several operators one in another with one connection, the innermost. */
static void link_operator(struct ascend_reading *reading, const struct found_event *event,
                          int64_t connection_id)
{
    uint32_t link = hash_map_find(&reading->links, (uint64_t)connection_id);

    for (; link != NO_VALUE; link = reading->link_list[link].next) {
        uint64_t connection = (uint64_t)reading->link_list[link].connection;
        uint32_t index = hash_map_add(&reading->operators, connection, reading->operator_count);

        if (index == reading->operator_count)
            ARRAY_ADD(reading->operator_list, reading->operator_count,
                      (struct linked_operator){event->external_id, event->start_ns});
        else if (reading->operator_list[index].start_ns <= event->start_ns)
            reading->operator_list[index] =
                (struct linked_operator){event->external_id, event->start_ns};
    }
}

/* External ids below 0 are ours: the database has none that would lead from a task to its
 * operator. */
static void ascend_add_operator(struct ascend_reading *reading, const struct sqlite_rows *rows,
                                struct found_event *event)
{
    struct string_pool *strings = &reading->builder.strings;
    struct event_detail detail = event_detail_none();

    detail.input_shapes =
        ascend_known_shapes(&reading->words, strings, ascend_string(reading, rows, API_SHAPES));
    detail.input_types =
        ascend_known_types(&reading->words, strings, ascend_string(reading, rows, API_TYPES));
    if (detail.input_shapes || detail.input_types)
        event->detail = trace_builder_detail(&reading->builder, &detail);
    event->correlation = ascend_number(rows, API_SEQUENCE, NO_ID);
    event->external_id = -1 - reading->builder.read.events;
    if (!sqlite_is_null(rows, API_CONNECTION))
        link_operator(reading, event, ascend_number(rows, API_CONNECTION, -1));
}

/* "ProfilerStep#" is what torch_npu calls its step marks, as torch.profiler does; whatever
 * type the row gives it, it is a mark and no operator. */
static void ascend_read_operators(struct ascend_reading *reading)
{
    static const char *const columns[] = {
        "startNs",      "endNs",       "globalTid",   "name",        "type", "sequenceNumber",
        "connectionId", "inputShapes", "inputDtypes", "callchainId", NULL};
    static const char *const summed[] = {"startNs", "endNs", "globalTid", "name", "type", NULL};
    struct sqlite_rows rows;
    struct found_event event;

    ascend_rows_of(&rows, reading, "PYTORCH_API", reading->builder.sums_events ? summed : columns);
    while (sqlite_rows_next(&rows)) {
        const uint32_t name = ascend_string(reading, &rows, API_NAME);
        bool is_step =
            has_prefix(string_pool_text(&reading->builder.strings, name), "ProfilerStep#");

        if (!ascend_row_event(reading, &rows, &event))
            continue;
        event.kind =
            (uint8_t)(is_step ? EVENT_ANNOTATION : kind_of_api(ascend_number(&rows, API_TYPE, 0)));
        event.name = name;
        event.track =
            ascend_thread(&reading->words, &reading->builder, ascend_number(&rows, API_THREAD, 0));
        reading->has_steps |= is_step;
        if (event.kind == EVENT_OPERATOR && !reading->builder.sums_events)
            ascend_add_operator(reading, &rows, &event);
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* The connection is what joins a call to the task that it put on the device. */
static void ascend_read_calls(struct ascend_reading *reading)
{
    static const char *const columns[] = {"startNs", "endNs",        "globalTid",
                                          "name",    "connectionId", NULL};
    struct sqlite_rows rows;
    struct found_event event;

    ascend_rows_of(&rows, reading, "CANN_API", columns);
    while (sqlite_rows_next(&rows)) {
        if (!ascend_row_event(reading, &rows, &event))
            continue;
        event.kind = EVENT_RUNTIME_CALL;
        event.track = ascend_thread(&reading->words, &reading->builder, ascend_number(&rows, 2, 0));
        event.name = ascend_string(reading, &rows, 3);
        event.correlation = ascend_number(&rows, 4, NO_ID);
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* STEP_TIME repeats the steps of operators: it counts where these have none. */
static void ascend_read_ranges(struct ascend_reading *reading)
{
    static const char *const columns[] = {"startNs", "endNs", "globalTid", "message", NULL};
    static const char *const step_columns[] = {"startNs", "endNs", "id", NULL};
    struct sqlite_rows rows;
    struct found_event event;

    ascend_rows_of(&rows, reading, "MSTX_EVENTS", columns);
    while (sqlite_rows_next(&rows)) {
        /* Marks without a length are instants and hold nothing. */
        if (!ascend_row_event(reading, &rows, &event) || event.duration_ns == 0)
            continue;
        event.kind = EVENT_ANNOTATION;
        event.track = ascend_thread(&reading->words, &reading->builder, ascend_number(&rows, 2, 0));
        event.name = ascend_string(reading, &rows, 3);
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
    ascend_rows_of(&rows, reading, "STEP_TIME", step_columns);
    while (sqlite_rows_next(&rows)) {
        if (!ascend_row_event(reading, &rows, &event) || reading->has_steps)
            continue;
        event.kind = EVENT_ANNOTATION;
        event.track = ascend_thread(&reading->words, &reading->builder, 0);
        event.name = ascend_number_text(&reading->builder.strings, "ProfilerStep#",
                                        ascend_number(&rows, 2, 0));
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* ---- the device ----------------------------------------------------------------------------- */

static int64_t operator_of_connection(const struct ascend_reading *reading, int64_t connection)
{
    uint32_t index = hash_map_find(&reading->operators, (uint64_t)connection);

    return index == NO_VALUE ? NO_ID : reading->operator_list[index].external_id;
}

enum { TASK_START, TASK_END, TASK_DEVICE, TASK_STREAM, TASK_CONNECTION, TASK_ID, TASK_TYPE };
enum { TASK_CONTEXT = TASK_TYPE + 1, TASK_NUMBER };

/* Of a task that is no part of another. */
static const int64_t no_context = UINT32_MAX;

/* What a task and its parts have in common, mixed: numbers of tasks are used again and again. */
static uint64_t ascend_task_launch(const struct sqlite_rows *rows)
{
    uint64_t connection = (uint64_t)ascend_number(rows, TASK_CONNECTION, -1);
    uint64_t stream = (uint64_t)ascend_number(rows, TASK_STREAM, -1);
    uint64_t number = (uint64_t)ascend_number(rows, TASK_NUMBER, -1);

    return (connection * UINT64_C(0x9e3779b97f4a7c15)) ^ (stream << 32) ^ number;
}

/* The steps of a collective's algorithm (transfers, waits) are tasks of their own beside the
 * collective, so that they are no kernels: its time would count twice. */
static void ascend_add_task(struct ascend_reading *reading, const struct sqlite_rows *rows,
                            struct found_event *event)
{
    const uint32_t type = reading->category;
    const uint64_t task = (uint64_t)ascend_number(rows, TASK_ID, -1);
    const uint32_t info = paged_map_find(&reading->infos, task);
    const uint32_t copy = paged_map_find(&reading->copies, task);
    const bool is_transfer = info != NO_VALUE && info & 1;
    const uint32_t name = info == NO_VALUE ? 0 : info >> 1;

    event->name = name ? name : type;
    event->kind =
        (uint8_t)(is_transfer ? EVENT_DEVICE_OTHER
                              : ascend_task_kind(&reading->words, &reading->builder.strings, type,
                                                 event->name));
    /* Named as one that computes: whatever its type is called. */
    if (event->kind == EVENT_DEVICE_OTHER && name && !is_transfer)
        event->kind = EVENT_KERNEL;
    event->track =
        ascend_stream(&reading->words, &reading->builder, ascend_number(rows, TASK_DEVICE, 0),
                      ascend_number(rows, TASK_STREAM, -1), 0);
    event->correlation = ascend_number(rows, TASK_CONNECTION, NO_ID);
    event->external_id = operator_of_connection(reading, event->correlation);
    event->detail = ascend_task_detail(&reading->words, &reading->builder, type,
                                       copy == NO_VALUE ? -1 : reading->copy_bytes[copy]);
    if (reading->device == 0 || is_transfer)
        reading->device = ascend_small(ascend_number(rows, TASK_DEVICE, 0));
    if (ascend_number(rows, TASK_CONTEXT, no_context) != no_context)
        (void)hash_map_add(&reading->launched, ascend_task_launch(rows), 0);
    if (event->kind == EVENT_KERNEL && info == NO_VALUE)
        ARRAY_ADD(reading->unnamed, reading->unnamed_count,
                  (struct unnamed_task){*event, ascend_task_launch(rows)});
    else
        trace_builder_add(&reading->builder, event);
}

/* What has several parts is launched as a task that lasts as long as these: of the kind kernel. */
static void ascend_add_unnamed(struct ascend_reading *reading)
{
    for (uint32_t i = 0; i < reading->unnamed_count; i++) {
        struct found_event *event = &reading->unnamed[i].event;

        if (hash_map_find(&reading->launched, reading->unnamed[i].launch) != NO_VALUE)
            event->kind = EVENT_DEVICE_OTHER;
        trace_builder_add(&reading->builder, event);
    }
}

/* What names tasks was read before, since rows of a database stand in no order. */
static void ascend_read_tasks(struct ascend_reading *reading)
{
    static const char *const columns[] = {
        "startNs",      "endNs",    "deviceId",  "streamId", "connectionId",
        "globalTaskId", "taskType", "contextId", "taskId",   NULL};
    struct sqlite_rows rows;
    struct found_event event;

    ascend_rows_of(&rows, reading, "TASK", columns);
    while (sqlite_rows_next(&rows)) {
        reading->category = ascend_string(reading, &rows, TASK_TYPE);
        if (!ascend_row_event(reading, &rows, &event))
            continue;
        ascend_add_task(reading, &rows, &event);
        if (reading->counts_tasks)
            ascend_note_place(&reading->places, ascend_number(&rows, TASK_ID, -1), event.start_ns,
                              ascend_small(ascend_number(&rows, TASK_DEVICE, 0)));
    }
    sqlite_rows_clear(&rows);
    ascend_add_unnamed(reading);
}

enum {
    COLLECTIVE_START,
    COLLECTIVE_END,
    COLLECTIVE_NAME,
    COLLECTIVE_GROUP,
    COLLECTIVE_CONNECTION,
    COLLECTIVE_DATA_TYPE,
    COLLECTIVE_ELEMENTS,
    COLLECTIVE_DEVICE
};

/* A whole collective runs on no one stream: it gets a lane by the name of its group, so that
 * those of two groups may lie beside each other. */
static void ascend_read_collectives(struct ascend_reading *reading)
{
    static const char *const columns[] = {"startNs",   "endNs",        "opName",
                                          "groupName", "connectionId", "dataType",
                                          "count",     "deviceId",     NULL};
    struct string_pool *strings = &reading->builder.strings;
    struct sqlite_rows rows;
    struct found_event event;

    ascend_rows_of(&rows, reading, "COMMUNICATION_OP", columns);
    while (sqlite_rows_next(&rows)) {
        struct event_detail detail = event_detail_none();

        if (!ascend_row_event(reading, &rows, &event))
            continue;
        event.kind = EVENT_KERNEL;
        event.name = ascend_string(reading, &rows, COLLECTIVE_NAME);
        detail.collective_name =
            ascend_collective_name(strings, string_pool_text(strings, event.name));
        /* Behind the collective's own name, which is read from the name as it stands in the
         * table. */
        event.name = ascend_kernel_name(strings, string_pool_text(strings, event.name));
        detail.element_type = ascend_element_type(
            strings, ascend_type_of_number(ascend_number(&rows, COLLECTIVE_DATA_TYPE, -1)));
        detail.in_elements = ascend_number(&rows, COLLECTIVE_ELEMENTS, -1);
        detail.group_name = ascend_string(reading, &rows, COLLECTIVE_GROUP);
        event.detail = trace_builder_detail(&reading->builder, &detail);
        /* Older versions do not say it there: it is that of the parts. */
        event.track = ascend_stream(&reading->words, &reading->builder,
                                    ascend_number(&rows, COLLECTIVE_DEVICE, reading->device), -1,
                                    detail.group_name ? detail.group_name
                                                      : ascend_text(reading, "Communication"));
        event.correlation = ascend_number(&rows, COLLECTIVE_CONNECTION, NO_ID);
        event.external_id = operator_of_connection(reading, event.correlation);
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* ---- the reader ----------------------------------------------------------------------------- */

/* By its tables, which need the whole file: a stream or a packed one cannot be looked at so. */
static bool ascend_recognises_file(const struct input_stream *input)
{
    SCOPED(sqlite_input) database = {0};
    struct error unused = {0};

    if (!input_stream_can_seek(input) || input->compression != COMPRESSION_NONE ||
        !sqlite_input_open(&database, input->name, &unused))
        return false;
    return sqlite_has_table(&database, "STRING_IDS") &&
           (sqlite_has_table(&database, "PYTORCH_API") || sqlite_has_table(&database, "TASK") ||
            sqlite_has_table(&database, "CANN_API"));
}

/* A file that is cut says so before one that is empty: the remedies are different ones. */
static bool ascend_check(const struct ascend_reading *reading, struct error *error)
{
    const struct trace_builder *builder = &reading->builder;
    const struct sqlite_input *database = reading->database;

    if (event_store_count(&builder->device) > 0 || event_store_count(&builder->host) > 0 ||
        builder->sums.track_room > 0)
        return true;
    if (database->missing_bytes > 0 || database->damage[0])
        return error_set(error, ERROR_INPUT,
                         "cut or damaged: no task and no call in it can be read (%s); copy it "
                         "again, or record again",
                         database->damage[0] ? database->damage : "its end is missing");
    return error_set(error, ERROR_NO_DATA,
                     "no operator, call or task in it (%" PRId64
                     " other rows): record with activities=[ProfilerActivity.CPU, "
                     "ProfilerActivity.NPU]",
                     builder->read.events);
}

/* Only torch_npu writes operators of PyTorch; msprof records any program. */
static void ascend_tell_recorder(struct ascend_reading *reading)
{
    const struct trace_builder *builder = &reading->builder;
    const char *npu = string_pool_text(&builder->strings, builder->facts.torch_version);
    const char *cann = string_pool_text(&builder->strings, builder->facts.cuda_version);
    const char *schema = string_pool_text(&builder->strings, reading->schema);
    const char *writer =
        sqlite_has_table(reading->database, "PYTORCH_API") ? "torch_npu.profiler" : "msprof";
    char *text = reading->builder.read.recorder;
    size_t room = sizeof reading->builder.read.recorder;

    if (!*npu && !*cann && *schema)
        (void)snprintf(text, room, "%s, schema %.32s", writer, schema);
    else
        (void)snprintf(text, room, "%s%s%.32s%s%.32s", writer, *npu ? " " : "", npu,
                       *cann ? ", CANN " : ", version not told", cann);
}

static void ascend_reading_clear(struct ascend_reading *reading)
{
    trace_builder_clear(&reading->builder);
    hash_map_clear(&reading->strings);
    paged_map_clear(&reading->infos);
    hash_map_clear(&reading->links);
    hash_map_clear(&reading->operators);
    hash_map_clear(&reading->launched);
    free(reading->unnamed);
    ascend_places_clear(&reading->places);
    ascend_words_clear(&reading->words);
    paged_map_clear(&reading->copies);
    free(reading->copy_bytes);
    free(reading->operator_list);
    free(reading->link_list);
}

/* Tables in the order of what needs what: strings, infos and links before operators, operators
 * before tasks and collectives. */
static bool ascend_read(struct trace *trace, struct input_stream *input,
                        const struct read_options *options, struct error *error)
{
    SCOPED(sqlite_input) database = {0};
    struct ascend_reading reading = {.database = &database};
    bool is_good;

    if (!sqlite_input_open(&database, input->name, error))
        return false;
    trace_builder_init(&reading.builder);
    reading.builder.sums_events = options->skips_details;
    string_pool_add(&reading.builder.strings, "", 0);
    reading.counts_tasks = sqlite_has_table(&database, "TASK_PMU_INFO");
    ascend_read_strings(&reading);
    ascend_read_devices(&reading);
    ascend_read_run(&reading);
    ascend_read_infos(&reading);
    ascend_read_links(&reading);
    ascend_read_operators(&reading);
    ascend_read_calls(&reading);
    ascend_read_ranges(&reading);
    ascend_read_tasks(&reading);
    ascend_read_collectives(&reading);
    ascend_read_counters(&reading.builder, &database, &reading.strings, &reading.places);
    sqlite_input_tell_damage(&reading.builder.read, &database);
    /* Tables of words (ENUM_) are no data, and not told as unused. */
    sqlite_input_tell_unused(&reading.builder.read, &database, "ENUM_");
    ascend_tell_recorder(&reading);
    reading.builder.read.text_bytes = database.file_bytes;
    progress_advance(options->progress, database.file_bytes);
    is_good = ascend_check(&reading, error);
    if (is_good)
        trace_finish(trace, &reading.builder, 1, options->threads);
    ascend_reading_clear(&reading);
    return is_good;
}

const struct reader ascend_sqlite_reader = {
    .name = "ascend-database",
    .summary = "an SQLite database that torch_npu or msprof wrote (Ascend)",
    .recognises = is_sqlite_head,
    .recognises_file = ascend_recognises_file,
    .read = ascend_read,
};
