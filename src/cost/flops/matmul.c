/* FLOPs of matrix products: one multiply-add for each of the M x N x K combinations.
 *
 * The bias or accumulated matrix of addmm and the like is not counted, as in torch's own
 * FlopCounterMode. Source: the definition of the product. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* numbers[0]: index of the left matrix; the right one is the next. */

static bool count_bytes_and_macs(struct op_cost *cost, const struct op_call *call, int64_t macs,
                                 struct byte_range range)
{
    return matrix_cost(cost, macs, bytes_moved(call, range));
}

/* [M, K] x [K, N] */
static bool count_mm(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    uint32_t a = (uint32_t)rule->numbers[0];
    int64_t m = size_of(call, a, 0);
    int64_t k = size_of(call, a, 1);
    int64_t n = size_of(call, a + 1, 1);

    if (rank_of(call, a) != 2 || rank_of(call, a + 1) != 2 || size_of(call, a + 1, 0) != k)
        return not_counted(cost, why_odd_shapes);
    if (call->arguments[a].is_packed_pair) /* two 4-bit numbers in each element */
        k = times(k, 2);
    return count_bytes_and_macs(cost, call, times(times(m, n), k),
                                (struct byte_range){0, a + 2, a, times(m, n)});
}

/* [B, M, K] x [B, K, N]; with numbers[1]: summed over B, so that the result is [M, N]. */
static bool count_bmm(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    uint32_t a = (uint32_t)rule->numbers[0];
    int64_t batch = size_of(call, a, 0);
    int64_t m = size_of(call, a, 1);
    int64_t k = size_of(call, a, 2);
    int64_t n = size_of(call, a + 1, 2);
    int64_t output = times(m, n);

    if (rank_of(call, a) != 3 || rank_of(call, a + 1) != 3 || size_of(call, a + 1, 0) != batch ||
        size_of(call, a + 1, 1) != k)
        return not_counted(cost, why_odd_shapes);
    if (rule->numbers[1] == 0)
        output = times(output, batch);
    return count_bytes_and_macs(cost, call, times(times(times(m, n), k), batch),
                                (struct byte_range){0, a + 2, a, output});
}

/* [M, K] x [K] */
static bool count_mv(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    uint32_t a = (uint32_t)rule->numbers[0];
    int64_t m = size_of(call, a, 0);
    int64_t k = size_of(call, a, 1);

    if (rank_of(call, a) != 2 || rank_of(call, a + 1) != 1 || size_of(call, a + 1, 0) != k)
        return not_counted(cost, why_odd_shapes);
    return count_bytes_and_macs(cost, call, times(m, k), (struct byte_range){0, a + 2, a, m});
}

/* [K] x [K] */
static bool count_dot(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int64_t k = size_of(call, 0, 0);

    (void)rule;
    if (rank_of(call, 0) != 1 || rank_of(call, 1) != 1 || size_of(call, 1, 0) != k)
        return not_counted(cost, why_odd_shapes);
    return count_bytes_and_macs(cost, call, k, (struct byte_range){0, 2, 0, 1});
}

/* [M] x [N], each with each; numbers[0]: index of the left vector. */
static bool count_outer(struct op_cost *cost, const struct op_call *call,
                        const struct op_rule *rule)
{
    uint32_t a = (uint32_t)rule->numbers[0];
    int64_t m = size_of(call, a, 0);
    int64_t n = size_of(call, a + 1, 0);

    if (rank_of(call, a) != 1 || rank_of(call, a + 1) != 1)
        return not_counted(cost, why_odd_shapes);
    return count_bytes_and_macs(cost, call, times(m, n),
                                (struct byte_range){0, a + 2, a, times(m, n)});
}

/* input [..., K], weight [N, K]; numbers[0]: index of the weight. elements / k rows meet n
 * columns of k each: elements * n multiply-adds, whatever the dimensions before the last. */
static bool count_linear(struct op_cost *cost, const struct op_call *call,
                         const struct op_rule *rule)
{
    uint32_t weight = (uint32_t)rule->numbers[0];
    int64_t k = size_of(call, 0, -1);
    int64_t n = rank_of(call, weight) == 1 ? 1 : size_of(call, weight, 0);
    int64_t elements = elements_of(call, 0);

    if (elements < 0 || k < 0 || rank_of(call, weight) < 1 || rank_of(call, weight) > 2 ||
        size_of(call, weight, -1) != k)
        return not_counted(cost, why_odd_shapes);
    return count_bytes_and_macs(
        cost, call, times(elements, n),
        (struct byte_range){0, weight + 2, 0, k == 0 ? -1 : times(elements / k, n)});
}

/* The product of the batch dimensions of both, broadcast; -1 where they do not fit. */
static int64_t batch_elements(const struct op_call *call, int dims)
{
    int64_t elements = 1;

    for (int i = 0; i < dims; i++) {
        int64_t a = size_of(call, 0, -3 - i);
        int64_t b = size_of(call, 1, -3 - i);

        if (a > 1 && b > 1 && a != b)
            return -1;
        if (a == 0 || b == 0)
            return 0;
        elements = times(elements, a > b ? a : b);
    }
    return elements;
}

/* As torch.matmul: vectors get a dimension of 1, the dimensions before the last two broadcast. */
static bool count_matmul(struct op_cost *cost, const struct op_call *call,
                         const struct op_rule *rule)
{
    int a = rank_of(call, 0);
    int b = rank_of(call, 1);
    int64_t m = a == 1 ? 1 : size_of(call, 0, -2);
    int64_t k = size_of(call, 0, -1);
    int64_t n = b == 1 ? 1 : size_of(call, 1, -1);
    int64_t batch;

    (void)rule;
    if (a < 1 || b < 1 || size_of(call, 1, b == 1 ? 0 : -2) != k)
        return not_counted(cost, why_odd_shapes);
    batch = batch_elements(call, (a > b ? a : b) - 2);
    if (batch < 0)
        return not_counted(cost, why_odd_shapes);
    return count_bytes_and_macs(cost, call, times(times(times(m, n), k), batch),
                                (struct byte_range){0, 2, 0, times(times(m, n), batch)});
}

/* input [M, K], weight packed (int4), scales and zeros [K / group, N, 2]. */
static bool count_int4pack(struct op_cost *cost, const struct op_call *call,
                           const struct op_rule *rule)
{
    int64_t m = size_of(call, 0, 0);
    int64_t k = size_of(call, 0, 1);
    /* The packed weight's own shape depends on the layout that the kernel wants; the scales
     * say N. */
    int64_t n = size_of(call, 3, 1);

    (void)rule;
    if (rank_of(call, 0) != 2 || rank_of(call, 3) != 3)
        return not_counted(cost, why_odd_shapes);
    return count_bytes_and_macs(cost, call, times(times(m, n), k),
                                (struct byte_range){0, 4, 0, times(m, n)});
}

static const struct op_rule rules[] = {
    {"aten::mm", count_mm, {0}},
    {"aten::addmm", count_mm, {1}},
    {"aten::_addmm_activation", count_mm, {1}},
    {"aten::_scaled_mm", count_mm, {0}},
    {"aten::_scaled_mm_v2", count_mm, {0}},
    {"aten::_int_mm", count_mm, {0}},
    {"aten::bmm", count_bmm, {0}},
    {"aten::baddbmm", count_bmm, {1}},
    {"aten::addbmm", count_bmm, {1, 1}},
    {"aten::mv", count_mv, {0}},
    {"aten::addmv", count_mv, {1}},
    {"aten::dot", count_dot, {0}},
    {"aten::vdot", count_dot, {0}},
    {"aten::addr", count_outer, {1}},
    {"aten::matmul", count_matmul, {0}},
    {"aten::linear", count_linear, {1}},
    {"aten::_weight_int8pack_mm", count_linear, {1}},
    {"aten::_weight_int4pack_mm", count_int4pack, {0}},
    {"aten::_weight_int4pack_mm_for_cpu", count_int4pack, {0}},
    {"aten::mkldnn_linear", count_linear, {1}},
    {"mkl::_mkl_linear", count_linear, {2}}, /* argument 1 is packed, 2 as it was */
    {"mkldnn::_linear_pointwise", count_linear, {1}},
    {"fbgemm::f8f8bf16_rowwise", count_linear, {1}},
};

const struct flop_formula matmul_formula = {
    .name = "matmul",
    .summary = "matmuls: 2 M N K",
    RULES(rules),
};
