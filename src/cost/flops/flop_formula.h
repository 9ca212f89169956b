/* What a FLOPs formula is: a family of ops whose cost follows from their shapes.
 *
 * To add one: write flops/<name>.c with `const struct flop_formula <name>_formula`, and one line
 * FLOP_FORMULA(<name>) in list.def. One multiply-add is 2 FLOPs and 1 MAC. */
#ifndef FLOPLEDGER_COST_FLOPS_FLOP_FORMULA_H
#define FLOPLEDGER_COST_FLOPS_FLOP_FORMULA_H

#include "cost/flops/op_call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In this order: of nested ops that are counted, a higher kind stands for all inside it. */
enum cost_kind {
    COST_NOT_COUNTED, /* no formula, or its inputs are not known: this is not 0 FLOPs */
    COST_FREE,        /* a view, an allocation, a question: no work at all */
    COST_MOVEMENT,    /* moves bytes: copies, gathers, fills; 0 FLOPs */
    COST_POINTWISE,   /* elementwise, normalization, softmax, reduction, pooling, optimizer */
    COST_MATRIX,      /* matmul, convolution, attention, recurrent: what "model FLOPs" means */
};

struct op_cost {
    enum cost_kind kind;
    const char *why;      /* static text: why it is not counted; NULL where it is */
    int64_t flops;        /* as computed by the device, a mask not taken into account */
    int64_t model_flops;  /* without what a fused backward computes again (attention backward: 4
                             matmuls, not 5); else equal to flops */
    int64_t masked_flops; /* flops with only the pairs of query and key that a causal mask or a
                             sliding window leaves; else equal to flops */
    int64_t macs;         /* multiply-adds of flops; 0 for kinds other than COST_MATRIX */
    int64_t bytes;        /* read and written once each; -1: not known */
    bool is_own_work;     /* not counted, but the op is work of its own, whatever lies in it */
    bool is_four_bit;     /* its operands are pairs of 4-bit floats that are recorded as bytes */
    uint8_t operand;      /* the first argument whose type it is computed in */
};

/* One op of a family. An op of a library for inference (vLLM, SGLang, aiter, ...) stands under
 * "serving::" once, whichever namespace it is registered in;
 * kernels of torch.compile by how their names begin, "triton_poi_*". */
struct op_rule {
    const char *op; /* "aten::mm"; stands for "aten::mm_" too */
    /* Fills `cost`, all zero but for why = NULL. False with cost->why set where it cannot. */
    bool (*count)(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule);
    int numbers[4]; /* what `count` makes of them stands with it */
};

struct flop_formula {
    const char *name;    /* "matmul" */
    const char *summary; /* one line for the docs */
    const struct op_rule *rules;
    size_t rule_count;
};

/* Reasons that many formulas share. */
extern const char why_no_formula[];
extern const char why_no_shapes[];
extern const char why_odd_shapes[];
extern const char why_no_values[];
extern const char why_list_left_out[];
extern const char why_too_large[];
extern const char why_packed_sequences[];
extern const char why_no_lengths[];
extern const char why_no_expert_sizes[];
extern const char why_sparse[];

/* Always false: `return not_counted(cost, why_odd_shapes);` */
bool not_counted(struct op_cost *cost, const char *why);

/* Likewise for an op that is no mere wrapper of those inside it. */
bool own_work_not_counted(struct op_cost *cost, const char *why);

/* COST_MATRIX of `macs` multiply-adds; `bytes` -1 where not known. Always true. */
bool matrix_cost(struct op_cost *cost, int64_t macs, int64_t bytes);

/* COST_POINTWISE, COST_MOVEMENT or COST_FREE. Always true. */
bool plain_cost(struct op_cost *cost, enum cost_kind kind, int64_t flops, int64_t bytes);

/* Bytes of all the arguments [first, first + count) that are tensors or lists of them, and of
 * `output_elements` of the type of argument `typed`. -1 where one is not known. */
struct byte_range {
    uint32_t first;
    uint32_t count;
    uint32_t typed;
    int64_t output_elements;
};
int64_t bytes_moved(const struct op_call *call, struct byte_range range);

/* Bytes of all arguments that are tensors, as of an op that is given its results, too. */
int64_t bytes_of_arguments(const struct op_call *call);

/* Are the sizes in a kernel that torch.compile wrote the same in each call? In inductor.c. */
bool generated_kernel_is_fixed(const struct op_call *call, const char *name);

/* Elements of the result of broadcasting arguments [first, first + count); those that are no
 * tensors do not matter. -1 where the shapes do not fit together or there is no tensor. */
int64_t broadcast_elements(const struct op_call *call, uint32_t first, uint32_t count);

#define RULES(array) .rules = array, .rule_count = sizeof array / sizeof array[0]

#endif
