/* FLOPs of matmuls under the names of libraries for inference: with scales of FP8, FP4 and integer
 * weights, or of formats that PyTorch has no product for.
 *
 * 2 M N K, whatever the weights are stored as. A weight [N, K] or [K, N] is told by its shape. Two
 * 4-bit numbers in a byte halve K as it is recorded. Bytes: all arguments, scales included, and the
 * result. Source: the definition of the product; argument lists from the schemas that vLLM, SGLang
 * and aiter register. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

enum { IS_FOUR_BIT = 1, IS_OUTPUT_GIVEN = 2 }; /* numbers[2] */

/* Columns of the product with weight `b`, whose other size is `k`; -1 where neither size is. */
static int64_t columns_of(const struct op_call *call, uint32_t b, int64_t k)
{
    if (size_of(call, b, -1) == k)
        return size_of(call, b, -2);
    return size_of(call, b, -2) == k ? size_of(call, b, -1) : -1;
}

static bool count_library_product(struct op_cost *cost, const struct op_call *call, uint32_t a,
                                  int64_t macs, int64_t output_elements)
{
    int64_t bytes = bytes_of_arguments(call);

    if (output_elements > 0) /* 16 bits, as far as no argument says otherwise */
        bytes = bytes < 0 ? -1 : plus(bytes, times(2, output_elements));
    (void)matrix_cost(cost, macs, bytes);
    cost->operand = (uint8_t)a;
    return true;
}

/* numbers: index of the left matrix [.., K], of the weight, and the flags above. Where the
 * output is an argument its size must be M N: libraries have ops of one name with other orders
 * of arguments, and a wrong order seldom fits. */
static bool count_scaled(struct op_cost *cost, const struct op_call *call,
                         const struct op_rule *rule)
{
    uint32_t a = (uint32_t)rule->numbers[0];
    uint32_t b = (uint32_t)rule->numbers[1];
    int64_t k = size_of(call, a, -1);
    int64_t n = columns_of(call, b, k);
    int64_t elements = elements_of(call, a);
    bool is_four_bit = rule->numbers[2] & IS_FOUR_BIT;
    bool is_given = rule->numbers[2] & IS_OUTPUT_GIVEN;

    if (rank_of(call, a) < 2 || rank_of(call, b) != 2 || k < 1 || n < 0)
        return not_counted(cost, why_odd_shapes);
    if (is_given && elements_of(call, 0) != times(elements / k, n))
        return not_counted(cost, why_odd_shapes);
    (void)count_library_product(cost, call, a, times(times(elements, n), is_four_bit ? 2 : 1),
                                is_given ? 0 : times(elements / k, n));
    cost->is_four_bit = is_four_bit;
    return true;
}

/* Weights packed in a format of their own: M, N and K stand as numbers, one behind the other. Which
 * arguments they are changes with the version: they are those that fit the left matrix, argument 0.
 */
static bool count_packed(struct op_cost *cost, const struct op_call *call,
                         const struct op_rule *rule)
{
    int64_t rows = size_of(call, 0, 0);
    int64_t k = size_of(call, 0, 1);

    (void)rule;
    if (rank_of(call, 0) != 2)
        return not_counted(cost, why_odd_shapes);
    for (uint32_t i = 1; i + 2 < call->argument_count; i++) {
        int64_t sizes[3];

        if (integer_value(call, i, &sizes[0]) && integer_value(call, i + 1, &sizes[1]) &&
            integer_value(call, i + 2, &sizes[2]) && sizes[0] == rows && sizes[2] == k &&
            sizes[1] > 0)
            return count_library_product(cost, call, 0, times(times(rows, k), sizes[1]),
                                         times(rows, sizes[1]));
    }
    return not_counted(cost, why_no_values);
}

/* awq_gemm(input [M, K], weight [K, N / 8], ...): eight 4-bit numbers in an integer. */
static bool count_awq(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int64_t n = times(size_of(call, 1, 1), 8);

    (void)rule;
    if (rank_of(call, 0) != 2 || rank_of(call, 1) != 2 ||
        size_of(call, 1, 0) != size_of(call, 0, 1))
        return not_counted(cost, why_odd_shapes);
    return count_library_product(cost, call, 0, times(elements_of(call, 0), n),
                                 times(size_of(call, 0, 0), n));
}

/* gptq_gemm(input [M, K], weight [K bits / 32, N], ...) K is packed by the number of bits, which
 * no argument says; the input has it as it is. */
static bool count_gptq(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int64_t n = size_of(call, 1, 1);

    (void)rule;
    if (rank_of(call, 0) != 2 || rank_of(call, 1) != 2 ||
        size_of(call, 1, 0) >= size_of(call, 0, 1))
        return not_counted(cost, why_odd_shapes);
    return count_library_product(cost, call, 0, times(elements_of(call, 0), n),
                                 times(size_of(call, 0, 0), n));
}

/* Groups of rows, each with a weight of its own: every row is used once. numbers: index of the rows
 * [M, K], flags; argument 0 is the result [M, N]. */
static bool count_grouped(struct op_cost *cost, const struct op_call *call,
                          const struct op_rule *rule)
{
    uint32_t a = (uint32_t)rule->numbers[0];
    int64_t n = size_of(call, 0, -1);
    bool is_four_bit = rule->numbers[1] & IS_FOUR_BIT;

    if (rank_of(call, a) != 2 || rank_of(call, 0) != 2 || rank_of(call, a + 1) != 3 ||
        size_of(call, 0, 0) != size_of(call, a, 0))
        return not_counted(cost, why_odd_shapes);
    (void)count_library_product(cost, call, a,
                                times(times(elements_of(call, a), n), is_four_bit ? 2 : 1), 0);
    cost->is_four_bit = is_four_bit;
    return true;
}

enum { FP4 = IS_FOUR_BIT, OUT = IS_OUTPUT_GIVEN };

static const struct op_rule rules[] = {
    {"serving::rocm_unquantized_gemm", count_scaled, {0, 1, 0}},
    {"serving::gemm_a16w16", count_scaled, {0, 1, 0}},
    {"serving::wvSplitK", count_scaled, {1, 0, 0}},
    {"serving::fp8_scaled_mm", count_scaled, {0, 1, 0}},
    {"serving::int8_scaled_mm", count_scaled, {0, 1, 0}},
    {"serving::fp8_blockwise_scaled_mm", count_scaled, {0, 1, 0}},
    {"serving::gemm_a8w8", count_scaled, {0, 1, 0}},
    {"serving::gemm_a8w8_CK", count_scaled, {0, 1, 0}},
    {"serving::gemm_a8w8_blockscale", count_scaled, {0, 1, 0}},
    {"serving::gemm_a8w8_bpreshuffle", count_scaled, {0, 1, 0}},
    {"serving::rocm_aiter_gemm_w8a8", count_scaled, {0, 1, 0}},
    {"serving::rocm_aiter_gemm_a8w8_blockscale", count_scaled, {0, 1, 0}},
    {"serving::w8a8_block_fp8_matmul_deepgemm", count_scaled, {0, 1, 0}},
    {"serving::w8a8_block_fp8_matmul_triton", count_scaled, {0, 1, 0}},
    {"serving::deep_gemm_fp8_fp8_bf16_nt", count_scaled, {0, 2, 0}},
    {"serving::gemm_a4w4", count_scaled, {0, 1, FP4}},
    {"serving::gemm_a4w4_asm", count_scaled, {0, 1, FP4}},
    {"serving::gemm_a4w4_blockscale", count_scaled, {0, 1, FP4}},
    {"serving::cutlass_scaled_mm", count_scaled, {1, 2, OUT}},
    {"serving::cutlass_scaled_mm_azp", count_scaled, {1, 2, OUT}},
    {"serving::cutlass_scaled_fp4_mm", count_scaled, {1, 2, FP4 | OUT}},
    {"serving::dsv3_fused_a_gemm", count_scaled, {1, 2, OUT}},
    {"serving::dsv3_router_gemm", count_scaled, {1, 2, OUT}},
    {"serving::marlin_gemm", count_packed, {0}},
    {"serving::gptq_marlin_gemm", count_packed, {0}},
    {"serving::awq_gemm", count_awq, {0}},
    {"serving::gptq_gemm", count_gptq, {0}},
    {"serving::cutlass_moe_mm", count_grouped, {1, 0}},
    {"serving::cutlass_fp4_group_mm", count_grouped, {1, FP4}},
};

const struct flop_formula scaled_matmul_formula = {
    .name = "scaled_matmul",
    .summary = "matmuls of libraries for inference, FP8, FP4 and packed weights: 2 M N K",
    RULES(rules),
};
