/* The rows of a database of rocprofv3 (rocpd) that are events, and those that are counted. */
#include "base/core/array.h"
#include "base/text/prefix.h"
#include "readers/rocprof/rocpd_reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const stack_columns[] = {"stack_id", NULL};

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

/* A column, and what it tells. */
struct rocpd_kernel_column {
    const char *name;
    enum rocprof_value value;
};

/* Those from KERNEL_SUMMED on say nothing that sums ask for. */
enum { KERNEL_SUMMED = 5, KERNEL_COLUMN_COUNT = 13 };
static const struct rocpd_kernel_column kernel_columns[KERNEL_COLUMN_COUNT] = {
    {"start", ROCPROF_START},
    {"end", ROCPROF_END},
    {"agent_id", ROCPROF_AGENT},
    {"queue_id", ROCPROF_QUEUE},
    {"stream_id", ROCPROF_STREAM},
    {"kernel_id", ROCPROF_KERNEL},
    {"group_segment_size", ROCPROF_SHARED_MEMORY},
    {"workgroup_size_x", ROCPROF_BLOCK},
    {"workgroup_size_y", ROCPROF_BLOCK + 1},
    {"workgroup_size_z", ROCPROF_BLOCK + 2},
    {"grid_size_x", ROCPROF_GRID},
    {"grid_size_y", ROCPROF_GRID + 1},
    {"grid_size_z", ROCPROF_GRID + 2},
};

/* The event's own number is asked for where something was counted in kernels. */
static void rocpd_read_kernels(struct rocpd_reading *reading)
{
    const char *columns[KERNEL_COLUMN_COUNT + 2] = {NULL};
    const struct rocpd_query query = {"kernel_dispatch", columns, stack_columns};
    const bool has_counts = rocpd_has_counts(reading);
    const int known = reading->run.builder.sums_events ? KERNEL_SUMMED : KERNEL_COLUMN_COUNT;
    struct sqlite_rows rows;

    for (int i = 0; i < known; i++)
        columns[i] = kernel_columns[i].name;
    columns[known] = has_counts ? "event_id" : NULL;
    rocprof_run_set_category(&reading->run, query.table);
    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        struct rocprof_record record = {.has = 0};

        for (int i = 0; i < known; i++)
            rocprof_take(&record, &rows, i, kernel_columns[i].value);
        rocprof_take(&record, &rows, known + has_counts, ROCPROF_CORRELATION);
        rocprof_run_add(&reading->run, ROCPROF_KERNELS, &record);
        if (has_counts)
            keep_dispatch(reading, sqlite_integer(&rows, known, -1), &record);
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

/* By the category of the event, in the words of rocprofv3 or rocprof-sys; others leave it out. */
static enum rocprof_content content_of_region(const char *category, const char *name)
{
    static const char *const calls[] = {"HIP_",      "HSA_",      "RCCL_", "rocm_hip_",
                                        "rocm_hsa_", "rocm_rccl", "rccl",  NULL};
    static const char *const names[] = {"hip", "hsa_", "nccl", "__hip", NULL};
    const char *const *starts = *category ? calls : names;
    const char *text = *category ? category : name;

    if (has_prefix(category, "ROC") || has_prefix(category, "rocm_roc"))
        return ROCPROF_UNUSED; /* rocDecode, rocJPEG */
    for (; *starts; starts++)
        if (has_prefix(text, *starts))
            return ROCPROF_CALLS;
    return ROCPROF_MARKERS;
}

enum {
    REGION_START,
    REGION_END,
    REGION_THREAD,
    REGION_NAME,
    REGION_STACK,
    REGION_CATEGORY,
    REGION_EXTRA
};

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

/* Rows have few names: what follows from one is found once, unless another takes its place. */
static const struct rocpd_region_words *rocpd_words_of(struct rocpd_reading *reading,
                                                       int64_t name_id, int64_t category_id)
{
    struct string_pool *strings = &reading->run.builder.strings;
    const uint64_t place = (uint64_t)name_id * 31 + (uint64_t)category_id;
    struct rocpd_region_words *words = &reading->region_words[place % ROCPD_REGION_WORDS];
    uint32_t category;

    if (words->is_known && words->name_id == name_id && words->category_id == category_id)
        return words;
    category = rocprof_string(&reading->strings, category_id);
    *words = (struct rocpd_region_words){
        .is_known = true,
        .name_id = name_id,
        .category_id = category_id,
        .name = rocprof_string(&reading->strings, name_id),
        .category = category ? category : rocprof_text(&reading->run, "region"),
    };
    words->content = content_of_region(string_pool_text(strings, category),
                                       string_pool_text(strings, words->name));
    return words;
}

/* Rows of a thread follow each other: the last is remembered. -1 stands for none, and is looked up
 * each time. A row that the list lacks is told by its own number. */
static int64_t rocpd_thread_of(struct rocpd_reading *reading, int64_t row)
{
    uint32_t thread;

    if (row != reading->last_thread_row || row == -1) {
        thread = hash_map_find(&reading->threads, (uint64_t)row);
        reading->last_thread = thread == NO_VALUE ? row : reading->thread_ids[thread];
        reading->last_thread_row = row;
    }
    return reading->last_thread;
}

/* The message of a marker is in the event's JSON, its name only says that it is one. */
static void rocpd_read_region(struct rocpd_reading *reading, const struct sqlite_rows *rows)
{
    struct rocprof_record record = {.has = 0};
    const struct rocpd_region_words *words = rocpd_words_of(
        reading, sqlite_integer(rows, REGION_NAME, -1), sqlite_integer(rows, REGION_CATEGORY, -1));
    uint32_t message = 0;

    rocprof_take(&record, rows, REGION_START, ROCPROF_START);
    rocprof_take(&record, rows, REGION_END, ROCPROF_END);
    rocprof_take(&record, rows, REGION_STACK, ROCPROF_CORRELATION);
    rocprof_record_set(&record, ROCPROF_THREAD,
                       rocpd_thread_of(reading, sqlite_integer(rows, REGION_THREAD, 0)));
    rocprof_take_name(&reading->run, &record, words->name);
    reading->run.category = words->category;
    if (words->content == ROCPROF_MARKERS && !reading->run.builder.sums_events)
        message = rocpd_message_of(reading, sqlite_text(rows, REGION_EXTRA));
    if (message)
        rocprof_run_name_marker(&reading->run, sqlite_integer(rows, REGION_STACK, -1), message);
    rocprof_run_add(&reading->run, words->content, &record);
}

/* Sums need no texts, which are the longest column there is. */
static void rocpd_read_regions(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"start", "end", "tid", "name_id", NULL};
    const char *const event_columns[] = {"stack_id", "category_id",
                                         reading->run.builder.sums_events ? NULL : "extdata", NULL};
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

/* Counters last, as they name the kernels' events. */
void rocpd_read_records(struct rocpd_reading *reading)
{
    rocpd_read_kernels(reading);
    rocpd_read_copies(reading);
    rocpd_read_regions(reading);
    rocpd_count_rows(reading, "memory_allocate", "start", "end");
    rocpd_count_rows(reading, "sample", "timestamp", "timestamp");
    rocpd_read_counters(reading);
    rocpd_read_counts(reading);
}
