/* The members of a memory snapshot by their names, and the walk from values of the pickle to
 * numbers. Private to the reader of memory snapshots. */
#ifndef FLOPLEDGER_READERS_MEMORY_SNAPSHOT_CUDA_MEMORY_FIELDS_H
#define FLOPLEDGER_READERS_MEMORY_SNAPSHOT_CUDA_MEMORY_FIELDS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/hash_map.h"
#include "base/core/index_table.h"
#include "base/pickle/pickle_tree.h"
#include "trace/memory_snapshot.h"

#include <stdbool.h>
#include <stdint.h>

/* Every name that a snapshot may hold. Of names for one thing each version has another. */
enum snapshot_field {
    FIELD_OTHER,
    FIELD_ACTION,
    FIELD_ADDRESS, /* address, addr */
    FIELD_SIZE,    /* size, real_size */
    FIELD_REQUESTED_SIZE,
    FIELD_TOTAL_SIZE,
    FIELD_STREAM,
    FIELD_TIME_US,
    FIELD_FRAMES,
    FIELD_HISTORY,
    FIELD_USER_METADATA,
    FIELD_DEVICE_FREE,
    FIELD_DEVICE,
    FIELD_STATE,
    FIELD_BLOCKS,
    FIELD_SEGMENT_TYPE,
    FIELD_SEGMENT_POOL_ID,
    FIELD_IS_EXPANDABLE,
    FIELD_NAME,
    FIELD_FILENAME,
    FIELD_LINE,
    FIELD_STAGE,
    FIELD_COUNT,
};

/* A snapshot on its way out of a pickle. */
enum { STACKS_KNOWN = 4096 };

/* Lists with the same frames mostly share them in the tree. */
struct known_stack {
    const struct pickle_value *frames; /* NULL: none */
    uint32_t count;
    uint32_t stack;
};

struct snapshot_reading {
    const struct pickle_tree *tree;
    struct memory_snapshot *snapshot;
    uint8_t *field_of_text;    /* [strings]: enum snapshot_field */
    uint32_t *id_of_sequence;  /* [sequences]: 1 + the stack or frame it is; 0: not yet known */
    struct known_stack *known; /* [STACKS_KNOWN], by where the tree holds their frames */
    struct hash_map frame_ids; /* hash of the content: one with it */
    struct hash_map stack_ids;
    struct index_table pool_ids;
    uint64_t hash_secret; /* of pool_ids */
    int64_t row_count;    /* events and blocks */
    int64_t bytes_in_all; /* of all sizes: their sums must stay numbers */
    char place[128];      /* "segments[812]": where errors are; may be empty */
    struct error *error;
};

void snapshot_reading_begin(struct snapshot_reading *reading);
void snapshot_reading_end(struct snapshot_reading *reading);

/* The members of a dict by field; PICKLE_NOTHING where it has none. */
struct snapshot_members {
    struct pickle_value values[FIELD_COUNT];
};

void snapshot_members_of(struct snapshot_members *members, const struct snapshot_reading *reading,
                         struct pickle_value dict);

/* Sets the error "PLACE: FORMAT" and returns false. */
bool snapshot_fail(const struct snapshot_reading *reading, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* The integer in `value`, `otherwise` where there is none; false where it is something else. */
MUST_USE bool snapshot_integer(const struct snapshot_reading *reading, struct pickle_value value,
                               const char *name, int64_t *integer);
MUST_USE bool snapshot_address(const struct snapshot_reading *reading, struct pickle_value value,
                               const char *name, uint64_t *address);
/* A size in bytes: an integer from 0 to 2^60. */
MUST_USE bool snapshot_size(struct snapshot_reading *reading, struct pickle_value value,
                            const char *name, int64_t *bytes);

/* The id of the stack that a list of frames is; SNAPSHOT_NONE of an empty one or none. */
MUST_USE bool snapshot_stack_id(struct snapshot_reading *reading, struct pickle_value frames,
                                uint32_t *stack);

/* The text of a `user_metadata`; 0 where there is none. */
uint32_t snapshot_tag(const struct snapshot_reading *reading, struct pickle_value value);

#endif
