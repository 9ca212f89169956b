/* The NVTX ranges of a file, and which of them enclose which API calls. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_RANGES_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_RANGES_H

#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "readers/nsys/nsys_database.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stats_range {
    int64_t start_ns;
    int64_t end_ns; /* of one still open at the end of the recording: the last time known */
    int64_t global_tid;
    uint32_t name;           /* in stats_ranges.names; UINT32_MAX: none */
    bool is_push_pop;        /* else start/end */
    bool has_own_end_thread; /* ends on a thread that is named: encloses nothing */
};

/* A zeroed one is empty. */
struct stats_ranges {
    struct stats_range *ranges; /* [count], as they stand in the file; a large array */
    uint32_t count;
    struct string_pool names; /* "domain:text" */
};

/* `is_end_of_ranges`: what is still open ends with the last range; else with the last event of
 * NVTX. */
void stats_ranges_read(struct stats_ranges *ranges, struct nsys_database *database,
                       bool is_end_of_ranges);
const char *stats_range_name(const struct stats_ranges *ranges, uint32_t range);
const char *stats_range_style(const struct stats_range *range); /* "PushPop", "StartEnd" */
void stats_ranges_clear(struct stats_ranges *ranges);

/* A time on a thread. */
struct stats_span {
    int64_t start_ns;
    int64_t end_ns;
    int64_t global_tid;
    uint32_t id;
};

/* Calls `found` for each span and each range of its thread that encloses it, spans by thread and
 * start. Sorts `spans`. */
void stats_ranges_around(const struct stats_ranges *ranges, struct stats_span *spans,
                         size_t span_count,
                         void (*found)(void *context, uint32_t span, uint32_t range),
                         void *context);

/* For each range the tightest that encloses it on its thread, or UINT32_MAX; large_array_free() it.
 */
uint32_t *stats_range_parents(const struct stats_ranges *ranges);

#endif
