/* Lists the processes that used a device, and finds out which is which. */
#include "readers/nsys/nsys_sqlite_ranks.h"

#include "base/core/array.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/reader.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* Tables of a device's work, each with globalPid and deviceId. */
static const char *const work_tables[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
enum { WORK_TABLE_COUNT = sizeof work_tables / sizeof *work_tables };

/* A process may use several devices; the lowest stands for it, which is the same in each
 * table. */
static void add_process(struct nsys_ranks *ranks, int64_t process, int64_t device)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (ranks->ranks[i].process != process)
            continue;
        if (device < ranks->ranks[i].device)
            ranks->ranks[i].device = device;
        return;
    }
    if (ranks->count == READER_PARTS_MAX) {
        ranks->are_too_many = true;
        return;
    }
    ARRAY_ADD(ranks->ranks, ranks->count,
              (struct nsys_rank){.process = process, .device = device, .mpi_rank = -1});
}

static void list_processes_of(struct nsys_ranks *ranks, struct nsys_database *database,
                              const char *table)
{
    sqlite3_stmt *statement = NULL;
    char found[SQLITE_INPUT_NAME_MAX];
    char query[256];

    if (!sqlite_find_table(&database->file, table, found) ||
        !sqlite_has_column(&database->file, table, "globalPid"))
        return;
    /* GROUP BY would sort all rows, and hold them in memory for it */
    (void)snprintf(query, sizeof query,
                   "SELECT DISTINCT globalPid, %s FROM \"%s\" WHERE globalPid IS NOT NULL",
                   sqlite_has_column(&database->file, table, "deviceId") ? "deviceId" : "0", found);
    if (sqlite3_prepare_v2(database->file.connection, query, -1, &statement, NULL) == SQLITE_OK) {
        while (sqlite3_step(statement) == SQLITE_ROW)
            add_process(ranks, nsys_process(sqlite3_column_int64(statement, 0)),
                        sqlite3_column_int64(statement, 1));
    }
    sqlite3_finalize(statement);
}

/* ---- what the file says of GPUs and ranks --------------------------------------------------- */

enum { DEVICE_GPU, DEVICE_CUDA, DEVICE_PID };

static void open_devices(struct sqlite_rows *rows, struct nsys_database *database)
{
    static const char *const columns[] = {"gpuId", "cudaId", "pid", NULL};

    sqlite_rows_open(rows, &database->file, "TARGET_INFO_CUDA_DEVICE", columns);
}

static bool is_of_process(const struct sqlite_rows *rows, int64_t process)
{
    return process < 0 || sqlite_is_null(rows, DEVICE_PID) ||
           sqlite_integer(rows, DEVICE_PID, -1) == nsys_pid(process);
}

/* Numbers of GPUs are the machine's, cudaId is what the process calls them; without that table
 * both are taken as the same. */
int32_t nsys_device_of_gpu(struct nsys_database *database, int64_t process, int64_t gpu)
{
    struct sqlite_rows rows = {0};
    bool is_known = false;
    int64_t device = -1;

    open_devices(&rows, database);
    while (sqlite_rows_next(&rows)) {
        if (!is_of_process(&rows, process))
            continue;
        is_known = true;
        if (sqlite_integer(&rows, DEVICE_GPU, -1) == gpu)
            device = sqlite_integer(&rows, DEVICE_CUDA, -1);
    }
    sqlite_rows_clear(&rows);
    if (!is_known)
        device = gpu;
    return device >= 0 && device <= INT32_MAX ? (int32_t)device : -1;
}

/* CUDA numbers the devices that a process sees (CUDA_VISIBLE_DEVICES); the machine's own
 * number is in another column. */
static int64_t gpu_of_device(struct nsys_database *database, const struct nsys_rank *rank)
{
    struct sqlite_rows rows = {0};
    int64_t gpu = rank->device;

    open_devices(&rows, database);
    while (sqlite_rows_next(&rows)) {
        if (is_of_process(&rows, rank->process) &&
            sqlite_integer(&rows, DEVICE_CUDA, -1) == rank->device)
            gpu = sqlite_integer(&rows, DEVICE_GPU, rank->device);
    }
    sqlite_rows_clear(&rows);
    return gpu;
}

/* Only processes that count as ranks already get a number here: this table has no say in which
 * they are. */
static void read_mpi_ranks(struct nsys_ranks *ranks, struct nsys_database *database)
{
    static const char *const columns[] = {"globalTid", "rank", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &database->file, "MPI_RANKS", columns);
    while (sqlite_rows_next(&rows)) {
        int64_t process = nsys_process(sqlite_integer(&rows, 0, 0));
        int64_t rank = sqlite_integer(&rows, 1, -1);

        for (uint32_t i = 0; i < ranks->count && rank >= 0; i++)
            if (ranks->ranks[i].process == process)
                ranks->ranks[i].mpi_rank = rank;
    }
    sqlite_rows_clear(&rows);
}

/* ---- their order ---------------------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_device(const void *a, const void *b)
{
    const struct nsys_rank *left = a;
    const struct nsys_rank *right = b;
    int order = compare_numbers(left->gpu, right->gpu);

    return order ? order : compare_numbers(left->process, right->process);
}

static int by_mpi_rank(const void *a, const void *b)
{
    const struct nsys_rank *left = a;
    const struct nsys_rank *right = b;

    return compare_numbers(left->mpi_rank, right->mpi_rank);
}

/* Numbers of MPI, where every process has one and no two the same; else the order of GPUs,
 * which is how launchers give ranks to the processes of a machine (LOCAL_RANK). Which of the
 * two it was is told (are_named). */
bool nsys_ranks_find(struct nsys_ranks *ranks, struct nsys_database *database, struct error *error)
{
    for (size_t i = 0; i < WORK_TABLE_COUNT; i++)
        list_processes_of(ranks, database, work_tables[i]);
    if (ranks->are_too_many)
        return error_set(error, ERROR_INPUT,
                         "more than %d processes used a device in it: expected those of one "
                         "machine; record, or export, fewer of them at once",
                         READER_PARTS_MAX);
    if (ranks->count == 0)
        return true;
    for (uint32_t i = 0; i < ranks->count; i++)
        ranks->ranks[i].gpu = gpu_of_device(database, &ranks->ranks[i]);
    read_mpi_ranks(ranks, database);
    qsort(ranks->ranks, ranks->count, sizeof *ranks->ranks, by_mpi_rank);
    ranks->are_named = ranks->ranks[0].mpi_rank >= 0;
    for (uint32_t i = 1; i < ranks->count; i++)
        if (ranks->ranks[i].mpi_rank == ranks->ranks[i - 1].mpi_rank)
            ranks->are_named = false;
    if (!ranks->are_named)
        qsort(ranks->ranks, ranks->count, sizeof *ranks->ranks, by_device);
    return true;
}

void nsys_ranks_clear(struct nsys_ranks *ranks)
{
    free(ranks->ranks);
    *ranks = (struct nsys_ranks){0};
}
