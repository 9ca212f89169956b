/* Who owns an allocation of a snapshot, as far as the program said so itself: the phase and module
 * of its tag, and the annotation that was open when it was made; how much is whose; and as a tree
 * of calls, what held a device's memory at a moment. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_OWNERS_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_OWNERS_H

#include "base/core/string_pool.h"
#include "memory/snapshot_places.h"
#include "memory/snapshot_replay.h"
#include "trace/memory_snapshot.h"

#include <stdbool.h>
#include <stdint.h>

/* A line that was called on one way; or, without a frame, what has no line of the user's. */
struct call_node {
    uint32_t frame;  /* SNAPSHOT_NONE: `place` says what it is */
    uint32_t place;  /* of places */
    uint32_t parent; /* SNAPSHOT_NONE: an outermost line */
    uint32_t child_count;
    int64_t bytes; /* of all that was allocated inside of it */
    uint32_t blocks;
};

/* Zeroed is empty. */
struct call_tree {
    struct call_node *nodes; /* [count], parents before their children */
    uint32_t count;
    int64_t bytes;
};

/* Frames of libraries and C++ are passed over. `tree` must be zeroed. */
void build_call_tree(struct call_tree *tree, const struct snapshot_replay *replay,
                     const struct snapshot_places *places, uint32_t moment);

/* A row of the tree as it is printed. */
struct call_row {
    uint32_t node;
    int depth;
};

/* The rows to print, each parent before its children, the most bytes first; free() them. Nodes with
 * fewer than `least_bytes` are left out, and those that hold nothing but one other. */
struct call_row *call_tree_rows(const struct call_tree *tree, int64_t least_bytes, uint32_t *count);

void call_tree_clear(struct call_tree *tree);

struct memory_share {
    uint32_t key;
    uint32_t blocks;
    int64_t bytes;
    int64_t largest_bytes; /* one of the blocks */
};

struct memory_shares {
    struct memory_share *shares; /* [count], the most bytes first; equal ones by key */
    uint32_t count;
    int64_t bytes; /* of all */
};

/* What allocations are added up by: a number below `limit`. */
struct share_key {
    uint32_t (*of_life)(const struct memory_life *life, const void *context);
    const void *context;
    uint32_t limit;
};

/* `shares` must be zeroed. */
void share_memory(struct memory_shares *shares, const struct snapshot_replay *replay,
                  uint32_t moment, struct share_key key);

/* Bytes of the key; 0 where nothing of it lives. */
int64_t share_of_key(const struct memory_shares *shares, uint32_t key);

void memory_shares_clear(struct memory_shares *shares);

/* A tag is "phase|module", as `flopledger run --memory` sets it, or any text: then it is a module
 * without a phase. All ids are of `names`; 0, the empty text: not told. */
struct snapshot_owners {
    struct string_pool names;
    uint32_t *phase_of_tag;  /* [strings of the snapshot] */
    uint32_t *module_of_tag; /* [strings of the snapshot] */
    bool has_tags;           /* some life of the device has one */
    bool has_phases;
    uint32_t *annotation_of_moment; /* [event_count + 1]: the innermost one open; NULL: none at all
                                     */
};

/* `owners` must be zeroed. */
void find_snapshot_owners(struct snapshot_owners *owners, const struct snapshot_replay *replay);

const char *owner_name(const struct snapshot_owners *owners, uint32_t id);

void snapshot_owners_clear(struct snapshot_owners *owners);

#endif
