/* FLOPs of elementwise ops, for each element of the (broadcast) result.
 *
 * Each addition, multiplication, division, comparison, root and each call of a transcendental
 * function (exp, log, tanh, erf, ...) counts as one; activations as the steps they are made of (a
 * sigmoid: exp, add, divide; GELU: erf, two multiplications, one addition, one scaling). DeepSpeed
 * counts every activation as one. Bytes: all inputs read, the result written. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

enum { IS_TRUTH = 1 }; /* numbers[1]: the result is of truth values, one byte each */

/* numbers: FLOPs of each element, IS_TRUTH or 0, how many arguments count (0: all). By the
 * broadcast shape, which is the result's: recorded inputs are smaller than it where one is
 * broadcast. */
static bool count_elementwise(struct op_cost *cost, const struct op_call *call,
                              const struct op_rule *rule)
{
    uint32_t arguments = rule->numbers[2] ? (uint32_t)rule->numbers[2] : call->argument_count;
    int64_t elements = broadcast_elements(call, 0, arguments);
    struct byte_range range = {0, arguments, 0, elements};
    int64_t bytes;

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    if (rule->numbers[1] == IS_TRUTH)
        range.output_elements = 0;
    bytes = bytes_moved(call, range);
    if (bytes >= 0 && rule->numbers[1] == IS_TRUTH)
        bytes = plus(bytes, elements);
    return plain_cost(cost, COST_POINTWISE, times(elements, rule->numbers[0]), bytes);
}

/* Gates [N, g h] of a fused cell: numbers[0]: index of the gates, numbers[1]: FLOPs of each. */
static bool count_cell(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int64_t elements = elements_of(call, (uint32_t)rule->numbers[0]);

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(
        cost, COST_POINTWISE, times(elements, rule->numbers[1]),
        bytes_moved(call, (struct byte_range){0, call->argument_count, 0, elements / 2}));
}

/* a [P, M], b [R, M]; numbers[0]: index of a. numbers[1] for each pair and dimension: subtract,
 * power, add; in the backward once more times the gradient. */
static bool count_distances(struct op_cost *cost, const struct op_call *call,
                            const struct op_rule *rule)
{
    uint32_t a = (uint32_t)rule->numbers[0];
    int64_t rows = size_of(call, a + 1, -2);

    if (rank_of(call, a) < 2 || rank_of(call, a + 1) < 2)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_POINTWISE,
                      times(times(elements_of(call, a), rows), rule->numbers[1]), -1);
}

#define EACH(flops, op)        \
    {                          \
        op, count_elementwise, \
        {                      \
            flops, 0           \
        }                      \
    }
#define TRUTH(flops, op)       \
    {                          \
        op, count_elementwise, \
        {                      \
            flops, IS_TRUTH    \
        }                      \
    }

static const struct op_rule rules[] = {
    EACH(1, "aten::add"),
    EACH(1, "aten::sub"),
    EACH(1, "aten::rsub"),
    EACH(1, "aten::mul"),
    EACH(1, "aten::div"),
    EACH(1, "aten::true_divide"),
    EACH(1, "aten::floor_divide"),
    EACH(1, "aten::remainder"),
    EACH(1, "aten::fmod"),
    EACH(1, "aten::pow"),
    EACH(1, "aten::square"),
    EACH(1, "aten::neg"),
    EACH(1, "aten::abs"),
    EACH(1, "aten::sign"),
    EACH(1, "aten::reciprocal"),
    EACH(1, "aten::sqrt"),
    EACH(1, "aten::rsqrt"),
    EACH(1, "aten::exp"),
    EACH(1, "aten::exp2"),
    EACH(1, "aten::expm1"),
    EACH(1, "aten::log"),
    EACH(1, "aten::log2"),
    EACH(1, "aten::log10"),
    EACH(1, "aten::log1p"),
    EACH(1, "aten::sin"),
    EACH(1, "aten::cos"),
    EACH(1, "aten::tan"),
    EACH(1, "aten::atan"),
    EACH(1, "aten::atan2"),
    EACH(1, "aten::tanh"),
    EACH(1, "aten::erf"),
    EACH(1, "aten::erfc"),
    EACH(1, "aten::erfinv"),
    EACH(1, "aten::floor"),
    EACH(1, "aten::ceil"),
    EACH(1, "aten::round"),
    EACH(1, "aten::trunc"),
    EACH(1, "aten::maximum"),
    EACH(1, "aten::minimum"),
    EACH(1, "aten::clamp_min"),
    EACH(1, "aten::clamp_max"),
    EACH(2, "aten::clamp"),
    EACH(2, "aten::lerp"),
    EACH(3, "aten::addcmul"),
    EACH(3, "aten::addcdiv"),
    EACH(1, "aten::masked_fill"),
    EACH(1, "aten::where"),
    EACH(1, "aten::nan_to_num"),
    EACH(1, "aten::tril"),
    EACH(1, "aten::triu"),
    EACH(3, "aten::sigmoid"),
    EACH(3, "aten::logit"),
    EACH(3, "aten::xlogy"),
    EACH(2, "aten::sigmoid_backward"),
    EACH(2, "aten::tanh_backward"),
    EACH(1, "aten::relu"),
    EACH(2, "aten::relu6"),
    EACH(2, "aten::hardtanh"),
    EACH(2, "aten::leaky_relu"),
    EACH(3, "aten::elu"),
    EACH(2, "aten::prelu"),
    EACH(2, "aten::_prelu_kernel"),
    EACH(3, "aten::softplus"),
    EACH(4, "aten::silu"),
    EACH(4, "aten::mish"),
    EACH(5, "aten::gelu"),
    EACH(4, "aten::hardswish"),
    EACH(3, "aten::hardsigmoid"),
    EACH(3, "aten::log_sigmoid_forward"),
    EACH(4, "aten::glu"),
    EACH(1, "aten::threshold"),
    EACH(1, "aten::threshold_backward"),
    EACH(2, "aten::hardtanh_backward"),
    EACH(2, "aten::leaky_relu_backward"),
    EACH(3, "aten::elu_backward"),
    EACH(3, "aten::softplus_backward"),
    EACH(8, "aten::silu_backward"),
    EACH(10, "aten::gelu_backward"),
    EACH(4, "aten::hardswish_backward"),
    EACH(2, "aten::hardsigmoid_backward"),
    EACH(8, "aten::mish_backward"),
    EACH(4, "aten::log_sigmoid_backward"),
    EACH(2, "aten::native_dropout"),
    EACH(2, "aten::native_dropout_backward"),
    EACH(2, "aten::_fused_dropout"),
    EACH(2, "aten::masked_scale"),
    EACH(2, "aten::mse_loss"),
    EACH(2, "aten::mse_loss_backward"),
    EACH(3, "aten::smooth_l1_loss"),
    EACH(3, "aten::smooth_l1_loss_backward"),
    EACH(3, "aten::huber_loss"),
    EACH(3, "aten::huber_loss_backward"),
    EACH(6, "aten::binary_cross_entropy"),
    EACH(6, "aten::binary_cross_entropy_backward"),
    EACH(1, "aten::bitwise_and"),
    EACH(1, "aten::bitwise_or"),
    EACH(1, "aten::bitwise_xor"),
    EACH(1, "aten::bitwise_not"),
    EACH(1, "aten::__and__"),
    EACH(1, "aten::__or__"),
    EACH(1, "aten::__lshift__"),
    EACH(1, "aten::__rshift__"),
    TRUTH(1, "aten::eq"),
    TRUTH(1, "aten::ne"),
    TRUTH(1, "aten::lt"),
    TRUTH(1, "aten::le"),
    TRUTH(1, "aten::gt"),
    TRUTH(1, "aten::ge"),
    TRUTH(1, "aten::isnan"),
    TRUTH(1, "aten::isinf"),
    TRUTH(1, "aten::isfinite"),
    TRUTH(1, "aten::isneginf"),
    TRUTH(1, "aten::isposinf"),
    TRUTH(1, "aten::logical_and"),
    TRUTH(1, "aten::logical_or"),
    TRUTH(1, "aten::logical_xor"),
    TRUTH(1, "aten::logical_not"),
    EACH(1, "aten::bernoulli"),
    EACH(1, "aten::uniform"),
    EACH(1, "aten::normal"),
    EACH(1, "aten::random"),
    EACH(1, "aten::exponential"),
    EACH(1, "aten::asin"),
    EACH(1, "aten::acos"),
    EACH(1, "aten::acosh"),
    EACH(1, "aten::asinh"),
    EACH(1, "aten::atanh"),
    EACH(1, "aten::sinh"),
    EACH(1, "aten::cosh"),
    EACH(1, "aten::lgamma"),
    EACH(1, "aten::digamma"),
    EACH(1, "aten::polygamma"),
    EACH(1, "aten::igamma"),
    EACH(1, "aten::igammac"),
    EACH(1, "aten::mvlgamma"),
    EACH(1, "aten::i0"),
    EACH(1, "aten::sinc"),
    EACH(1, "aten::sgn"),
    EACH(1, "aten::frac"),
    EACH(1, "aten::deg2rad"),
    EACH(1, "aten::rad2deg"),
    EACH(1, "aten::angle"),
    EACH(1, "aten::hypot"),
    EACH(1, "aten::copysign"),
    EACH(1, "aten::nextafter"),
    EACH(1, "aten::ldexp"),
    EACH(1, "aten::frexp"),
    EACH(1, "aten::gcd"),
    EACH(1, "aten::lcm"),
    EACH(1, "aten::heaviside"),
    EACH(1, "aten::fmin"),
    EACH(1, "aten::fmax"),
    EACH(1, "aten::complex"),
    EACH(1, "aten::polar"),
    EACH(1, "aten::conj_physical"),
    EACH(1, "aten::_conj_physical"),
    EACH(1, "aten::bitwise_left_shift"),
    EACH(1, "aten::bitwise_right_shift"),
    EACH(1, "aten::__ilshift__"),
    EACH(1, "aten::__irshift__"),
    EACH(1, "aten::hardshrink"),
    EACH(1, "aten::hardshrink_backward"),
    EACH(1, "aten::softshrink_backward"),
    EACH(1, "aten::renorm"),
    EACH(1, "aten::isin"),
    EACH(1, "aten::_masked_scale"),
    EACH(1, "aten::log_normal"),
    EACH(1, "aten::cauchy"),
    EACH(1, "aten::geometric"),
    EACH(1, "aten::poisson"),
    EACH(1, "aten::binomial"),
    EACH(1, "aten::special_i0e"),
    EACH(1, "aten::special_i1"),
    EACH(1, "aten::special_i1e"),
    EACH(1, "aten::special_ndtri"),
    EACH(1, "aten::special_zeta"),
    EACH(1, "aten::special_bessel_j0"),
    EACH(1, "aten::special_bessel_j1"),
    EACH(1, "aten::special_bessel_y0"),
    EACH(1, "aten::special_bessel_y1"),
    EACH(1, "aten::special_modified_bessel_i0"),
    EACH(1, "aten::special_modified_bessel_i1"),
    EACH(1, "aten::special_modified_bessel_k0"),
    EACH(1, "aten::special_modified_bessel_k1"),
    EACH(1, "aten::special_erfcx"),
    EACH(1, "aten::special_log_ndtr"),
    EACH(1, "aten::special_airy_ai"),
    EACH(1, "aten::special_spherical_bessel_j0"),
    EACH(1, "aten::_standard_gamma"),
    EACH(1, "aten::special_scaled_modified_bessel_k0"),
    EACH(1, "aten::special_scaled_modified_bessel_k1"),
    EACH(1, "aten::randint_like"),
    EACH(1, "aten::_amp_update_scale"),
    EACH(1, "aten::special_chebyshev_polynomial_t"),
    EACH(1, "aten::special_chebyshev_polynomial_u"),
    EACH(1, "aten::special_chebyshev_polynomial_v"),
    EACH(1, "aten::special_chebyshev_polynomial_w"),
    EACH(1, "aten::special_hermite_polynomial_h"),
    EACH(1, "aten::special_hermite_polynomial_he"),
    EACH(1, "aten::special_laguerre_polynomial_l"),
    EACH(1, "aten::special_legendre_polynomial_p"),
    EACH(1, "aten::special_shifted_chebyshev_polynomial_t"),
    EACH(1, "aten::special_shifted_chebyshev_polynomial_u"),
    EACH(1, "aten::special_shifted_chebyshev_polynomial_v"),
    EACH(1, "aten::special_shifted_chebyshev_polynomial_w"),
    EACH(3, "aten::celu"),
    EACH(2, "aten::softshrink"),
    EACH(3, "aten::logit_backward"),
    EACH(4, "aten::logaddexp"),
    EACH(4, "aten::logaddexp2"),
    EACH(3, "aten::special_xlog1py"),
    EACH(3, "aten::special_entr"),
    EACH(2, "aten::rrelu_with_noise"),
    EACH(2, "aten::rrelu_with_noise_functional"),
    EACH(1, "aten::rrelu_with_noise_backward"),
    EACH(4, "aten::_prelu_kernel_backward"),
    EACH(2, "aten::_add_relu"),
    EACH(4, "aten::soft_margin_loss"),
    EACH(4, "aten::soft_margin_loss_backward"),
    EACH(5, "aten::linalg_cross"),
    EACH(3, "aten::_weight_norm_interface"),
    EACH(6, "aten::_weight_norm_interface_backward"),
    EACH(8, "aten::glu_jvp"),
    EACH(12, "aten::glu_backward_jvp"),
    TRUTH(1, "aten::signbit"),
    TRUTH(1, "aten::equal"),
    {"aten::glu_backward", count_cell, {1, 4}},
    {"aten::_thnn_fused_lstm_cell", count_cell, {0, 5}},
    {"aten::_thnn_fused_gru_cell", count_cell, {0, 5}},
    {"aten::_thnn_fused_lstm_cell_backward_impl", count_cell, {4, 8}},
    {"aten::_thnn_fused_gru_cell_backward", count_cell, {0, 8}},
    {"aten::_cdist_forward", count_distances, {0, 3}},
    {"aten::_cdist_backward", count_distances, {1, 4}},
    {"aten::_transform_bias_rescale_qkv", count_elementwise, {2, 0, 1}},
};

const struct flop_formula elementwise_formula = {
    .name = "elementwise",
    .summary = "elementwise ops and activations: a fixed number for each element of the result",
    RULES(rules),
};
