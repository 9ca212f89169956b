/* Embeddings move rows and compute nothing; the sums of a bag and of a gradient add one number for
 * each element of a row. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* embedding(weight [V, D], indices): reads and writes one row for each index. */
static bool count_embedding(struct op_cost *cost, const struct op_call *call,
                            const struct op_rule *rule)
{
    int64_t rows = elements_of(call, 1);
    int64_t width = size_of(call, 0, 1);
    int64_t row_bytes;

    (void)rule;
    if (rank_of(call, 0) != 2 || rows < 0)
        return not_counted(cost, why_odd_shapes);
    row_bytes = times(width, call->arguments[0].element_bytes);
    if (row_bytes == 0 || bytes_of(call, 1) < 0)
        return plain_cost(cost, COST_MOVEMENT, 0, -1);
    return plain_cost(cost, COST_MOVEMENT, 0,
                      plus(times(times(rows, row_bytes), 2), bytes_of(call, 1)));
}

/* _embedding_bag(weight, indices, offsets): the rows of a bag are added up. */
static bool count_bag(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int64_t rows = elements_of(call, 1);
    int64_t elements = times(rows, size_of(call, 0, 1));

    (void)rule;
    if (rank_of(call, 0) != 2 || rows < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_POINTWISE, elements,
                      plus(times(elements, call->arguments[0].element_bytes), bytes_of(call, 1)));
}

/* embedding_dense_backward(grad, indices, num_weights, ...): each row of the gradient is added to a
 * row of the result, which is written once. */
static bool embedding_count_backward(struct op_cost *cost, const struct op_call *call,
                                     const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 0);
    int64_t width = size_of(call, 0, -1);
    int64_t vocabulary;

    (void)rule;
    if (elements < 0 || width < 0)
        return not_counted(cost, why_odd_shapes);
    if (!integer_value(call, 2, &vocabulary) || vocabulary < 0)
        return plain_cost(cost, COST_POINTWISE, elements, -1);
    return plain_cost(cost, COST_POINTWISE, elements,
                      bytes_moved(call, (struct byte_range){0, 2, 0, times(vocabulary, width)}));
}

/* _embedding_bag_backward(grad [bags, width], indices, ...): for each index a row is added. */
static bool count_bag_backward(struct op_cost *cost, const struct op_call *call,
                               const struct op_rule *rule)
{
    int64_t rows = elements_of(call, 1);

    (void)rule;
    if (rank_of(call, 0) != 2 || rows < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_POINTWISE, times(rows, size_of(call, 0, 1)), -1);
}

static const struct op_rule rules[] = {
    {"aten::embedding", count_embedding, {0}},
    {"aten::_embedding_bag", count_bag, {0}},
    {"aten::_embedding_bag_forward_only", count_bag, {0}},
    {"aten::_embedding_bag_backward", count_bag_backward, {0}},
    {"aten::_embedding_bag_dense_backward", count_bag_backward, {0}},
    {"aten::embedding_dense_backward", embedding_count_backward, {0}},
};

const struct flop_formula embedding_formula = {
    .name = "embedding",
    .summary = "embeddings: bytes; their gradients: one addition for each element",
    RULES(rules),
};
