/* FLOPs of softmax and of the losses built on it, for each element of the input.
 *
 * Softmax: maximum, subtract, exponential, add, divide: 5; its logarithm: maximum, subtract,
 * exponential, add, subtract: 5. Backward of softmax: multiply, add, subtract, multiply: 4; of its
 * logarithm: add, exponential, multiply, subtract: 4. An exponential counts as one. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* numbers: FLOPs of each element, how many tensors are read. */
static bool count_softmax(struct op_cost *cost, const struct op_call *call,
                          const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 0);

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(
        cost, COST_POINTWISE, times(elements, rule->numbers[0]),
        bytes_moved(call, (struct byte_range){0, (uint32_t)rule->numbers[1], 0, elements}));
}

/* nll_loss(log probabilities [N, C], target [N]): picks one of each row and adds. */
static bool count_nll(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int64_t rows = elements_of(call, (uint32_t)rule->numbers[0]);

    if (rows < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_POINTWISE, rows, -1);
}

static const struct op_rule rules[] = {
    {"aten::softmax", count_softmax, {5, 1}},
    {"aten::_softmax", count_softmax, {5, 1}},
    {"aten::_safe_softmax", count_softmax, {5, 1}},
    {"aten::log_softmax", count_softmax, {5, 1}},
    {"aten::_log_softmax", count_softmax, {5, 1}},
    {"aten::_masked_softmax", count_softmax, {5, 2}},
    {"aten::_softmax_backward_data", count_softmax, {4, 2}},
    {"aten::_log_softmax_backward_data", count_softmax, {4, 2}},
    {"aten::_masked_softmax_backward", count_softmax, {4, 3}},
    {"aten::nll_loss_forward", count_nll, {1}},
    {"aten::nll_loss2d_forward", count_nll, {1}},
    {"aten::nll_loss_backward", count_nll, {2}},
    {"aten::nll_loss2d_backward", count_nll, {2}},
};

const struct flop_formula softmax_formula = {
    .name = "softmax",
    .summary = "softmax 5, its backward 4 for each element",
    RULES(rules),
};
