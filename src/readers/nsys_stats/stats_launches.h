/* API calls by the work of a device that they launched: by correlation id, which is unique only
 * within a process. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_LAUNCHES_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_LAUNCHES_H

#include "base/core/hash_map.h"
#include "readers/nsys/nsys_database.h"

#include <stdint.h>

struct stats_launch {
    int64_t start_ns;
    int64_t end_ns;
    int64_t global_tid;
    int64_t correlation;
    int64_t name_id;
    uint32_t next; /* another call with the same process and correlation; UINT32_MAX: none */
};

/* A zeroed one is empty. */
struct stats_launches {
    struct stats_launch *launches; /* [count], as they stand in the file */
    uint32_t count;
    struct hash_map processes; /* globalPid: number */
    struct hash_map by_key;    /* of process number and correlation: index of the first */
};

void stats_launches_read(struct stats_launches *launches, struct nsys_database *database);
/* The first call of process `global_pid` with this correlation, the others follow by `next`;
 * UINT32_MAX: none. */
uint32_t stats_launch_find(const struct stats_launches *launches, int64_t global_pid,
                           int64_t correlation);
void stats_launches_clear(struct stats_launches *launches);

#endif
