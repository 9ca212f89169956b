/* What an Nsight Systems database holds of a device's streams. */
#include "readers/nsys/nsys_database.h"
#include "readers/nsys/nsys_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first columns of every table here. */
#define DEVICE_COLUMNS "start", "end", "deviceId", "streamId", "correlationId"
enum { COLUMN_DEVICE = 2, COLUMN_STREAM, COLUMN_CORRELATION, COLUMN_OWN };

/* streamId of what waits for a whole context or an event. */
static const int64_t ALL_STREAMS = UINT32_MAX;

/* copyKind: the words that torch.profiler has for it too. */
static const char *const copy_kinds[] = {
    "?",    "HtoD", "DtoH", "HtoA", "AtoH",         "AtoA",         "AtoD",
    "DtoA", "DtoD", "HtoH", "PtoP", "Unified HtoD", "Unified DtoH", "Unified DtoD"};
enum { COPY_KIND_COUNT = sizeof copy_kinds / sizeof *copy_kinds };

/* srcKind, dstKind, memKind */
static const char *const memory_kinds[] = {"Pageable", "Pinned",        "Device",        "Array",
                                           "Managed",  "Device Static", "Managed Static"};
enum { MEMORY_KIND_COUNT = sizeof memory_kinds / sizeof *memory_kinds };

/* syncType, in torch.profiler's words */
static const char *const sync_types[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                         "Context Sync"};
enum { SYNC_TYPE_COUNT = sizeof sync_types / sizeof *sync_types };

static const char *memory_kind(int64_t kind)
{
    return kind >= 0 && kind < MEMORY_KIND_COUNT ? memory_kinds[kind] : "Unknown";
}

static uint32_t nsys_sqlite_device_builder_text(struct nsys_reading *reading, const char *text)
{
    return string_pool_add(&reading->builder.strings, text, strlen(text));
}

static int32_t nsys_sqlite_device_small(int64_t number)
{
    return number >= -1 && number <= INT32_MAX ? (int32_t)number : -1;
}

/* Rows of one stream follow each other: the last answer is mostly the next. */
static uint32_t stream_track(struct nsys_reading *reading, const struct sqlite_rows *rows)
{
    char device[24];
    char stream[24];
    struct track_key key = {
        .is_device = true,
        .device = nsys_sqlite_device_small(sqlite_integer(rows, COLUMN_DEVICE, -1)),
        .stream = sqlite_integer(rows, COLUMN_STREAM, -1),
    };

    if (key.stream == ALL_STREAMS)
        key.stream = -1;
    if (key.device == reading->last_device && key.stream == reading->last_stream)
        return reading->last_stream_track;
    (void)snprintf(device, sizeof device, "%" PRId32, key.device);
    if (key.stream < 0)
        (void)snprintf(stream, sizeof stream, "no stream of its own");
    else
        (void)snprintf(stream, sizeof stream, "%" PRId64, key.stream);
    key.process = nsys_sqlite_device_builder_text(reading, device);
    key.thread = nsys_sqlite_device_builder_text(reading, stream);
    reading->last_device = key.device;
    reading->last_stream = key.stream;
    reading->last_stream_track = trace_builder_track(&reading->builder, &key);
    return reading->last_stream_track;
}

/* The event of the row but for its name and details. */
static struct found_event nsys_sqlite_device_event_of(struct nsys_reading *reading,
                                                      const struct sqlite_rows *rows,
                                                      const struct nsys_row_time *time,
                                                      enum event_kind kind)
{
    int64_t correlation = sqlite_integer(rows, COLUMN_CORRELATION, 0);

    return (struct found_event){
        .kind = (uint8_t)kind,
        .start_ns = time->start_ns,
        .duration_ns = time->end_ns - time->start_ns,
        .correlation = correlation ? correlation : NO_ID,
        .external_id = NO_ID,
        .track = stream_track(reading, rows),
    };
}

/* ---- kernels -------------------------------------------------------------------------------- */

enum {
    KERNEL_DEMANGLED = COLUMN_OWN,
    KERNEL_SHORT,
    KERNEL_GRID,
    KERNEL_BLOCK = KERNEL_GRID + 3,
    KERNEL_REGISTERS = KERNEL_BLOCK + 3,
    KERNEL_STATIC_SHARED,
    KERNEL_DYNAMIC_SHARED,
    KERNEL_MANGLED,
};

/* Shared memory is static and dynamic together; one of them alone is not told as the sum. */
static uint32_t kernel_detail(struct nsys_reading *reading, const struct sqlite_rows *rows)
{
    struct event_detail detail = event_detail_none();
    int64_t shared = sqlite_integer(rows, KERNEL_STATIC_SHARED, -1);
    int64_t dynamic = sqlite_integer(rows, KERNEL_DYNAMIC_SHARED, -1);

    for (int i = 0; i < 3; i++) {
        detail.grid[i] = nsys_sqlite_device_small(sqlite_integer(rows, KERNEL_GRID + i, -1));
        detail.block[i] = nsys_sqlite_device_small(sqlite_integer(rows, KERNEL_BLOCK + i, -1));
    }
    detail.registers_per_thread =
        nsys_sqlite_device_small(sqlite_integer(rows, KERNEL_REGISTERS, -1));
    if (shared >= 0 && dynamic >= 0 && shared <= INT32_MAX && dynamic <= INT32_MAX)
        detail.shared_memory_bytes = nsys_sqlite_device_small(shared + dynamic);
    return trace_builder_detail(&reading->builder, &detail);
}

/* The demangled name first, as rules of names are made for it. */
static uint32_t nsys_sqlite_device_kernel_name(struct nsys_reading *reading,
                                               const struct sqlite_rows *rows)
{
    static const int forms[] = {KERNEL_DEMANGLED, KERNEL_SHORT, KERNEL_MANGLED};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        uint32_t name = nsys_reading_string(reading, sqlite_integer(rows, forms[i], -1));

        if (name)
            return name;
    }
    return nsys_sqlite_device_builder_text(reading, "(kernel without a name)");
}

/* Columns that a version of the database lacks read as missing, so that one list serves all
 * versions. */
static void nsys_sqlite_device_read_kernels(struct nsys_reading *reading)
{
    static const char *const columns[] = {DEVICE_COLUMNS,      "demangledName", "shortName",
                                          NSYS_LAUNCH_COLUMNS, "mangledName",   NULL};
    struct sqlite_rows rows = {0};
    struct nsys_row_time time;

    nsys_reading_open(reading, &rows, "CUPTI_ACTIVITY_KIND_KERNEL", columns, "globalPid");
    while (sqlite_rows_next(&rows)) {
        struct found_event event;

        if (!nsys_reading_time(reading, &rows, &time))
            continue;
        event = nsys_sqlite_device_event_of(reading, &rows, &time, EVENT_KERNEL);
        event.name = nsys_sqlite_device_kernel_name(reading, &rows);
        event.detail = kernel_detail(reading, &rows);
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* Recorded with --cuda-graph-trace=graph: one row for all work of a graph's launch. */
static void read_graphs(struct nsys_reading *reading)
{
    static const char *const columns[] = {DEVICE_COLUMNS, "graphId", NULL};
    struct sqlite_rows rows = {0};
    struct nsys_row_time time;

    nsys_reading_open(reading, &rows, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns, "globalPid");
    while (sqlite_rows_next(&rows)) {
        char name[64];
        struct found_event event;

        if (!nsys_reading_time(reading, &rows, &time))
            continue;
        event = nsys_sqlite_device_event_of(reading, &rows, &time, EVENT_KERNEL);
        (void)snprintf(name, sizeof name, "CUDA graph %" PRId64 " (as a whole)",
                       sqlite_integer(&rows, COLUMN_OWN, -1));
        event.name = nsys_sqlite_device_builder_text(reading, name);
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* ---- copies --------------------------------------------------------------------------------- */

static uint32_t bytes_detail(struct nsys_reading *reading, int64_t bytes)
{
    struct event_detail detail = event_detail_none();

    detail.bytes = bytes;
    return trace_builder_detail(&reading->builder, &detail);
}

/* Named as torch.profiler names them, so that rules, classes and comparisons know both. */
static void read_copies(struct nsys_reading *reading)
{
    static const char *const columns[] = {DEVICE_COLUMNS, "bytes",   "copyKind",
                                          "srcKind",      "dstKind", NULL};
    struct sqlite_rows rows = {0};
    struct nsys_row_time time;

    nsys_reading_open(reading, &rows, "CUPTI_ACTIVITY_KIND_MEMCPY", columns, "globalPid");
    while (sqlite_rows_next(&rows)) {
        int64_t kind = sqlite_integer(&rows, COLUMN_OWN + 1, 0);
        char name[96];
        struct found_event event;

        if (!nsys_reading_time(reading, &rows, &time))
            continue;
        event = nsys_sqlite_device_event_of(reading, &rows, &time, EVENT_MEMCPY);
        (void)snprintf(name, sizeof name, "Memcpy %s (%s -> %s)",
                       copy_kinds[kind >= 0 && kind < COPY_KIND_COUNT ? kind : 0],
                       memory_kind(sqlite_integer(&rows, COLUMN_OWN + 2, -1)),
                       memory_kind(sqlite_integer(&rows, COLUMN_OWN + 3, -1)));
        event.name = nsys_sqlite_device_builder_text(reading, name);
        event.detail = bytes_detail(reading, sqlite_integer(&rows, COLUMN_OWN, -1));
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* A memset has no name in the database: the kind of memory is what tells it from others. */
static void read_memsets(struct nsys_reading *reading)
{
    static const char *const columns[] = {DEVICE_COLUMNS, "bytes", "memKind", NULL};
    struct sqlite_rows rows = {0};
    struct nsys_row_time time;

    nsys_reading_open(reading, &rows, "CUPTI_ACTIVITY_KIND_MEMSET", columns, "globalPid");
    while (sqlite_rows_next(&rows)) {
        char name[48];
        struct found_event event;

        if (!nsys_reading_time(reading, &rows, &time))
            continue;
        event = nsys_sqlite_device_event_of(reading, &rows, &time, EVENT_MEMSET);
        (void)snprintf(name, sizeof name, "Memset (%s)",
                       memory_kind(sqlite_integer(&rows, COLUMN_OWN + 1, -1)));
        event.name = nsys_sqlite_device_builder_text(reading, name);
        event.detail = bytes_detail(reading, sqlite_integer(&rows, COLUMN_OWN, -1));
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* ---- synchronisations ----------------------------------------------------------------------- */

/* The types of CUPTI in their order; one that is not known is a "Sync", as is the first, which
 * is none of the others. */
static void read_syncs(struct nsys_reading *reading)
{
    static const char *const columns[] = {DEVICE_COLUMNS, "syncType", NULL};
    struct sqlite_rows rows = {0};
    struct nsys_row_time time;

    nsys_reading_open(reading, &rows, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, "globalPid");
    while (sqlite_rows_next(&rows)) {
        int64_t type = sqlite_integer(&rows, COLUMN_OWN, 0);
        struct found_event event;

        if (!nsys_reading_time(reading, &rows, &time))
            continue;
        event = nsys_sqlite_device_event_of(reading, &rows, &time, EVENT_DEVICE_SYNC);
        event.name = nsys_sqlite_device_builder_text(
            reading, sync_types[type >= 0 && type < SYNC_TYPE_COUNT ? type : 0]);
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

void nsys_read_device_events(struct nsys_reading *reading)
{
    nsys_sqlite_device_read_kernels(reading);
    read_graphs(reading);
    read_copies(reading);
    read_memsets(reading);
    read_syncs(reading);
}
