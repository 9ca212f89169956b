/* Formulas that a user gives for ops we do not know: one line each in a text file. */
#ifndef FLOPLEDGER_COST_FLOPS_USER_FORMULA_H
#define FLOPLEDGER_COST_FLOPS_USER_FORMULA_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/flops/flop_formula.h"

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

struct user_formula {
    const char *op;
    enum cost_kind kind; /* COST_MATRIX or COST_POINTWISE */
    bool has_flops;
    bool has_bytes;
    struct formula_expression flops;
    struct formula_expression bytes;
    struct user_formula *next;
};

/* Zeroed is empty. */
struct user_formulas {
    struct user_formula *first;
    struct arena arena;
};

/* Adds the lines of `text`:
 *     # a remark
 *     my::op = 2 * in0[0] * in0[1] * in1[1]
 *     my::op bytes = 2 * elements(in0)
 *     my::gate pointwise = 3 * elements(in0)
 * A later line of an op replaces an earlier one. `name` is the file's, for messages. Errors
 * (ERROR_INPUT) name the line and column. */
MUST_USE bool user_formulas_add(struct user_formulas *formulas, const char *name, const char *text,
                                struct error *error);

/* The same from a file. */
MUST_USE bool user_formulas_read(struct user_formulas *formulas, const char *path,
                                 struct error *error);

/* NULL where there is none for `op`, or no formulas (NULL). */
const struct user_formula *user_formulas_find(const struct user_formulas *formulas, const char *op);

/* As op_rule.count. */
bool user_formula_count(struct op_cost *cost, const struct op_call *call,
                        const struct user_formula *formula);

void user_formulas_clear(struct user_formulas *formulas);

#endif
