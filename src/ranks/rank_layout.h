/* How the ranks of a run divide the work: tensor, context, data and pipeline parallel sizes, and
 * where in them a rank stands. From `--layout tp=8,pp=4,dp=16`, or from names such as
 * rank3_dp1_tp1_pp0. */
#ifndef FLOPLEDGER_RANKS_RANK_LAYOUT_H
#define FLOPLEDGER_RANKS_RANK_LAYOUT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "ranks/rank_digest.h"

#include <stdbool.h>
#include <stdint.h>

struct rank_layout {
    bool is_given;             /* false: nothing is known */
    int32_t sizes[AXIS_COUNT]; /* at least 1; their product is the number of ranks */
    uint8_t order[AXIS_COUNT]; /* the axis that varies fastest from rank to rank first */
    int32_t micro_batches;     /* of a step; 0: not said */
    int32_t chunks_per_rank;   /* of the model, of an interleaved pipeline; 1 without */
};

const char *layout_axis_key(enum layout_axis axis); /* "tp" */

/* "tp=8,pp=4,dp=16": sizes not named are 1. "order=tp-cp-dp-pp" (the default) names the axes from
 * the fastest on; "m=32" the micro-batches of a step, "v=2" the chunks of the model on a rank.
 * Errors (ERROR_USAGE). */
MUST_USE bool rank_layout_parse(struct rank_layout *layout, const char *text, struct error *error);

/* Ranks of the whole layout. */
int64_t rank_layout_ranks(const struct rank_layout *layout);

/* Where rank `rank` stands; false where the layout has no such rank. */
bool rank_layout_place(const struct rank_layout *layout, int64_t rank,
                       int32_t coordinates[AXIS_COUNT]);

/* From the nearest folder or file name that tells one, "rank3_dp1_tp1_pp0"; -1 for the others. */
void coordinates_in_path(int32_t coordinates[AXIS_COUNT], const char *path);

/* The number behind "rank" or "worker" in the file's name, else in the name of the nearest folder:
 * "rank3.json", "worker0_step_12.pt.trace.json", "rank_3/trace.json"; -1 where none has one. */
int64_t rank_in_path(const char *path);

#endif
