/* FLOPs of normalizations, for each element of the input.
 *
 * Forward: mean 1, variance 2 (square, add), normalize 2 (subtract, multiply), scale and shift 1
 * each where given; RMS: square and add 2, multiply 1, scale 1. A batch norm that uses running
 * statistics only normalizes: 2, and scale and shift. Backward: two sums of products (4), the
 * gradient of the input 4, of scale and shift 3 where there are some. What is done once for each
 * row (division, root) is not counted. Source: Ba et al., Layer Normalization; Zhang and Sennrich,
 * RMSNorm. DeepSpeed counts 5 with scale and shift, 4 without. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* numbers: index of the input, FLOPs of each element, index of the scale (shift follows), or -1,
 * FLOPs that scale and shift add (each half). */
static bool count_norm(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    uint32_t input = (uint32_t)rule->numbers[0];
    int64_t elements = elements_of(call, input);
    int64_t each = rule->numbers[1];

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    if (rule->numbers[2] >= 0) {
        uint32_t scale = (uint32_t)rule->numbers[2];

        each += is_tensor(call, scale) && rank_of(call, scale) == 1 ? rule->numbers[3] : 0;
        each += is_tensor(call, scale + 1) && rank_of(call, scale + 1) == 1 ? rule->numbers[3] : 0;
    }
    return plain_cost(
        cost, COST_POINTWISE, times(elements, each),
        bytes_moved(call, (struct byte_range){0, call->argument_count, input, elements}));
}

/* numbers[0]: index of the flag `training`. Where the flag is not recorded it is taken for
 * training, which is what is profiled mostly, and counts more. */
static bool count_batch_norm(struct op_cost *cost, const struct op_call *call,
                             const struct op_rule *rule)
{
    struct op_rule norm = {.numbers = {0, 5, 1, 1}};
    bool is_training;

    if (boolean_value(call, (uint32_t)rule->numbers[0], &is_training) && !is_training)
        norm.numbers[1] = 2;
    return count_norm(cost, call, &norm);
}

static const struct op_rule rules[] = {
    {"aten::layer_norm", count_norm, {0, 5, 2, 1}},
    {"aten::native_layer_norm", count_norm, {0, 5, 2, 1}},
    {"aten::group_norm", count_norm, {0, 5, 2, 1}},
    {"aten::native_group_norm", count_norm, {0, 5, 1, 1}},
    {"aten::rms_norm", count_norm, {0, 3, -1, 0}},
    {"aten::_fused_rms_norm", count_norm, {0, 4, -1, 0}},
    {"aten::batch_norm", count_batch_norm, {5}},
    {"aten::_batch_norm_impl_index", count_batch_norm, {5}},
    {"aten::native_batch_norm", count_batch_norm, {5}},
    {"aten::_native_batch_norm_legit", count_batch_norm, {5}},
    {"aten::_batch_norm_with_update", count_norm, {0, 5, 1, 1}},
    {"aten::_batch_norm_no_update", count_norm, {0, 2, 1, 1}},
    {"aten::cudnn_batch_norm", count_batch_norm, {5}},
    {"aten::_native_batch_norm_legit_functional", count_batch_norm, {5}},
    {"aten::_batch_norm_with_update_functional", count_norm, {0, 5, 1, 1}},
    {"aten::_native_batch_norm_legit_no_training", count_norm, {0, 2, 1, 1}},
    {"aten::batch_norm_stats", count_norm, {0, 3, -1, 0}},
    {"aten::batch_norm_elemt", count_norm, {0, 2, -1, 0}},
    {"aten::batch_norm_backward_reduce", count_norm, {1, 5, -1, 0}},
    {"aten::batch_norm_backward_elemt", count_norm, {1, 6, -1, 0}},
    {"aten::miopen_batch_norm", count_batch_norm, {5}},
    {"aten::instance_norm", count_norm, {0, 5, 1, 1}},
    {"aten::native_layer_norm_backward", count_norm, {0, 11, -1, 0}},
    {"aten::native_group_norm_backward", count_norm, {0, 11, -1, 0}},
    {"aten::_fused_rms_norm_backward", count_norm, {0, 9, -1, 0}},
    {"aten::native_batch_norm_backward", count_norm, {0, 11, -1, 0}},
    {"aten::cudnn_batch_norm_backward", count_norm, {0, 11, -1, 0}},
    {"aten::miopen_batch_norm_backward", count_norm, {0, 11, -1, 0}},
    {"aten::batch_norm_backward", count_norm, {0, 11, -1, 0}},
};

const struct flop_formula normalization_formula = {
    .name = "normalization",
    .summary = "layer, group, batch and RMS norm: a few operations for each element",
    RULES(rules),
};
