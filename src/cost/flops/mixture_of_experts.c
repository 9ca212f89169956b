/* FLOPs of grouped matrix products: each token meets the weights of its own expert only.
 *
 * Which rows belong to which group does not matter: in all, each row (or column) is used once.
 * Rows beyond the last offset (padding) count, for the offsets' values are not in a trace.
 * Source: documentation of torch.nn.functional.grouped_mm. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* numbers[0]: index of the left matrix. Of A and B, a matrix of rank 3 has a group in front:
 * [M, K] x [G, K, N], [G, M, K] x [K, N], [M, K] x [K, N] (grouped along K), [G, M, K] x [G, K, N].
 */
static bool count_grouped_mm(struct op_cost *cost, const struct op_call *call,
                             const struct op_rule *rule)
{
    uint32_t a = (uint32_t)rule->numbers[0];
    int left = rank_of(call, a);
    int right = rank_of(call, a + 1);
    int64_t m = size_of(call, a, -2);
    int64_t k = size_of(call, a, -1);
    int64_t n = size_of(call, a + 1, -1);
    int64_t groups = left == 3 && right == 3 ? size_of(call, a, 0) : 1;
    int64_t output = times(times(m, n), groups);

    if (left < 2 || left > 3 || right < 2 || right > 3 || size_of(call, a + 1, -2) != k)
        return not_counted(cost, why_odd_shapes);
    if (left == 2 && right == 2) /* one result for each group */
        output = is_tensor(call, a + 2) ? times(output, size_of(call, a + 2, 0)) : -1;
    /* Two 4-bit numbers in an element: K as recorded is half of what is computed. */
    if (call->arguments[a].is_packed_pair)
        k = times(k, 2);
    return matrix_cost(cost, times(times(times(m, n), k), groups),
                       bytes_moved(call, (struct byte_range){a, 2, a, output < 0 ? -1 : output}));
}

static const struct op_rule rules[] = {
    {"aten::_grouped_mm", count_grouped_mm, {0}},
    {"aten::_scaled_grouped_mm", count_grouped_mm, {0}},
    {"aten::_scaled_grouped_mm_v2", count_grouped_mm, {0}},
};

const struct flop_formula mixture_of_experts_formula = {
    .name = "mixture_of_experts",
    .summary = "grouped matmuls: 2 x tokens x weights of one expert",
    RULES(rules),
};
