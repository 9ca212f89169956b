/* What held a device's memory at a moment, as a tree of calls: from the program's outermost line
 * inwards to the lines that allocated. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_TREE_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_TREE_H

#include "memory/snapshot_places.h"
#include "memory/snapshot_replay.h"

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

#endif
