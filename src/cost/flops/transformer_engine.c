/* FLOPs of Transformer Engine's layers, which call their own matmuls: in a trace they are autograd
 * functions with the tensors that they were given.
 *
 * A linear layer is 2 x rows x weights. Which argument is the weight has changed with the versions,
 * but not that input [.., K] and weight [N, K] are the first two matrices that share K; both orders
 * give one product. A norm before it is not counted. The backward is given the gradient alone.
 * Source: the forward functions of transformer_engine.pytorch.module. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

static const char why_weight_in_forward[] =
    "the shape of its weight is in the trace of its forward only";

/* The first argument behind `from` that is a matrix with `k` columns; argument_count where none
 * is. */
static uint32_t next_matrix(const struct op_call *call, uint32_t from, int64_t k)
{
    uint32_t i = from;

    while (i < call->argument_count &&
           (rank_of(call, i) < 2 || (k >= 0 && size_of(call, i, -1) != k)))
        i++;
    return i;
}

/* Elements but for the last dimension. */
static int64_t rows_of(const struct op_call *call, uint32_t argument)
{
    int64_t rows = 1;

    for (int dim = -2; dim >= -rank_of(call, argument); dim--)
        rows = times(rows, size_of(call, argument, dim));
    return rows;
}

/* Input or weight, and the other. One of the two must have rank 2, the weight; which one it is
 * does not matter, see above. */
static bool count_engine_linear(struct op_cost *cost, const struct op_call *call,
                                const struct op_rule *rule)
{
    uint32_t first = next_matrix(call, 0, -1);
    int64_t k = size_of(call, first, -1);
    uint32_t second = next_matrix(call, first + 1, k);

    (void)rule;
    if (second >= call->argument_count || k < 1 ||
        (rank_of(call, first) != 2 && rank_of(call, second) != 2))
        return not_counted(cost, why_odd_shapes);
    return matrix_cost(cost, times(rows_of(call, first), elements_of(call, second)), -1);
}

/* (input [.., H], norm's weight and bias, first weight [F, H], ..., second weight [H, F / gates],
 * ...): two linear layers. */
static bool count_engine_feed_forward(struct op_cost *cost, const struct op_call *call,
                                      const struct op_rule *rule)
{
    int64_t hidden = size_of(call, 0, -1);
    uint32_t first = next_matrix(call, 1, hidden);
    uint32_t second = first + 1;

    (void)rule;
    while (second < call->argument_count &&
           (rank_of(call, second) != 2 || size_of(call, second, 0) != hidden))
        second++;
    if (hidden < 1 || second >= call->argument_count || rank_of(call, first) != 2)
        return not_counted(cost, why_odd_shapes);
    return matrix_cost(
        cost, times(rows_of(call, 0), plus(elements_of(call, first), elements_of(call, second))),
        -1);
}

/* (input [rows, K], ..., a weight [N, K] for each group, ...): each row meets one weight. */
static bool count_engine_groups(struct op_cost *cost, const struct op_call *call,
                                const struct op_rule *rule)
{
    int64_t k = size_of(call, 0, -1);
    uint32_t weight = next_matrix(call, 1, k);

    (void)rule;
    if (k < 1 || rank_of(call, weight) != 2)
        return not_counted(cost, why_odd_shapes);
    return matrix_cost(cost, times(elements_of(call, 0), size_of(call, weight, 0)), -1);
}

static bool count_engine_backward(struct op_cost *cost, const struct op_call *call,
                                  const struct op_rule *rule)
{
    (void)call;
    (void)rule;
    return own_work_not_counted(cost, why_weight_in_forward);
}

static const struct op_rule rules[] = {
    {"_Linear", count_engine_linear, {0}},
    {"_LayerNormLinear", count_engine_linear, {0}},
    {"_LayerNormMLP", count_engine_feed_forward, {0}},
    {"_GroupedLinear", count_engine_groups, {0}},
    {"_LinearBackward", count_engine_backward, {0}},
    {"_LayerNormLinearBackward", count_engine_backward, {0}},
    {"_LayerNormMLPBackward", count_engine_backward, {0}},
    {"_GroupedLinearBackward", count_engine_backward, {0}},
};

const struct flop_formula transformer_engine_formula = {
    .name = "transformer_engine",
    .summary = "Transformer Engine's linear layers: 2 x rows x weights",
    RULES(rules),
};
