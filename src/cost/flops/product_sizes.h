/* The sizes of one matrix product, whichever operator computes it. */
#ifndef FLOPLEDGER_COST_FLOPS_PRODUCT_SIZES_H
#define FLOPLEDGER_COST_FLOPS_PRODUCT_SIZES_H

#include "cost/flops/op_call.h"

#include <stdbool.h>
#include <stdint.h>

/* `count` times [smaller, shared] by [shared, larger]: a product and its transpose are alike. */
struct product_sizes {
    int64_t count;
    int64_t smaller;
    int64_t shared;
    int64_t larger;
};

/* False where the operator is no product of two matrices (or of a batch of them), or the shapes
 * are not those of one. `call` is room that is used again. */
bool product_sizes_of(struct product_sizes *sizes, struct op_call *call, const char *name,
                      const char *shapes);

#endif
