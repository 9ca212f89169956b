/* Which ops of a trace are counted, and what each costs. */
#ifndef FLOPLEDGER_COST_MODULES_COUNTED_OPS_H
#define FLOPLEDGER_COST_MODULES_COUNTED_OPS_H

#include "cost/architectures/architecture.h"
#include "cost/flops/count_flops.h"
#include "cost/flops/op_call.h"
#include "cost/modules/host_context.h"
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

void op_surroundings_clear(struct op_surroundings *around);

/* What becomes of an event's cost. */
enum op_state {
    OP_NO_OP,       /* not an operator, or one that only calls others or costs nothing */
    OP_COUNTED,     /* its cost is in the sums, and stands for all inside it */
    OP_INSIDE,      /* inside a counted op */
    OP_NOT_COUNTED, /* no formula, or not all that it needs is known */
    OP_DOUBTFUL,    /* would be counted, but was probably not carried out: the last op of a
                       recomputation that checkpointing without reentry breaks off, unless a kernel
                       shows that it ran */
};

/* Ops of equal names and arguments share a cost. */
struct counted_ops {
    struct op_cost *costs;
    uint8_t *name_kinds; /* [cost_count]: what the op's name alone says; see counted_ops.c */
    uint32_t cost_count;
    uint32_t *cost_of; /* [host_count]: index in costs, or NO_EVENT */
    uint8_t *states;   /* [host_count]: enum op_state */
};

/* What tells the cost of an op besides its arguments. */
struct counting_options {
    const struct user_formulas *user; /* may be NULL */
    const struct op_surroundings *around;
};

/* Of nested ops that formulas know, the innermost of the highest kind (enum cost_kind) counts: an
 * aten::mm inside aten::linear, but not a copy inside aten::mm. `ops` must be zeroed. */
void count_ops(struct counted_ops *ops, const struct trace *trace,
               const struct host_contexts *contexts, const struct counting_options *options);

/* What is known of an op otherwise: it counts with `cost`, which becomes the cost of it alone. */
void counted_ops_set(struct counted_ops *ops, uint32_t event, struct op_cost cost);

/* Takes back the count of each op that asks inside for what only a sparse tensor has: the outermost
 * one becomes OP_NOT_COUNTED, all in it OP_INSIDE. What a formula of the user's counts stays. In
 * sparse_operands.c. */
void leave_out_sparse(struct counted_ops *ops, const struct trace *trace, const uint32_t *parents,
                      const struct user_formulas *user);

/* Collectives and what wraps them: they move data between ranks, and are no gap in the count. */
bool is_communication_op(const char *name);

/* The range around the code that torch.compile made of a region. */
bool is_compiled_code(const char *name);

void counted_ops_clear(struct counted_ops *ops);

#endif
