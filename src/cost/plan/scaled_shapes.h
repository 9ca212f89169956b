/* Shapes of an operator's inputs, as they would be with another batch or another sequence.
 *
 * A tensor that begins with the samples of a pass, with its tokens, or with samples times heads is
 * scaled; one that has neither (weights, what an optimizer works on) stays as it is. */
#ifndef FLOPLEDGER_COST_PLAN_SCALED_SHAPES_H
#define FLOPLEDGER_COST_PLAN_SCALED_SHAPES_H

#include "base/core/attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one pass of the model works on. */
struct pass_size {
    int64_t samples;
    int64_t sequence; /* tokens of a sample; 0: samples have none */
};

struct pass_change {
    struct pass_size from;
    struct pass_size to;
};

enum { SCALED_DIMS_MAX = 16 };

/* Scales the `rank` sizes of a tensor in place. True where any of them has changed. */
bool scale_sizes(int64_t *sizes, int rank, const struct pass_change *change);

/* "[[8, 64], [64]]" with each tensor scaled, and how many elements all of them have, before and
 * after. `scaled` has room for `room` bytes; false where that is too little, or `shapes` is no list
 * of shapes. */
struct scaled_elements {
    double before;
    double after;
};
MUST_USE bool scale_shapes(const char *shapes, const struct pass_change *change, char *scaled,
                           size_t room, struct scaled_elements *elements);

#endif
