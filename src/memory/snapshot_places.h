/* Where in the program an allocation of a snapshot was made: its call stack folded to one place
 * that a user knows. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_PLACES_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_PLACES_H

#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "memory/snapshot_replay.h"
#include "trace/memory_snapshot.h"

#include <stdint.h>

/* The first that a stack has, from the innermost frame outwards. */
enum place_kind {
    PLACE_USER_LINE,    /* a line of Python that is no library's */
    PLACE_LIBRARY_LINE, /* a line of a Python library */
    PLACE_BACKWARD,     /* a node of autograd: it runs in a thread without Python */
    PLACE_NATIVE,       /* a C++ function */
    PLACE_NO_STACK,     /* no stack was recorded */
    PLACE_BEFORE,       /* allocated before the trace, and freed in it: nobody recorded where */
};

struct snapshot_place {
    enum place_kind kind;
    uint32_t frame; /* of lines: in the snapshot's frames */
    uint32_t name;  /* of nodes and functions: in names */
};

struct snapshot_places {
    const struct memory_snapshot *snapshot;
    struct snapshot_place *places; /* [count]; the last two kinds are 0 and 1 */
    uint32_t count;
    uint32_t *of_stack; /* [stack_count] */
    struct string_pool names;
    struct hash_map ids; /* private */
};

/* `places` must be zeroed; `snapshot` must outlive it. */
void find_snapshot_places(struct snapshot_places *places, const struct memory_snapshot *snapshot);

/* The id of its place. */
uint32_t place_of_life(const struct snapshot_places *places, const struct memory_life *life);

/* Whether the frame is a line of Python, and not of an installed library. */
bool is_user_frame(const struct memory_snapshot *snapshot, const struct snapshot_frame *frame);

/* The last part of a path, and the last two: "attention.py", "model/attention.py". */
const char *file_name(const char *path);
const char *short_path(const char *path);

void snapshot_places_clear(struct snapshot_places *places);

#endif
