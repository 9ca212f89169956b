/* What stands around the ops of a trace and says more of them than their arguments: the step of an
 * inference server, and the sizes of the model's experts. */
#ifndef FLOPLEDGER_COST_MODULES_OP_SURROUNDINGS_H
#define FLOPLEDGER_COST_MODULES_OP_SURROUNDINGS_H

#include "cost/architectures/architecture.h"
#include "cost/flops/op_call.h"
#include "ledger/serving_range.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_SERVING_STEP 0

/* Zeroed is empty. */
struct op_surroundings {
    struct serving_range *steps; /* [step_count], those with sums; the first stands for no step */
    uint32_t step_count;
    uint32_t step_capacity;
    uint32_t *step_of; /* [host_count]; NULL: no range of a server has sums */
    struct expert_sizes experts;
    bool has_experts;
    struct attention_windows windows; /* count 0: not known, or no layer has one */
};

/* `parents` of each host event; `architecture` may be NULL. `around` must be zeroed. */
void find_op_surroundings(struct op_surroundings *around, const struct trace *trace,
                          const uint32_t *parents, const struct architecture *architecture);

/* The number of the step that the op is in, or NO_SERVING_STEP. */
uint32_t serving_step_of(const struct op_surroundings *around, uint32_t op);

/* In the step of that number. */
struct call_surroundings surroundings_in(const struct op_surroundings *around, uint32_t step);

void op_surroundings_clear(struct op_surroundings *around);

#endif
