/* What the flight recorders of a job's ranks hold: PyTorch's ring of the last collectives and
 * point-to-point operations of each process.
 *
 * Forms and meanings: torch/csrc/distributed/c10d/FlightRecorder.hpp, dumps of version 2.x. */
#ifndef FLOPLEDGER_TRACE_FLIGHT_DUMPS_H
#define FLOPLEDGER_TRACE_FLIGHT_DUMPS_H

#include "base/core/hash_map.h"
#include "base/core/string_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flight_state {
    FLIGHT_SCHEDULED, /* the host called it */
    FLIGHT_STARTED,   /* it runs on the device */
    FLIGHT_COMPLETED,
};

/* One operation as one rank recorded it. Texts are ids in flight_dumps.strings. */
struct flight_entry {
    int64_t created_ns;      /* Unix time; 0: not known */
    int64_t started_ns;      /* when that was noticed; 0: not, or not known */
    int64_t completed_ns;    /* likewise */
    int64_t input_elements;  /* of all tensors together; -1: not known */
    int64_t output_elements; /* likewise */
    uint32_t group;          /* index in flight_dumps.groups */
    uint32_t sequence;       /* number of the operation in its group, as torch counts */
    uint32_t ordinal;        /* among this rank's entries of that number: coalesced ones share it */
    uint32_t name;           /* "all_reduce", without the backend */
    uint32_t shapes;         /* "[4, 8] -> [32, 8]" */
    uint32_t dtypes;         /* "Float", "Float -> Half" */
    uint32_t frames;         /* "train.py:12 step" a line, the innermost first; "" not recorded */
    int32_t source;          /* of a point-to-point operation: the rank in the group; -1 */
    int32_t target;
    uint8_t state; /* enum flight_state */
    bool is_p2p;
    bool is_retired; /* the backend no longer watches it */
};

/* What a rank says of a group as a whole: numbers of operations, -1: not known. */
struct flight_status {
    int64_t enqueued;
    int64_t completed;
};

struct flight_dump {
    char *path; /* owned */
    uint32_t rank;
    uint32_t version;             /* id of the text "2.10" */
    struct flight_entry *entries; /* [entry_count], in the order of the calls */
    size_t entry_count;
    struct flight_status *statuses; /* [status_count]: by group; those beyond are not known */
    size_t status_count;
    bool is_wrapped; /* older entries were overwritten */
};

/* A process group: the same for two ranks where its name, description and members are. */
struct flight_group {
    uint32_t name;
    uint32_t description;
    uint32_t *ranks; /* [rank_count], ascending */
    size_t rank_count;
    bool are_ranks_known; /* else they are those whose dumps name it */
};

/* A zeroed one is empty. */
struct flight_dumps {
    struct string_pool strings;
    struct flight_group *groups; /* [group_count] */
    size_t group_count;
    struct string_pool group_keys; /* what makes each group, as bytes */
    struct hash_map group_of_key;
    struct flight_dump *dumps; /* [dump_count]; by rank after flight_dumps_finish */
    size_t dump_count;
    uint32_t backend; /* id of the text "nccl"; 0: not known */
    uint32_t *world;  /* [world_count], ascending: every rank that a dump or a group names */
    size_t world_count;
};

/* The group of that name and these members (ascending; NULL: not known), added where it is new. */
uint32_t flight_group_add(struct flight_dumps *dumps, uint32_t name, uint32_t description,
                          const uint32_t *ranks, size_t rank_count);

/* An empty dump at the end; `path` is copied. */
struct flight_dump *flight_dump_add(struct flight_dumps *dumps, const char *path, uint32_t rank);
/* Takes the last one away again. */
void flight_dump_drop(struct flight_dumps *dumps);

/* To be called once all are read: orders the dumps by rank, finds the world, and the members of
 * groups that no dump lists. */
void flight_dumps_finish(struct flight_dumps *dumps);

/* Orders ranks and drops twins; returns how many are left. */
size_t flight_sort_ranks(uint32_t *ranks, size_t count);

/* NULL where that rank left none. */
const struct flight_dump *flight_dump_of(const struct flight_dumps *dumps, uint32_t rank);

const char *flight_text(const struct flight_dumps *dumps, uint32_t id);

void flight_dumps_clear(struct flight_dumps *dumps);

#endif
