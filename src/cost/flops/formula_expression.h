/* Arithmetic over the sizes of an op's arguments, as users write it:
 * "2 * in0[0] * in0[1] * in1[-1]". */
#ifndef FLOPLEDGER_COST_FLOPS_FORMULA_EXPRESSION_H
#define FLOPLEDGER_COST_FLOPS_FORMULA_EXPRESSION_H

#include "base/core/attributes.h"
#include "cost/flops/op_call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPRESSION_STEPS_MAX = 128 };

enum step_kind {
    STEP_NUMBER,
    STEP_SIZE,     /* in2[-1] */
    STEP_ELEMENTS, /* elements(in2) */
    STEP_RANK,     /* rank(in2) */
    STEP_VALUE,    /* value(2): the number given; 1 and 0 for True and False */
    STEP_ADD,
    STEP_SUBTRACT,
    STEP_MULTIPLY,
    STEP_DIVIDE, /* rounded down */
    STEP_SMALLER,
    STEP_LARGER,
};

struct expression_step {
    enum step_kind kind;
    uint32_t argument;
    int64_t number; /* or the dimension */
};

/* In reverse Polish order. */
struct formula_expression {
    struct expression_step steps[EXPRESSION_STEPS_MAX];
    uint32_t count;
};

/* What is wrong with a text, and where. */
struct expression_problem {
    size_t column; /* from 0 */
    const char *expected;
};

/* `text` is `length` bytes. */
MUST_USE bool expression_compile(struct formula_expression *expression, const char *text,
                                 size_t length, struct expression_problem *problem);

/* False where the call lacks an argument, a value is no number, or a division is by 0; `result` may
 * be TOO_LARGE, and is 0 where it would be negative. */
MUST_USE bool expression_evaluate(const struct formula_expression *expression,
                                  const struct op_call *call, int64_t *result);

#endif
