/* Shapes of results, which traces do not write: told by the backward pass. */
#ifndef FLOPLEDGER_COST_MODULES_KNOWN_RESULT_H
#define FLOPLEDGER_COST_MODULES_KNOWN_RESULT_H

#include "base/core/hash_map.h"
#include "cost/modules/host_context.h"
#include "trace/trace.h"

#include <stdint.h>

/* The shape of a result is that of an argument of another op. */
struct known_result {
    uint32_t shapes;   /* in the trace's strings; 0: the result is not known */
    uint32_t argument; /* which of them */
};

struct known_results {
    const struct trace *trace;
    const uint32_t *parents;
    struct hash_map nodes; /* sequence number -> shapes that an autograd node of a convolution was
                              given, or 0 where two nodes of the number disagree */
};

/* `results` must be zeroed; trace and contexts must outlive it. */
void find_known_results(struct known_results *results, const struct trace *trace,
                        const struct host_contexts *contexts);

/* Of a convolution whose values (stride, padding, ...) the trace does not have: the gradient that
 * its autograd node is given is as large as its result. Of a gradient of a convolution's weight: as
 * large as the weight, an argument of the op around it. */
struct known_result known_result_of(const struct known_results *results, uint32_t op);

void known_results_clear(struct known_results *results);

#endif
