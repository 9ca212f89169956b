/* Each kernel, copy and memset. */
#include "base/core/invariant.h"
#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { START, END, CORRELATION, DEVICE, CONTEXT, GREEN_CONTEXT, STREAM, OWN };
#define WORK_COLUMNS \
    "start", "end", "correlationId", "deviceId", "contextId", "greenContextId", "streamId"

enum {
    CELL_DURATION = 1,
    CELL_CORRELATION,
    CELL_GRID,
    CELL_REGISTERS = CELL_GRID + 6,
    CELL_STATIC_SHARED,
    CELL_DYNAMIC_SHARED,
    CELL_BYTES,
    CELL_THROUGHPUT,
    CELL_SOURCE,
    CELL_DESTINATION,
    CELL_DEVICE,
    CELL_CONTEXT,
    CELL_GREEN_CONTEXT,
    CELL_STREAM,
    CELL_NAME,
};

struct work {
    struct stats_table *table;
    struct nsys_database *database;
    struct kind_labels copies;
    struct kind_labels memories;
    char device_names[64][128]; /* by number */
};

/* A machine of more than 64 devices, and a damaged number: those rows have no name. */
static void cuda_gpu_trace_read_devices(struct work *work)
{
    static const char *const columns[] = {"id", "name", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &work->database->file, "TARGET_INFO_GPU", columns);
    while (sqlite_rows_next(&rows)) {
        int64_t id = sqlite_integer(&rows, 0, -1);
        const char *name = sqlite_text(&rows, 1);

        if (id >= 0 && id < 64 && name)
            (void)snprintf(work->device_names[id], sizeof work->device_names[id], "%s", name);
    }
    sqlite_rows_clear(&rows);
}

static struct stats_cell cuda_gpu_trace_cell_of(const struct sqlite_rows *rows, int column)
{
    return sqlite_is_null(rows, column) ? (struct stats_cell){.kind = STATS_NONE}
                                        : stats_integer(sqlite_integer(rows, column, 0));
}

/* The cells that all work has; the caller fills the rest. Green context 0 is "none", and nsys
 * leaves the cell empty. */
static struct stats_cell *cuda_gpu_trace_add_row(struct work *work, const struct sqlite_rows *rows)
{
    struct stats_cell *row = stats_table_add_row(work->table);
    int64_t device = sqlite_integer(rows, DEVICE, 0);
    char name[192];

    (void)snprintf(name, sizeof name, "%s (%" PRId64 ")",
                   device >= 0 && device < 64 ? work->device_names[device] : "", device);
    row[0] = stats_integer(sqlite_integer(rows, START, 0));
    row[CELL_DURATION] = stats_integer(
        saturated_difference(sqlite_integer(rows, END, 0), sqlite_integer(rows, START, 0)));
    row[CELL_CORRELATION] = cuda_gpu_trace_cell_of(rows, CORRELATION);
    row[CELL_DEVICE] = stats_text(work->table, name);
    row[CELL_CONTEXT] = cuda_gpu_trace_cell_of(rows, CONTEXT);
    if (sqlite_integer(rows, GREEN_CONTEXT, 0) != 0)
        row[CELL_GREEN_CONTEXT] = cuda_gpu_trace_cell_of(rows, GREEN_CONTEXT);
    row[CELL_STREAM] = cuda_gpu_trace_cell_of(rows, STREAM);
    return row;
}

static void cuda_gpu_trace_add_bytes(struct stats_cell *row, const struct sqlite_rows *rows,
                                     int column)
{
    int64_t bytes = sqlite_integer(rows, column, 0);
    int64_t duration_ns = row[CELL_DURATION].integer;
    int64_t per_second;

    if (sqlite_is_null(rows, column))
        return;
    row[CELL_BYTES] = stats_megabytes((double)bytes);
    /* in whole operations a second, as nsys has it */
    if (duration_ns > 0 &&
        !__builtin_mul_overflow(bytes, INT64_C(1000000000) / duration_ns, &per_second))
        row[CELL_THROUGHPUT] = stats_megabytes((double)per_second);
}

/* Shared memory is shown in MB and null stays an empty cell, as nsys writes both. */
static void cuda_gpu_trace_add_kernels(struct work *work, enum kernel_name_form form)
{
    const char *const columns[] = {WORK_COLUMNS, NSYS_LAUNCH_COLUMNS,
                                   kernel_name_column(work->database, form), NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &work->database->file, "CUPTI_ACTIVITY_KIND_KERNEL", columns);
    while (sqlite_rows_next(&rows)) {
        struct stats_cell *row = cuda_gpu_trace_add_row(work, &rows);

        for (int i = 0; i < 7; i++)
            row[CELL_GRID + i] = cuda_gpu_trace_cell_of(&rows, OWN + i);
        for (int i = 0; i < 2; i++) {
            if (!sqlite_is_null(&rows, OWN + 7 + i))
                row[CELL_STATIC_SHARED + i] =
                    stats_megabytes((double)sqlite_integer(&rows, OWN + 7 + i, 0));
        }
        row[CELL_NAME] = stats_text(
            work->table, nsys_string(work->database, sqlite_integer(&rows, OWN + 9, -1)));
    }
    sqlite_rows_clear(&rows);
}

/* Source and destination are kinds of memory, which the direction of the copy does not tell
 * (pinned or pageable). */
static void add_copies(struct work *work)
{
    static const char *const columns[] = {WORK_COLUMNS, "bytes",   "copyKind",
                                          "srcKind",    "dstKind", NULL};
    struct sqlite_rows rows = {0};
    char name[96];

    sqlite_rows_open(&rows, &work->database->file, "CUPTI_ACTIVITY_KIND_MEMCPY", columns);
    while (sqlite_rows_next(&rows)) {
        struct stats_cell *row = cuda_gpu_trace_add_row(work, &rows);

        cuda_gpu_trace_add_bytes(row, &rows, OWN);
        row[CELL_SOURCE] = stats_text(
            work->table, kind_label(&work->memories, sqlite_integer(&rows, OWN + 2, -1)));
        row[CELL_DESTINATION] = stats_text(
            work->table, kind_label(&work->memories, sqlite_integer(&rows, OWN + 3, -1)));
        if (copy_operation_name(&work->copies, sqlite_integer(&rows, OWN + 1, -1), name,
                                sizeof name))
            row[CELL_NAME] = stats_text(work->table, name);
    }
    sqlite_rows_clear(&rows);
}

/* The name is nsys's own, in brackets, as a memset has none. */
static void add_memsets(struct work *work)
{
    static const char *const columns[] = {WORK_COLUMNS, "bytes", "memKind", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &work->database->file, "CUPTI_ACTIVITY_KIND_MEMSET", columns);
    while (sqlite_rows_next(&rows)) {
        struct stats_cell *row = cuda_gpu_trace_add_row(work, &rows);

        cuda_gpu_trace_add_bytes(row, &rows, OWN);
        row[CELL_SOURCE] = stats_text(
            work->table, kind_label(&work->memories, sqlite_integer(&rows, OWN + 1, -1)));
        row[CELL_NAME] = stats_text(work->table, "[CUDA memset]");
    }
    sqlite_rows_clear(&rows);
}

static int cuda_gpu_trace_compare_starts(const struct stats_cell *a, const struct stats_cell *b)
{
    return (a[0].integer > b[0].integer) - (a[0].integer < b[0].integer);
}

static const char *const columns_of_report[] = {"Start (ns)",   "Duration (ns)",
                                                "CorrId",       "GrdX",
                                                "GrdY",         "GrdZ",
                                                "BlkX",         "BlkY",
                                                "BlkZ",         "Reg/Trd",
                                                "StcSMem (MB)", "DymSMem (MB)",
                                                "Bytes (MB)",   "Throughput (MB/s)",
                                                "SrcMemKd",     "DstMemKd",
                                                "Device",       "Ctx",
                                                "GreenCtx",     "Strm",
                                                "Name",         NULL};

/* Three tables into one, then a stable sort by start: rows of one start stay kernels, copies,
 * memsets. */
static bool cuda_gpu_trace_fill(struct stats_table *table, struct nsys_database *database,
                                enum kernel_name_form form, struct error *error)
{
    struct work *work;

    if (!sqlite_has_table(&database->file, "CUPTI_ACTIVITY_KIND_KERNEL") &&
        !sqlite_has_table(&database->file, "CUPTI_ACTIVITY_KIND_MEMCPY") &&
        !sqlite_has_table(&database->file, "CUPTI_ACTIVITY_KIND_MEMSET"))
        return error_set(error, ERROR_NO_DATA,
                         "the file holds no work of a device (it has no table "
                         "CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY or _MEMSET)");
    /* On the heap: names of 64 devices and two tables of labels are much for a stack. */
    work = require_memory(calloc(1, sizeof *work));
    work->table = table;
    work->database = database;
    cuda_gpu_trace_read_devices(work);
    read_copy_labels(&work->copies, database);
    read_memory_labels(&work->memories, database);
    cuda_gpu_trace_add_kernels(work, form);
    add_copies(work);
    add_memsets(work);
    free(work);
    stats_table_sort(table, cuda_gpu_trace_compare_starts);
    return true;
}

const struct stats_report cuda_gpu_trace_stats = {
    .name = "cuda_gpu_trace",
    .title = "CUDA GPU Trace",
    .columns = columns_of_report,
    .has_kernel_names = true,
    .fill = cuda_gpu_trace_fill,
};
