/* Recomputation inside of code that torch.compile made: its backward is one autograd node, in which
 * no mark tells what belongs to the forward. Told by the sizes of its matrix products: a product
 * [m, k] by [k, n] has two gradients, [m, n] by [n, k] and [k, m] by [m, n]; what is there beyond
 * these, and is a product of the forward, is computed again. */
#ifndef FLOPLEDGER_COST_MODULES_COMPILED_RECOMPUTE_H
#define FLOPLEDGER_COST_MODULES_COMPILED_RECOMPUTE_H

#include "cost/modules/counted_ops.h"
#include "cost/modules/host_context.h"
#include "trace/trace.h"

#include <stdbool.h>

/* Gives recomputed products, and all inside of them, PHASE_RECOMPUTE. Returns for each host event
 * whether it is a counted product of which that is not known: its forward was not recorded, or some
 * gradients are missing (frozen weights), so that a product may be either. large_array_free() it;
 * NULL where no compiled backward was recorded. */
bool *find_compiled_recompute(struct host_contexts *contexts, const struct trace *trace,
                              const struct counted_ops *ops);

#endif
