/* What one call of an op costs: the look-up in the table of formulas. */
#ifndef FLOPLEDGER_COST_FLOPS_COUNT_FLOPS_H
#define FLOPLEDGER_COST_FLOPS_COUNT_FLOPS_H

#include "cost/flops/flop_formula.h"
#include "cost/flops/op_call.h"

#include <stddef.h>

struct user_formulas; /* cost/flops/user_formula.h */

/* The cost of `call`. `user` (may be NULL) goes before the built-in formulas. */
struct op_cost count_flops(const struct op_call *call, const struct user_formulas *user);

/* The same from texts as a trace writes them; `call` only lends its memory. */
struct op_cost count_flops_of_text(struct op_call *call, const struct op_call_text *text,
                                   const struct user_formulas *user);

/* Of "rmsnorm_109", as SGLang's profiler names functions and inductor its nodes, that of "rmsnorm".
 */
size_t length_without_number(const char *name);

/* NULL where no family knows the op. Names that end in an underscore (in place) are those
 * without. */
const struct op_rule *find_op_rule(const char *op);

/* NULL-terminated, in the order of list.def. */
const struct flop_formula *const *all_flop_formulas(void);

#endif
