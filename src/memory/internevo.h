/* What InternEvo's memory profiler writes of a run: its trees, and the pages of them. */
#ifndef FLOPLEDGER_MEMORY_INTERNEVO_H
#define FLOPLEDGER_MEMORY_INTERNEVO_H

#include "base/core/string_pool.h"
#include "memory/memory_run.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes by dotted path, as InternEvo's memory profiler lays them out: each part of a path is a
 * node, in the order in which it was first named. */

#define NO_NODE UINT32_MAX

struct internevo_node {
    const char *path; /* "param_mem.layer1.weight" */
    const char *name; /* the last part of it */
    int64_t own_bytes;
    int64_t total_bytes; /* own, and those of all below it; set by internevo_tree_finish */
    uint32_t parent;
    uint32_t first_child;
    uint32_t last_child;
    uint32_t next_sibling;
    int depth; /* 0: the root */
};

/* Zeroed is empty. Parents come before their children. */
struct internevo_tree {
    struct internevo_node *nodes; /* [count]; the first is the root */
    uint32_t count;
    struct string_pool paths;
};

enum internevo_part {
    INTERNEVO_PARAMS,
    INTERNEVO_GRADS,
    INTERNEVO_OS_PARAMS, /* what the optimizer keeps of the parameters beside the model's own */
    INTERNEVO_OS_STATE,
    INTERNEVO_ACTIVATIONS,
};
enum { INTERNEVO_PART_COUNT = INTERNEVO_ACTIVATIONS + 1 };

const char *internevo_part_name(enum internevo_part part); /* "params", "activation_base" */

/* What is alive of one part on `device` when so many changes are made. `tree` must be zeroed; it
 * gets at least a root. */
void internevo_tree_fill(struct internevo_tree *tree, const struct memory_run *run, int32_t device,
                         enum internevo_part part, uint32_t change_count);

/* Bytes of all of it. */
int64_t internevo_tree_bytes(const struct internevo_tree *tree);

void internevo_tree_clear(struct internevo_tree *tree);

/* Which files InternEvo's own profiler leaves: memory.log, and beside it five pages with a sunburst
 * each, drawn here as SVG: they need no network and no script. */

/* One record at the start, at each end of a forward and of a backward, at each end of a step, and
 * wherever the program asked for one. Write errors show in ferror(output). */
void internevo_log_write(FILE *output, const struct memory_run *run, int32_t device);

enum internevo_page {
    INTERNEVO_SUMMARY,
    INTERNEVO_PAGE_PARAMS,
    INTERNEVO_PAGE_GRADS,
    INTERNEVO_PAGE_OS,
    INTERNEVO_PAGE_ACTIVATION,
};
enum { INTERNEVO_PAGE_COUNT = INTERNEVO_PAGE_ACTIVATION + 1 };

const char *internevo_page_file(enum internevo_page page); /* "summary_sunburst.html" */

/* Parameters and optimizer state as at the end of the recording; gradients at the end of a backward
 * and activations at the end of a forward, where there are most of them. Write errors show in
 * ferror(output). */
void internevo_page_write(FILE *output, const struct memory_run *run, int32_t device,
                          enum internevo_page page);

#endif
