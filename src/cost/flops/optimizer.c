/* FLOPs and bytes of optimizer steps over lists of tensors: foreach ops and fused optimizers.
 *
 * Foreach ops: as their elementwise sisters. Fused: for each parameter, the steps of the update as
 * the documentation of torch.optim writes it (a root or division is one), without what happens
 * once for each tensor. Adam: two moving averages 3 and 4, two bias corrections 2, root, epsilon,
 * division, step 4, weight decay 2: 15. SGD with momentum: decay 2, momentum 3, step 2: 7. Adagrad:
 * 8. Bytes: lists given are read; parameters and states are written. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* All lists read and the first `written` of them written. */
static int64_t list_bytes(const struct op_call *call, uint32_t lists, uint32_t written)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < lists; i++) {
        int64_t more = bytes_of(call, i);

        if (elements_of(call, i) < 0)
            continue; /* no such state */
        if (more < 0)
            return -1;
        bytes = plus(bytes, i < written ? times(more, 2) : more);
    }
    return bytes;
}

/* numbers: FLOPs of each element, how many arguments may be lists of tensors. By elements of the
 * first list, which is what is updated; a list left out by torch (more than 30 tensors) is told
 * as such and not counted as empty. */
static bool count_foreach(struct op_cost *cost, const struct op_call *call,
                          const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 0);

    if (call->argument_count == 0 || call->arguments[0].kind != ARGUMENT_TENSOR_LIST)
        return not_counted(cost, why_odd_shapes);
    if (elements < 0)
        return not_counted(cost, why_list_left_out);
    return plain_cost(cost, rule->numbers[0] ? COST_POINTWISE : COST_MOVEMENT,
                      times(elements, rule->numbers[0]),
                      list_bytes(call, (uint32_t)rule->numbers[1], 1));
}

/* numbers: FLOPs of each element, lists in all (parameters, gradients, states), without the list of
 * step counters. The gradients (list 1) are only read. */
static bool count_fused(struct op_cost *cost, const struct op_call *call,
                        const struct op_rule *rule)
{
    uint32_t lists = (uint32_t)rule->numbers[1];
    int64_t elements = elements_of(call, 0);
    int64_t bytes;

    if (elements < 0)
        return not_counted(cost, why_list_left_out);
    bytes = list_bytes(call, lists, lists);
    if (bytes >= 0 && bytes_of(call, 1) >= 0)
        bytes -= bytes_of(call, 1);
    return plain_cost(cost, COST_POINTWISE, times(elements, rule->numbers[0]), bytes);
}

static const struct op_rule rules[] = {
    {"aten::_foreach_add", count_foreach, {1, 2}},
    {"aten::_foreach_sub", count_foreach, {1, 2}},
    {"aten::_foreach_mul", count_foreach, {1, 2}},
    {"aten::_foreach_div", count_foreach, {1, 2}},
    {"aten::_foreach_addcmul", count_foreach, {3, 3}},
    {"aten::_foreach_addcdiv", count_foreach, {3, 3}},
    {"aten::_foreach_lerp", count_foreach, {2, 2}},
    {"aten::_foreach_sqrt", count_foreach, {1, 1}},
    {"aten::_foreach_rsqrt", count_foreach, {1, 1}},
    {"aten::_foreach_pow", count_foreach, {1, 2}},
    {"aten::_foreach_neg", count_foreach, {1, 1}},
    {"aten::_foreach_abs", count_foreach, {1, 1}},
    {"aten::_foreach_exp", count_foreach, {1, 1}},
    {"aten::_foreach_log", count_foreach, {1, 1}},
    {"aten::_foreach_sign", count_foreach, {1, 1}},
    {"aten::_foreach_reciprocal", count_foreach, {1, 1}},
    {"aten::_foreach_maximum", count_foreach, {1, 2}},
    {"aten::_foreach_minimum", count_foreach, {1, 2}},
    {"aten::_foreach_clamp_min", count_foreach, {1, 2}},
    {"aten::_foreach_clamp_max", count_foreach, {1, 2}},
    {"aten::_foreach_norm", count_foreach, {2, 1}},
    {"aten::_foreach_max", count_foreach, {1, 1}},
    {"aten::_foreach_tan", count_foreach, {1, 1}},
    {"aten::_foreach_sin", count_foreach, {1, 1}},
    {"aten::_foreach_cos", count_foreach, {1, 1}},
    {"aten::_foreach_tanh", count_foreach, {1, 1}},
    {"aten::_foreach_asin", count_foreach, {1, 1}},
    {"aten::_foreach_acos", count_foreach, {1, 1}},
    {"aten::_foreach_atan", count_foreach, {1, 1}},
    {"aten::_foreach_sinh", count_foreach, {1, 1}},
    {"aten::_foreach_cosh", count_foreach, {1, 1}},
    {"aten::_foreach_ceil", count_foreach, {1, 1}},
    {"aten::_foreach_floor", count_foreach, {1, 1}},
    {"aten::_foreach_round", count_foreach, {1, 1}},
    {"aten::_foreach_trunc", count_foreach, {1, 1}},
    {"aten::_foreach_frac", count_foreach, {1, 1}},
    {"aten::_foreach_erf", count_foreach, {1, 1}},
    {"aten::_foreach_erfc", count_foreach, {1, 1}},
    {"aten::_foreach_expm1", count_foreach, {1, 1}},
    {"aten::_foreach_log10", count_foreach, {1, 1}},
    {"aten::_foreach_log1p", count_foreach, {1, 1}},
    {"aten::_foreach_log2", count_foreach, {1, 1}},
    {"aten::_foreach_lgamma", count_foreach, {1, 1}},
    {"aten::_foreach_sigmoid", count_foreach, {3, 1}},
    {"aten::_foreach_powsum", count_foreach, {2, 1}},
    {"aten::_foreach_copy", count_foreach, {0, 2}},
    {"aten::_foreach_zero", count_foreach, {0, 1}},
    {"aten::_amp_foreach_non_finite_check_and_unscale", count_foreach, {2, 1}},
    {"aten::_fused_adam", count_fused, {15, 5}},
    {"aten::_fused_adamw", count_fused, {15, 5}},
    {"aten::_fused_sgd", count_fused, {7, 3}},
    {"aten::_fused_adagrad", count_fused, {8, 3}},
};

const struct flop_formula optimizer_formula = {
    .name = "optimizer",
    .summary = "foreach ops and fused optimizers: a fixed number for each parameter",
    RULES(rules),
};
