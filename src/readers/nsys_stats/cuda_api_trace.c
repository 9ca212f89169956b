/* Each call of the CUDA API. */
#include "base/core/hash_map.h"
#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_rows.h"

/* Threads have a name and a priority. */
struct named_threads {
    struct hash_map name_ids; /* by globalTid: nameId + 1 */
    struct hash_map priorities;
};

/* Kept plus one: a thread without a name id (NULL, -1) becomes 0, which the unsigned values of
 * the map can hold. */
static void read_threads(struct named_threads *threads, struct nsys_database *database)
{
    static const char *const columns[] = {"globalTid", "nameId", "priority", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &database->file, "ThreadNames", columns);
    while (sqlite_rows_next(&rows)) {
        uint64_t thread = (uint64_t)sqlite_integer(&rows, 0, 0);

        hash_map_add(&threads->name_ids, thread, (uint32_t)sqlite_integer(&rows, 1, -1) + 1);
        if (!sqlite_is_null(&rows, 2))
            hash_map_add(&threads->priorities, thread, (uint32_t)sqlite_integer(&rows, 2, 0));
    }
    sqlite_rows_clear(&rows);
}

/* A cell that is left out stays empty, which is not 0: a call that gave no result code, a
 * thread without a name. Name ids are kept one higher, so that 0 means none. */
static void cuda_api_trace_fill_row(struct stats_table *table, struct nsys_database *database,
                                    const struct sqlite_rows *rows,
                                    const struct named_threads *threads)
{
    struct stats_cell *row = stats_table_add_row(table);
    int64_t start_ns = sqlite_integer(rows, 0, 0);
    int64_t thread = sqlite_integer(rows, 5, 0);
    uint32_t name_id = hash_map_find(&threads->name_ids, (uint64_t)thread);
    uint32_t priority = hash_map_find(&threads->priorities, (uint64_t)thread);
    char name[1024];

    row[0] = stats_integer(start_ns);
    row[1] = stats_integer(saturated_difference(sqlite_integer(rows, 1, 0), start_ns));
    row[2] = stats_text(table, api_name(database, sqlite_integer(rows, 2, -1), name, sizeof name));
    if (!sqlite_is_null(rows, 3))
        row[3] = stats_integer(sqlite_integer(rows, 3, 0));
    if (!sqlite_is_null(rows, 4))
        row[4] = stats_integer(sqlite_integer(rows, 4, 0));
    row[5] = stats_integer(nsys_pid(thread));
    row[6] = stats_integer(nsys_tid(thread));
    if (priority != NO_VALUE)
        row[7] = stats_integer((int32_t)priority);
    if (name_id != NO_VALUE && name_id > 0)
        row[8] = stats_text(table, nsys_string(database, (int64_t)name_id - 1));
}

static int cuda_api_trace_compare_starts(const struct stats_cell *a, const struct stats_cell *b)
{
    return (a[0].integer > b[0].integer) - (a[0].integer < b[0].integer);
}

static const char *const columns_of_report[] = {
    "Start (ns)", "Duration (ns)", "Name",  "Result",      "CorrID",
    "Pid",        "Tid",           "T-Pri", "Thread Name", NULL};

/* All rows are held and sorted: nothing in the file promises their order. */
static bool cuda_api_trace_fill(struct stats_table *table, struct nsys_database *database,
                                enum kernel_name_form form, struct error *error)
{
    static const char *const columns[] = {"start",         "end",       "nameId", "returnValue",
                                          "correlationId", "globalTid", NULL};
    struct named_threads threads = {0};
    struct sqlite_rows rows = {0};

    (void)form;
    (void)error;
    read_threads(&threads, database);
    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_RUNTIME", columns);
    while (sqlite_rows_next(&rows))
        cuda_api_trace_fill_row(table, database, &rows, &threads);
    sqlite_rows_clear(&rows);
    hash_map_clear(&threads.name_ids);
    hash_map_clear(&threads.priorities);
    stats_table_sort(table, cuda_api_trace_compare_starts);
    return true;
}

const struct stats_report cuda_api_trace_stats = {
    .name = "cuda_api_trace",
    .title = "CUDA API Trace",
    .columns = columns_of_report,
    .needs = {NEEDS_CALLS},
    .fill = cuda_api_trace_fill,
};
