/* What Ascend's devices counted: sampled by the recorder (clock, memory, bandwidths), and counted
 * in single tasks (metrics of the cores). */
#ifndef FLOPLEDGER_READERS_ASCEND_ASCEND_COUNTERS_H
#define FLOPLEDGER_READERS_ASCEND_ASCEND_COUNTERS_H

#include "base/core/hash_map.h"
#include "base/core/paged_map.h"
#include "base/json/json_scan.h"
#include "readers/sqlite/sqlite_input.h"
#include "trace/trace_builder.h"

#include <stdint.h>

/* A sample of JSON (phase C), whose device is known when all of the file is read. Strings are those
 * of the builder. */
struct ascend_sample {
    uint32_t process;
    uint32_t name;
    uint32_t unit; /* 0: not told */
    int64_t time_ns;
    double value;
};

/* Of an event called `name` with these args, the first of which is the value. False where there is
 * none. */
bool ascend_sample_read(struct ascend_sample *sample, struct trace_builder *builder,
                        const struct json_slice *name, const struct json_slice *args);
void ascend_sample_place(struct trace_builder *builder, const struct ascend_sample *sample,
                         int32_t device);

/* When and where the tasks of a database ran. A zeroed one is empty. */
struct ascend_places {
    struct paged_map tasks; /* globalTaskId: index in `places` */
    struct ascend_task_place {
        int64_t start_ns;
        int32_t device;
    } * places;
    uint32_t count;
};

void ascend_note_place(struct ascend_places *places, int64_t task, int64_t start_ns,
                       int32_t device);
void ascend_places_clear(struct ascend_places *places);

/* What the tables of a database hold of it. `strings`: id in STRING_IDS to id in the builder. */
void ascend_read_counters(struct trace_builder *builder, struct sqlite_input *database,
                          const struct hash_map *strings, struct ascend_places *places);

#endif
