/* What differs between two snapshots at their peaks, by what the program's lines, or its modules,
 * hold in each. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_CHANGE_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_CHANGE_H

#include "base/core/string_pool.h"

#include <stdint.h>

struct changed_share {
    int64_t before_bytes;
    int64_t after_bytes;
    int64_t before_blocks;
    int64_t after_blocks;
    uint32_t name; /* in names */
};

/* Zeroed is empty. Things are the same where they have the same name. */
struct memory_change {
    struct string_pool names;
    struct changed_share *shares; /* [count] */
    uint32_t count;
    uint32_t capacity;
};

enum change_side { CHANGE_BEFORE, CHANGE_AFTER };

/* Adds what `name` holds on one side. */
void memory_change_add(struct memory_change *change, enum change_side side, const char *name,
                       int64_t bytes, int64_t blocks);

/* The largest changes first, whether more or less; equal ones by name. Nothing can be added after
 * it.
 */
void memory_change_sort(struct memory_change *change);

void memory_change_clear(struct memory_change *change);

#endif
