/* API calls by what they launched. */
#include "readers/nsys_stats/stats_launches.h"

#include "base/core/array.h"
#include "base/core/large_array.h"
#include "readers/nsys/nsys_ids.h"

#include <stdlib.h>
#include <string.h>

/* Correlation ids have 32 bits. */
static uint64_t launch_key(uint32_t process, int64_t correlation)
{
    return pair_key(process, (uint32_t)correlation);
}

/* Correlation ids count per process, so the key has both. Calls of one id are a list in the
 * file's order: a kernel then has a row for each. A list is walked to its end, so a file that
 * gives all calls one id costs O(n^2). */
static void link_launch(struct stats_launches *launches, uint32_t index)
{
    struct stats_launch *launch = &launches->launches[index];
    uint32_t process =
        hash_map_add(&launches->processes, (uint64_t)nsys_process(launch->global_tid),
                     (uint32_t)launches->processes.count);
    uint32_t first =
        hash_map_add(&launches->by_key, launch_key(process, launch->correlation), index);

    if (first == index)
        return;
    while (launches->launches[first].next != UINT32_MAX)
        first = launches->launches[first].next;
    launches->launches[first].next = index;
}

/* A correlation of NULL joins nothing: the call is kept, as ranges count it, but no kernel
 * finds it. */
void stats_launches_read(struct stats_launches *launches, struct nsys_database *database)
{
    static const char *const columns[] = {"start",         "end",    "globalTid",
                                          "correlationId", "nameId", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_RUNTIME", columns);
    while (sqlite_rows_next(&rows)) {
        LARGE_ARRAY_RESERVE(launches->launches, launches->count + (size_t)1);
        launches->launches[launches->count] = (struct stats_launch){
            .start_ns = sqlite_integer(&rows, 0, 0),
            .end_ns = sqlite_integer(&rows, 1, 0),
            .global_tid = sqlite_integer(&rows, 2, 0),
            .correlation = sqlite_integer(&rows, 3, 0),
            .name_id = sqlite_integer(&rows, 4, -1),
            .next = UINT32_MAX,
        };
        if (!sqlite_is_null(&rows, 3))
            link_launch(launches, launches->count);
        launches->count++;
    }
    sqlite_rows_clear(&rows);
}

uint32_t stats_launch_find(const struct stats_launches *launches, int64_t global_pid,
                           int64_t correlation)
{
    uint32_t process = hash_map_find(&launches->processes, (uint64_t)nsys_process(global_pid));

    return process == NO_VALUE ? UINT32_MAX
                               : hash_map_find(&launches->by_key, launch_key(process, correlation));
}

void stats_launches_clear(struct stats_launches *launches)
{
    if (!launches)
        return;
    large_array_free(launches->launches);
    hash_map_clear(&launches->processes);
    hash_map_clear(&launches->by_key);
    *launches = (struct stats_launches){0};
}
