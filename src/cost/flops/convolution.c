/* FLOPs of convolutions: each weight meets each position once for each sample.
 *
 * Weight [Cout, Cin / groups, k...]: one multiply-add for each weight, sample and output position.
 * Transposed, weight [Cin, Cout / groups, k...]: for each weight, sample and *input* position.
 * Zero padding counts as computed. The gradients of input and weight cost as much each, whatever
 * the groups (FlopCounterMode of torch 2.13 multiplies the second by them). Source: the definition;
 * output size as in the documentation of torch.nn.Conv2d. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

enum { SPATIAL_MAX = 3 };

/* Where an op keeps its arguments; -1: it has none of the kind. */
struct convolution_layout {
    int stride;
    int padding;
    int dilation;
    int transposed;
};

/* numbers[0] of a rule: index here. */
static const struct convolution_layout layouts[] = {
    {3, 4, 5, 6},   /* convolution, _convolution */
    {3, 4, 5, -1},  /* conv1d, conv2d, conv3d; mkldnn::_convolution_pointwise has its own */
    {3, 2, 4, -1},  /* cudnn_convolution(x, w, padding, stride, dilation) */
    {4, 3, 5, -1},  /* mkldnn::_convolution_pointwise(x, w, b, padding, stride, dilation) */
    {5, 6, 7, -1},  /* cudnn_convolution_add_relu(x, w, z, alpha, b, stride, padding, dilation) */
    {4, 5, 6, -1},  /* _conv_depthwise2d(x, w, kernel, b, stride, padding, dilation) */
    {4, 5, -1, -1}, /* _slow_conv2d_forward(x, w, kernel, b, stride, padding) */
    {4, 3, -1, -1}, /* _nnpack_spatial_convolution(x, w, b, padding, stride) */
};

/* Item `i` of a list that may be shorter: "[1]" stands for all dimensions. */
static int64_t convolution_item(const struct value_list *list, uint32_t i)
{
    return list->values[list->count == 1 ? 0 : i];
}

/* Output positions of one sample; -1 where they cannot be told. */
static int64_t output_positions(const struct op_call *call, const struct convolution_layout *layout)
{
    int spatial = rank_of(call, 1) - 2;
    struct value_list stride;
    struct value_list padding;
    struct value_list dilation = {.values = {1}, .count = 1};
    int64_t positions = 1;

    if (!list_value(call, (uint32_t)layout->stride, &stride) ||
        !list_value(call, (uint32_t)layout->padding, &padding) ||
        (layout->dilation >= 0 && !list_value(call, (uint32_t)layout->dilation, &dilation)) ||
        stride.count == 0 || padding.count == 0 || dilation.count == 0)
        return -1;
    for (int i = 0; i < spatial; i++) {
        int64_t input = size_of(call, 0, i - spatial);
        int64_t kernel = size_of(call, 1, i - spatial);
        int64_t step = convolution_item(&stride, (uint32_t)i);
        int64_t reach = plus(times(convolution_item(&dilation, (uint32_t)i), kernel - 1), 1);
        int64_t room = plus(input, times(2, convolution_item(&padding, (uint32_t)i)));

        if (step < 1 || kernel < 1 || convolution_item(&padding, (uint32_t)i) < 0 ||
            convolution_item(&dilation, (uint32_t)i) < 1 || room < reach)
            return -1;
        positions = times(positions, (room - reach) / step + 1);
    }
    return positions;
}

/* The product of the last `spatial` sizes. */
static int64_t positions_of(const struct op_call *call, uint32_t argument, int spatial)
{
    int64_t positions = 1;

    for (int i = 1; i <= spatial; i++)
        positions = times(positions, size_of(call, argument, -i));
    return positions;
}

/* True where input and weight are shaped for a convolution; an input without its batch dimension
 * is one sample. */
static bool is_convolution(const struct op_call *call, uint32_t input, uint32_t weight)
{
    int rank = rank_of(call, weight);

    return rank >= 3 && rank <= SPATIAL_MAX + 2 &&
           (rank_of(call, input) == rank || rank_of(call, input) == rank - 1);
}

static int64_t samples_of(const struct op_call *call, uint32_t input, uint32_t weight)
{
    return rank_of(call, input) == rank_of(call, weight) ? size_of(call, input, 0) : 1;
}

/* Positions of a known result [samples, Cout, ...] of weight [Cout, ...]; -1 where it is not known,
 * or no result of this convolution. Where strides are not in the trace the recorded output tells
 * the positions, if its shape is one that this convolution can have. */
static int64_t known_positions(const struct op_call *call)
{
    const int64_t *sizes = &call->dims[call->output.first_dim];
    int rank = rank_of(call, 1);
    int64_t positions = 1;

    if (!call->has_output || (int)call->output.rank != rank || rank_of(call, 0) != rank ||
        sizes[0] != size_of(call, 0, 0) || sizes[1] != size_of(call, 1, 0))
        return -1;
    for (int i = 2; i < rank; i++)
        positions = times(positions, sizes[i]);
    return positions;
}

static bool finish(struct op_cost *cost, const struct op_call *call, int64_t macs,
                   int64_t output_elements)
{
    return matrix_cost(cost, macs,
                       bytes_moved(call, (struct byte_range){0, 3, 0, output_elements}));
}

/* Each input position scatters the whole kernel: one multiply-add per weight and input
 * position, so strides and padding do not matter. */
static bool count_transposed(struct op_cost *cost, const struct op_call *call,
                             const struct op_rule *rule)
{
    int64_t positions;

    (void)rule;
    if (!is_convolution(call, 0, 1))
        return not_counted(cost, why_odd_shapes);
    positions = times(samples_of(call, 0, 1), positions_of(call, 0, rank_of(call, 1) - 2));
    return finish(cost, call, times(positions, elements_of(call, 1)), -1);
}

/* By arguments, then by the known result: a formula that needs neither does not exist. */
static bool count_convolution(struct op_cost *cost, const struct op_call *call,
                              const struct op_rule *rule)
{
    const struct convolution_layout *layout = &layouts[rule->numbers[0]];
    bool is_transposed = false;
    int64_t positions;

    if (!is_convolution(call, 0, 1))
        return not_counted(cost, why_odd_shapes);
    if (layout->transposed >= 0 &&
        !boolean_value(call, (uint32_t)layout->transposed, &is_transposed))
        return not_counted(cost, why_no_values);
    if (is_transposed)
        return count_transposed(cost, call, rule);
    positions = output_positions(call, layout);
    if (positions < 0)
        positions = known_positions(call);
    if (positions < 0)
        return not_counted(cost, why_no_values);
    positions = times(positions, samples_of(call, 0, 1));
    return finish(cost, call, times(positions, elements_of(call, 1)),
                  times(positions, size_of(call, 1, 0)));
}

/* convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation,
 * transposed, output_padding, groups, output_mask): input and weight gradients, as the mask asks;
 * the gradient of the bias is a sum and not counted. */
static bool convolution_count_backward(struct op_cost *cost, const struct op_call *call,
                                       const struct op_rule *rule)
{
    uint32_t mask_argument = (uint32_t)rule->numbers[1];
    struct value_list mask;
    bool is_transposed;
    int64_t positions;
    int64_t macs;
    int64_t written = 0;

    if (!is_convolution(call, 1, 2) || rank_of(call, 0) != rank_of(call, 1))
        return not_counted(cost, why_odd_shapes);
    if (!boolean_value(call, (uint32_t)rule->numbers[0], &is_transposed) ||
        !list_value(call, mask_argument, &mask) || mask.count < 2)
        return not_counted(cost, why_no_values);
    positions = positions_of(call, is_transposed ? 1 : 0, rank_of(call, 2) - 2);
    macs = times(times(positions, samples_of(call, 1, 2)), elements_of(call, 2));
    if (mask.values[0])
        written = plus(written, elements_of(call, 1));
    if (mask.values[1])
        written = plus(written, elements_of(call, 2));
    return finish(cost, call, times(macs, mask.values[0] + mask.values[1]), written);
}

/* cudnn_convolution_backward_input(input_size, grad_output, weight, ...), until torch 1.10 */
static bool count_input_gradient(struct op_cost *cost, const struct op_call *call,
                                 const struct op_rule *rule)
{
    int64_t positions;

    (void)rule;
    if (!is_convolution(call, 1, 2))
        return not_counted(cost, why_odd_shapes);
    positions = positions_of(call, 1, rank_of(call, 2) - 2);
    return finish(cost, call, times(times(positions, samples_of(call, 1, 2)), elements_of(call, 2)),
                  -1);
}

/* cudnn_convolution_backward_weight(weight_size, grad_output, input, ...): the result is as large
 * as the weight, and no argument is. */
static bool count_weight_gradient(struct op_cost *cost, const struct op_call *call,
                                  const struct op_rule *rule)
{
    int rank = rank_of(call, 1);
    int64_t positions;

    (void)rule;
    if (rank < 3 || rank > SPATIAL_MAX + 2 || rank_of(call, 2) != rank)
        return not_counted(cost, why_odd_shapes);
    if (!call->has_output || (int)call->output.rank != rank)
        return not_counted(cost, why_no_values);
    positions = times(positions_of(call, 1, rank - 2), size_of(call, 1, 0));
    return finish(cost, call, times(positions, shape_elements(call, &call->output)), -1);
}

/* cudnn_convolution_backward(input, grad_output, weight, ..., output_mask): which gradients it
 * computes is not told where the values are not; the ops inside it are counted. */
static bool count_old_backward(struct op_cost *cost, const struct op_call *call,
                               const struct op_rule *rule)
{
    (void)call;
    (void)rule;
    return not_counted(cost, why_no_values);
}

/* conv_tbc(input [T, B, Cin], weight [k, Cin, Cout], bias, pad) */
static bool count_time_batch_channel(struct op_cost *cost, const struct op_call *call,
                                     const struct op_rule *rule)
{
    int64_t kernel = size_of(call, 1, 0);
    int64_t time = size_of(call, 0, 0);
    int64_t padding;
    int64_t steps;

    (void)rule;
    if (rank_of(call, 0) != 3 || rank_of(call, 1) != 3)
        return not_counted(cost, why_odd_shapes);
    if (!integer_value(call, 3, &padding) || padding < 0)
        return not_counted(cost, why_no_values);
    steps = plus(time, times(2, padding));
    steps = steps < kernel ? 0 : steps - kernel + 1;
    steps = times(steps, size_of(call, 0, 1));
    return finish(cost, call, times(steps, elements_of(call, 1)),
                  times(steps, size_of(call, 1, 2)));
}

static const struct op_rule rules[] = {
    {"aten::convolution", count_convolution, {0}},
    {"aten::_convolution", count_convolution, {0}},
    {"aten::convolution_overrideable", count_convolution, {0}},
    {"aten::conv1d", count_convolution, {1}},
    {"aten::conv2d", count_convolution, {1}},
    {"aten::conv3d", count_convolution, {1}},
    {"aten::cudnn_convolution", count_convolution, {2}},
    {"mkldnn::_convolution_pointwise", count_convolution, {3}},
    {"aten::mkldnn_convolution", count_convolution, {3}},
    {"aten::miopen_convolution", count_convolution, {3}},
    {"aten::miopen_depthwise_convolution", count_convolution, {3}},
    {"aten::cudnn_convolution_relu", count_convolution, {1}},
    {"aten::miopen_convolution_relu", count_convolution, {1}},
    {"aten::cudnn_convolution_add_relu", count_convolution, {4}},
    {"aten::miopen_convolution_add_relu", count_convolution, {4}},
    {"aten::_conv_depthwise2d", count_convolution, {5}},
    {"aten::conv_depthwise3d", count_convolution, {5}},
    {"aten::slow_conv_dilated2d", count_convolution, {5}},
    {"aten::slow_conv_dilated3d", count_convolution, {5}},
    {"aten::_slow_conv2d_forward", count_convolution, {6}},
    {"aten::slow_conv3d_forward", count_convolution, {6}},
    {"aten::_nnpack_spatial_convolution", count_convolution, {7}},
    {"aten::miopen_convolution_transpose", count_transposed, {0}},
    {"aten::slow_conv_transpose2d", count_transposed, {0}},
    {"aten::slow_conv_transpose3d", count_transposed, {0}},
    {"aten::conv_transpose1d", count_transposed, {0}},
    {"aten::conv_transpose2d", count_transposed, {0}},
    {"aten::conv_transpose3d", count_transposed, {0}},
    {"aten::cudnn_convolution_transpose", count_transposed, {0}},
    {"aten::convolution_backward", convolution_count_backward, {7, 10}},
    {"aten::convolution_backward_overrideable", convolution_count_backward, {6, 9}},
    {"aten::cudnn_convolution_backward", count_old_backward, {0}},
    {"aten::miopen_convolution_backward", count_old_backward, {0}},
    {"aten::mkldnn_convolution_backward", count_old_backward, {0}},
    {"aten::cudnn_convolution_backward_input", count_input_gradient, {0}},
    {"aten::miopen_convolution_backward_input", count_input_gradient, {0}},
    {"aten::mkldnn_convolution_backward_input", count_input_gradient, {0}},
    {"aten::cudnn_convolution_backward_weight", count_weight_gradient, {0}},
    {"aten::miopen_convolution_backward_weight", count_weight_gradient, {0}},
    {"aten::mkldnn_convolution_backward_weights", count_weight_gradient, {0}},
    {"aten::conv_tbc", count_time_batch_channel, {0}},
};

const struct flop_formula convolution_formula = {
    .name = "convolution",
    .summary = "convolutions and their gradients: 2 x weights x samples x positions",
    RULES(rules),
};
