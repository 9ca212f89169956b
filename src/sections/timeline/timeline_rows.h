/* The blocks of a timeline: pieces in order of time, short ones merged where the plan says so. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_ROWS_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_ROWS_H

#include "base/core/hash_map.h"
#include "cost/modules/module_tree.h"
#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/timeline/timeline_plan.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

enum { TIMELINE_CLASSES_IN_ALL_MAX = 96 };

/* Short pieces of one row that become one block. */
struct merged_pieces {
    int64_t bucket;
    int64_t start_ns;
    int64_t end_ns;
    int64_t filled_ns;
    int64_t class_ns[TIMELINE_CLASSES_IN_ALL_MAX];
    struct timeline_piece first;
    uint32_t count;
    bool is_of_one_name; /* all have the name, module and class of the first */
};

/* A row while it grows. */
struct growing_row {
    struct timeline_block *blocks; /* [count] */
    size_t count;
    size_t region; /* of the last piece */
    struct merged_pieces merged;
};

/* A list of texts, each once. */
struct text_list {
    const char **texts; /* [count]; the first is "" */
    uint32_t *index_of; /* by id; 0: not yet in the list */
    size_t count;
    size_t bytes;
};

struct timeline_rows {
    struct results *results;
    const struct trace *trace;
    const struct module_tree *tree;
    const uint32_t *lane_of_track;         /* where a launch call is drawn; NO_EVENT: nowhere */
    int64_t start_ns;                      /* of the timeline */
    const struct timeline_region *regions; /* on the trace's own clock */
    size_t region_count;
    const size_t *first_row; /* [lane_count]: of each lane, in rows */
    struct growing_row *rows;
    size_t row_count;
    struct text_list names;
    struct text_list modules;
    struct hash_map label_of;
    struct timeline_label *labels;
    size_t label_count;
};

/* Of the fields above, `results` to `row_count` are set (but for `rows`), the rest zeroed. */
void timeline_rows_init(struct timeline_rows *rows);

/* A piece_sink's take; `context` is the rows. */
void timeline_rows_take(void *context, const struct timeline_piece *piece);

/* Merges what is still open and moves blocks, labels and names into `timeline`, whose lanes have
 * their row counts. */
void timeline_rows_finish(struct timeline_rows *rows, struct timeline *timeline);

void timeline_rows_clear(struct timeline_rows *rows);

#endif
