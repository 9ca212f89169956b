/* FLOPs of pooling and of changes of resolution.
 *
 * Pooling: one comparison or addition for each position of the kernel and each output; its
 * backward one addition for each. (DeepSpeed counts the input, whatever the kernel.) Adaptive
 * pooling: one for each input. Upsampling: 7 (bilinear), 3 (linear), 15 (trilinear), 35 (bicubic)
 * for each output, nearest none; its backward an addition more, nearest 1. Sampling at a grid as
 * bilinear (2-D) and trilinear (3-D). */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

static int64_t pooling_item(const struct value_list *list, uint32_t i)
{
    return list->values[list->count == 1 ? 0 : i];
}

/* Outputs of one sample and channel; -1 where they cannot be told. floor((input + 2 padding -
 * kernel) / stride) + 1, as torch.nn.MaxPool2d has it without ceil_mode and dilation. */
static int64_t pooled_positions(const struct op_call *call, int spatial,
                                const struct value_list *kernel)
{
    struct value_list stride;
    struct value_list padding;
    int64_t positions = 1;

    if (!list_value(call, 2, &stride) || !list_value(call, 3, &padding) || padding.count == 0)
        return -1;
    if (stride.count == 0) /* as the kernel */
        stride = *kernel;
    for (int i = 0; i < spatial; i++) {
        int64_t room =
            plus(size_of(call, 0, i - spatial), times(2, pooling_item(&padding, (uint32_t)i)));
        int64_t step = pooling_item(&stride, (uint32_t)i);

        if (step < 1 || pooling_item(&padding, (uint32_t)i) < 0 ||
            room < pooling_item(kernel, (uint32_t)i))
            return -1;
        positions = times(positions, (room - pooling_item(kernel, (uint32_t)i)) / step + 1);
    }
    return positions;
}

/* pool(input, kernel_size, stride, padding, ...); numbers[0]: spatial dimensions. */
static bool count_pool(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int spatial = rule->numbers[0];
    struct value_list kernel;
    int64_t window = 1;
    int64_t planes = 1;
    int64_t positions;

    if (rank_of(call, 0) <= spatial)
        return not_counted(cost, why_odd_shapes);
    if (!list_value(call, 1, &kernel) || kernel.count == 0)
        return not_counted(cost, why_no_values);
    positions = pooled_positions(call, spatial, &kernel);
    if (positions < 0)
        return not_counted(cost, why_no_values);
    for (int i = 0; i < spatial; i++)
        window = times(window, pooling_item(&kernel, (uint32_t)i));
    for (int dim = -rank_of(call, 0); dim < -spatial; dim++)
        planes = times(planes, size_of(call, 0, dim));
    positions = times(positions, planes);
    return plain_cost(cost, COST_POINTWISE, times(positions, window),
                      bytes_moved(call, (struct byte_range){0, 1, 0, positions}));
}

/* pool_backward(grad_output, input, kernel_size, ...): one addition for each position of the
 * kernel (numbers[0] 1: an average), or for each output (0: a maximum). */
static bool pooling_count_backward(struct op_cost *cost, const struct op_call *call,
                                   const struct op_rule *rule)
{
    int64_t outputs = elements_of(call, 0);
    struct value_list kernel;
    int64_t window = 1;

    if (outputs < 0 || elements_of(call, 1) < 0)
        return not_counted(cost, why_odd_shapes);
    if (rule->numbers[0] && !list_value(call, 2, &kernel))
        return not_counted(cost, why_no_values);
    for (uint32_t i = 0; rule->numbers[0] && i < kernel.count; i++)
        window = times(window, kernel.values[i] < 0 ? 0 : kernel.values[i]);
    return plain_cost(cost, COST_POINTWISE, times(outputs, window),
                      bytes_moved(call, (struct byte_range){0, 1, 0, elements_of(call, 1)}));
}

/* One for each input. */
static bool count_adaptive(struct op_cost *cost, const struct op_call *call,
                           const struct op_rule *rule)
{
    int64_t elements = elements_of(call, (uint32_t)rule->numbers[0]);

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_POINTWISE, elements, -1);
}

/* upsample(input, output_size, ...); numbers: FLOPs of each output, spatial dimensions. */
static bool count_upsample(struct op_cost *cost, const struct op_call *call,
                           const struct op_rule *rule)
{
    struct value_list size;
    int64_t outputs = times(size_of(call, 0, 0), size_of(call, 0, 1));

    if (rank_of(call, 0) != rule->numbers[1] + 2)
        return not_counted(cost, why_odd_shapes);
    if (!list_value(call, 1, &size) || size.count != (uint32_t)rule->numbers[1])
        return not_counted(cost, why_no_values);
    for (uint32_t i = 0; i < size.count; i++)
        outputs = times(outputs, size.values[i] < 0 ? 0 : size.values[i]);
    return plain_cost(cost, rule->numbers[0] ? COST_POINTWISE : COST_MOVEMENT,
                      times(outputs, rule->numbers[0]),
                      bytes_moved(call, (struct byte_range){0, 1, 0, outputs}));
}

/* upsample_backward(grad_output, ...), grid_sampler(input, grid, ...) and the like: numbers[1] for
 * each element of argument numbers[0]; for a grid sampler (numbers[2]) for each channel at each
 * position of the grid. */
static bool count_each(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    uint32_t argument = (uint32_t)rule->numbers[0];
    int64_t elements = elements_of(call, argument);

    if (rule->numbers[2] != 0)
        elements =
            elements < 0 || size_of(call, argument, -1) < 1
                ? -1
                : times(elements / size_of(call, argument, -1),
                        size_of(call, argument - 1, 1) < 0 ? 1 : size_of(call, argument - 1, 1));
    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_POINTWISE, times(elements, rule->numbers[1]), -1);
}

static const struct op_rule rules[] = {
    {"aten::max_pool1d", count_pool, {1}},
    {"aten::max_pool2d", count_pool, {2}},
    {"aten::max_pool3d", count_pool, {3}},
    {"aten::max_pool2d_with_indices", count_pool, {2}},
    {"aten::max_pool3d_with_indices", count_pool, {3}},
    {"aten::avg_pool1d", count_pool, {1}},
    {"aten::avg_pool2d", count_pool, {2}},
    {"aten::avg_pool3d", count_pool, {3}},
    {"aten::mkldnn_max_pool2d", count_pool, {2}},
    {"aten::max_pool2d_with_indices_backward", pooling_count_backward, {0}},
    {"aten::max_pool3d_with_indices_backward", pooling_count_backward, {0}},
    {"aten::avg_pool2d_backward", pooling_count_backward, {1}},
    {"aten::avg_pool3d_backward", pooling_count_backward, {1}},
    {"aten::_adaptive_avg_pool2d", count_adaptive, {0}},
    {"aten::_adaptive_avg_pool3d", count_adaptive, {0}},
    {"aten::adaptive_max_pool2d", count_adaptive, {0}},
    {"aten::_adaptive_avg_pool2d_backward", count_adaptive, {1}},
    {"aten::_adaptive_avg_pool3d_backward", count_adaptive, {1}},
    {"aten::adaptive_max_pool2d_backward", count_adaptive, {1}},
    {"aten::upsample_nearest1d_backward", count_each, {0, 1}},
    {"aten::upsample_nearest2d_backward", count_each, {0, 1}},
    {"aten::upsample_nearest3d_backward", count_each, {0, 1}},
    {"aten::_upsample_nearest_exact1d_backward", count_each, {0, 1}},
    {"aten::_upsample_nearest_exact2d_backward", count_each, {0, 1}},
    {"aten::_upsample_nearest_exact3d_backward", count_each, {0, 1}},
    {"aten::upsample_linear1d_backward", count_each, {0, 4}},
    {"aten::upsample_bilinear2d_backward", count_each, {0, 8}},
    {"aten::_upsample_bilinear2d_aa_backward", count_each, {0, 8}},
    {"aten::upsample_trilinear3d_backward", count_each, {0, 16}},
    {"aten::upsample_bicubic2d_backward", count_each, {0, 36}},
    {"aten::_upsample_bicubic2d_aa_backward", count_each, {0, 36}},
    {"aten::_upsample_lanczos2d_aa_backward", count_each, {0, 36}},
    {"aten::_upsample_nearest_exact1d", count_upsample, {0, 1}},
    {"aten::_upsample_nearest_exact2d", count_upsample, {0, 2}},
    {"aten::_upsample_nearest_exact3d", count_upsample, {0, 3}},
    {"aten::_upsample_bilinear2d_aa", count_upsample, {7, 2}},
    {"aten::_upsample_bicubic2d_aa", count_upsample, {35, 2}},
    {"aten::_upsample_lanczos2d_aa", count_upsample, {35, 2}},
    {"aten::grid_sampler_2d", count_each, {1, 7, 1}},
    {"aten::grid_sampler_3d", count_each, {1, 15, 1}},
    {"aten::_grid_sampler_2d_cpu_fallback", count_each, {1, 7, 1}},
    {"aten::cudnn_grid_sampler", count_each, {1, 7, 1}},
    {"aten::grid_sampler_2d_backward", count_each, {0, 16}},
    {"aten::grid_sampler_3d_backward", count_each, {0, 32}},
    {"aten::adaptive_max_pool3d", count_adaptive, {0}},
    {"aten::adaptive_max_pool3d_backward", count_adaptive, {1}},
    {"aten::mkldnn_max_pool3d", count_pool, {3}},
    {"aten::mkldnn_adaptive_avg_pool2d", count_adaptive, {0}},
    {"aten::adaptive_avg_pool3d_backward", count_adaptive, {1}},
    {"aten::upsample_nearest1d", count_upsample, {0, 1}},
    {"aten::upsample_nearest2d", count_upsample, {0, 2}},
    {"aten::upsample_nearest3d", count_upsample, {0, 3}},
    {"aten::upsample_linear1d", count_upsample, {3, 1}},
    {"aten::upsample_bilinear2d", count_upsample, {7, 2}},
    {"aten::upsample_trilinear3d", count_upsample, {15, 3}},
    {"aten::upsample_bicubic2d", count_upsample, {35, 2}},
};

const struct flop_formula pooling_formula = {
    .name = "pooling",
    .summary = "pooling and upsampling: one operation for each input of each output",
    RULES(rules),
};
