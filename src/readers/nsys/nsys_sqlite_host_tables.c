/* Tables of an Nsight Systems database that hold nothing but named stretches of threads: calls of
 * the operating system and of libraries, and what the profiler and the driver did by themselves. */
#include "readers/nsys/nsys_sqlite_reading.h"

#include <string.h>

struct host_table {
    const char *name;
    const char *name_column; /* an id of StringIds */
    enum event_kind kind;
};

static const struct host_table host_tables[] = {
    {"OSRT_API", "nameId", EVENT_SYSTEM_CALL},
    {"PROFILER_OVERHEAD", "nameId", EVENT_OVERHEAD},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "nameId", EVENT_OVERHEAD},
    {"CUPTI_ACTIVITY_KIND_JIT", "nameId", EVENT_OVERHEAD},
    {"CUBLAS_EVENTS", "nameId", EVENT_ANNOTATION},
    {"CUDNN_EVENTS", "nameId", EVENT_ANNOTATION},
    {"CUDA_HOST_CALLBACK", "nameId", EVENT_ANNOTATION},
    {"MPI_P2P_EVENTS", "textId", EVENT_ANNOTATION},
    {"MPI_COLLECTIVES_EVENTS", "textId", EVENT_ANNOTATION},
    {"MPI_START_WAIT_EVENTS", "textId", EVENT_ANNOTATION},
    {"MPI_OTHER_EVENTS", "textId", EVENT_ANNOTATION},
};

enum { COLUMN_TID = 2, COLUMN_NAME, COLUMN_TYPE };

/* overheadType, in torch.profiler's words; the first two say nothing. */
static const char *const overheads[] = {NULL,
                                        NULL,
                                        "Driver Compiler",
                                        "Buffer Flush",
                                        "Instrumentation",
                                        "Resource",
                                        "Runtime Triggered Module Loading",
                                        "Lazy Function Loading",
                                        "Command Buffer Full"};
enum { OVERHEAD_COUNT = sizeof overheads / sizeof *overheads };

/* The type first, so that a trace of either recorder calls the same overhead the same. */
static uint32_t nsys_sqlite_host_tables_name_of(struct nsys_reading *reading,
                                                const struct sqlite_rows *rows)
{
    int64_t type = sqlite_integer(rows, COLUMN_TYPE, 0);

    if (type > 0 && type < OVERHEAD_COUNT && overheads[type])
        return string_pool_add(&reading->builder.strings, overheads[type], strlen(overheads[type]));
    return nsys_reading_string(reading, sqlite_integer(rows, COLUMN_NAME, -1));
}

/* One list of columns for tables of different kinds: a column that a table does not have is
 * null in each row. */
static void read_table(struct nsys_reading *reading, const struct host_table *table)
{
    const char *const columns[] = {"start",        "end", "globalTid", table->name_column,
                                   "overheadType", NULL};
    struct sqlite_rows rows = {0};
    struct nsys_row_time time;

    nsys_reading_open(reading, &rows, table->name, columns, "globalTid");
    while (sqlite_rows_next(&rows)) {
        if (!nsys_reading_time(reading, &rows, &time))
            continue;
        trace_builder_add(&reading->builder,
                          &(struct event){.kind = (uint8_t)table->kind,
                                          .start_ns = time.start_ns,
                                          .duration_ns = time.end_ns - time.start_ns,
                                          .correlation = NO_ID,
                                          .external_id = NO_ID,
                                          .track = nsys_reading_thread(
                                              reading, sqlite_integer(&rows, COLUMN_TID, 0)),
                                          .name = nsys_sqlite_host_tables_name_of(reading, &rows)});
    }
    sqlite_rows_clear(&rows);
}

void nsys_read_other_host_tables(struct nsys_reading *reading)
{
    for (size_t i = 0; i < sizeof host_tables / sizeof *host_tables; i++)
        read_table(reading, &host_tables[i]);
}
