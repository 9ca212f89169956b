/* FLOPs and bytes of the fused pointwise kernels of libraries for inference: norms, gated
 * activations, rotary embeddings, quantization.
 *
 * RMS norm: square and add 2, multiply 1, scale 1 for each element; 1 more where a residual is
 * added. SiLU 4 and GELU 5, as aten's, and 1 for the gate, for each element of the result. A rotary
 * embedding turns pairs: four multiplications and two additions, 3 for each element. Quantizing
 * scales, 1, and looks for the largest before, 2, where the scale is not given. Such an op is given
 * its results: all arguments move once, twice what is changed in place.
 * Sources: Zhang and Sennrich, RMSNorm; Su et al., RoFormer; argument lists from vLLM, SGLang and
 * aiter. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* numbers: FLOPs of each element of argument 0, how many of the first arguments are changed in
 * place, how many results as large as argument 0 are returned. */
static bool count_fused_norm(struct op_cost *cost, const struct op_call *call,
                             const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 0);
    int64_t bytes = bytes_of_arguments(call);

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    for (uint32_t i = 0; bytes >= 0 && i < (uint32_t)rule->numbers[1]; i++)
        bytes = bytes_of(call, i) < 0 ? -1 : plus(bytes, bytes_of(call, i));
    if (bytes >= 0 && rule->numbers[2] > 0)
        bytes =
            bytes_of(call, 0) < 0 ? -1 : plus(bytes, times(rule->numbers[2], bytes_of(call, 0)));
    return plain_cost(cost, COST_POINTWISE, times(elements, rule->numbers[0]), bytes);
}

/* (result [.., D], input [.., 2 D], ...): numbers[0]: FLOPs of each element of the result. */
static bool count_gated(struct op_cost *cost, const struct op_call *call,
                        const struct op_rule *rule)
{
    if (elements_of(call, 0) < 0 || elements_of(call, 1) != times(2, elements_of(call, 0)))
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_POINTWISE, times(elements_of(call, 0), rule->numbers[0]),
                      bytes_of_arguments(call));
}

/* rotary_embedding(positions [T], queries [T, H D], keys, D, cosines and sines [longest, rotated],
 * ...): of each head the first `rotated` elements are turned in place. */
static bool count_rotary(struct op_cost *cost, const struct op_call *call,
                         const struct op_rule *rule)
{
    int64_t tokens = elements_of(call, 0);
    int64_t elements = elements_of(call, 1);
    int64_t rotated = size_of(call, 4, -1);
    int64_t head;
    int64_t bytes;

    (void)rule;
    if (tokens < 0 || elements < 0 || rank_of(call, 4) != 2)
        return not_counted(cost, why_odd_shapes);
    if (!integer_value(call, 3, &head))
        return not_counted(cost, why_no_values);
    if (elements_of(call, 2) > 0)
        elements = plus(elements, elements_of(call, 2));
    if (head < 1 || rotated < 1 || rotated > head || elements == TOO_LARGE)
        return not_counted(cost, why_odd_shapes);
    elements = times(elements / head, rotated);
    bytes = plus(times(times(2, elements), call->arguments[1].element_bytes),
                 times(times(tokens, rotated), call->arguments[4].element_bytes));
    if (call->arguments[1].element_bytes == 0 || bytes_of(call, 0) < 0)
        return plain_cost(cost, COST_POINTWISE, times(3, elements), -1);
    return plain_cost(cost, COST_POINTWISE, times(3, elements), plus(bytes, bytes_of(call, 0)));
}

/* numbers: FLOPs of each element, index of what is quantized. */
static bool count_quantization(struct op_cost *cost, const struct op_call *call,
                               const struct op_rule *rule)
{
    int64_t elements = elements_of(call, (uint32_t)rule->numbers[1]);

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_POINTWISE, times(elements, rule->numbers[0]),
                      bytes_of_arguments(call));
}

static const struct op_rule rules[] = {
    {"serving::rms_norm", count_fused_norm, {4, 0, 0}},
    {"serving::rmsnorm", count_fused_norm, {4, 0, 0}},
    {"serving::gemma_rmsnorm", count_fused_norm, {5, 0, 0}},
    {"serving::fused_add_rms_norm", count_fused_norm, {5, 2, 0}},
    {"serving::fused_add_rmsnorm", count_fused_norm, {5, 2, 0}},
    {"serving::gemma_fused_add_rmsnorm", count_fused_norm, {6, 2, 0}},
    {"serving::add_rmsnorm", count_fused_norm, {5, 0, 0}},
    {"serving::rmsnorm2d_fwd", count_fused_norm, {4, 0, 1}},
    {"serving::rmsnorm2d_fwd_with_add", count_fused_norm, {5, 0, 0}},
    {"serving::rmsnorm2d_fwd_with_add_ck", count_fused_norm, {5, 0, 0}},
    {"serving::rocm_aiter_rms_norm", count_fused_norm, {4, 0, 1}},
    {"serving::rocm_aiter_rmsnorm2d_fwd_with_add", count_fused_norm, {5, 0, 2}},
    {"serving::rms_norm_static_fp8_quant", count_fused_norm, {5, 0, 0}},
    {"serving::rms_norm_dynamic_per_token_quant", count_fused_norm, {7, 0, 0}},
    {"aiter::rms_norm", count_fused_norm, {4, 0, 1}},
    {"aiter::_groupnorm_run", count_fused_norm, {7, 0, 1}},
    {"serving::silu_and_mul", count_gated, {5}},
    {"serving::mul_and_silu", count_gated, {5}},
    {"serving::gelu_and_mul", count_gated, {6}},
    {"serving::gelu_tanh_and_mul", count_gated, {6}},
    {"serving::silu_and_mul_quant", count_gated, {6}},
    {"serving::rotary_embedding", count_rotary, {0}},
    {"serving::static_scaled_fp8_quant", count_quantization, {1, 1}},
    {"serving::static_scaled_int8_quant", count_quantization, {1, 1}},
    {"serving::dynamic_scaled_fp8_quant", count_quantization, {3, 1}},
    {"serving::dynamic_per_token_scaled_fp8_quant", count_quantization, {3, 1}},
    {"serving::dynamic_scaled_int8_quant", count_quantization, {3, 1}},
    {"serving::dynamic_per_token_scaled_quant", count_quantization, {3, 1}},
    {"serving::static_per_tensor_quant", count_quantization, {1, 1}},
    {"serving::dynamic_per_tensor_quant", count_quantization, {3, 1}},
    {"serving::scaled_fp4_quant", count_quantization, {3, 1}},
    {"serving::per_token_group_fp8_quant", count_quantization, {3, 0}},
    {"serving::per_token_group_quant_int8", count_quantization, {3, 0}},
    {"serving::sgl_per_token_group_quant_fp8", count_quantization, {3, 0}},
    {"serving::sgl_per_token_group_quant_int8", count_quantization, {3, 0}},
    {"serving::sgl_per_token_group_quant_8bit", count_quantization, {3, 0}},
    {"serving::sgl_per_tensor_quant_fp8", count_quantization, {3, 0}},
    {"serving::sgl_per_token_quant_fp8", count_quantization, {3, 0}},
};

const struct flop_formula fused_pointwise_formula = {
    .name = "fused_pointwise",
    .summary = "fused norms, gated activations, rotary embeddings, quantization",
    RULES(rules),
};
