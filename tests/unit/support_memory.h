/* A small recorded step with its marks, for the tests of memory. Times are in microseconds. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_MEMORY_H
#define FLOPLEDGER_TESTS_SUPPORT_MEMORY_H

#include "memory/memory_run.h"

/* One step of a model "Net" with a module "lin": what is alive, and the peak, is known to the byte.
 *
 *   before  parameter 1000 at 1, gradient 1000 at 2
 *   5       the gradient is freed
 *   6       input 64 at 3
 *   13      in lin: activation 500 at 4
 *   14-15   in lin: temporary 300 at 5
 *   32      the loss: 8 at 6
 *   42      in lin's backward: the new gradient, 1000 at 2: the peak, 2572
 *   49      the activation is freed
 *   62-63   in the optimizer: temporary 200 at 7
 */
extern const char memory_trace_text[];
extern const char memory_side_text[];

struct made_memory {
    struct trace trace;
    struct memory_side_file side;
    struct model_description description;
    struct memory_run run;
};

/* `made` may hold anything; fails the test where the texts are not read. */
void made_memory_init(struct made_memory *made, const char *trace, const char *side);
void made_memory_clear(struct made_memory *made);

#endif
