/* FLOPs of recurrent layers: each weight matrix meets each time step of each sample once.
 *
 * The gates' additions and activations are not counted. A backward computes the gradients of
 * inputs and of weights: twice the forward. Source: the definition in the documentation of
 * torch.nn.LSTM; argument lists from torch's native_functions.yaml. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* Time steps times samples of input [T, B, I], [B, T, I], or packed [all steps, I]. */
static int64_t steps_of(const struct op_call *call)
{
    int64_t width = size_of(call, 0, -1);
    int64_t elements = elements_of(call, 0);

    if (rank_of(call, 0) < 1 || elements < 0 || width < 1)
        return -1;
    return elements == TOO_LARGE ? TOO_LARGE : elements / width;
}

/* Elements of the matrices among a list of weights and biases; -1 where there is none. Biases
 * are vectors and left out, as their additions are. */
static int64_t matrix_elements(const struct op_call *call, uint32_t list)
{
    const struct op_argument *argument;
    int64_t elements = -1;

    if (list >= call->argument_count)
        return -1;
    argument = &call->arguments[list];
    for (uint32_t i = 0; i < argument->tensor_count; i++) {
        const struct tensor_shape *shape = &call->tensors[argument->first_tensor + i];

        if (shape->rank == 2)
            elements = plus(elements < 0 ? 0 : elements, shape_elements(call, shape));
    }
    return elements;
}

/* Weights of input and hidden state as two matrices: numbers[0] is the first; numbers[1]: how many
 * times the forward. */
static bool count_layer(struct op_cost *cost, const struct op_call *call,
                        const struct op_rule *rule)
{
    uint32_t weight = (uint32_t)rule->numbers[0];
    int64_t steps = steps_of(call);
    int64_t weights;

    if (steps < 0 || rank_of(call, weight) != 2 || rank_of(call, weight + 1) != 2)
        return not_counted(cost, why_odd_shapes);
    weights = plus(elements_of(call, weight), elements_of(call, weight + 1));
    return matrix_cost(cost, times(times(steps, weights), rule->numbers[1]), -1);
}

/* Weights in a list: numbers[0] is its argument, or -1 for the last list of tensors there is;
 * numbers[1]: how many times the forward. The list of weights has another place in each version;
 * it is the last list, as sequence lengths stand before. */
static bool count_list(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int list = rule->numbers[0];
    int64_t steps = steps_of(call);
    int64_t weights;

    for (uint32_t i = 0; rule->numbers[0] < 0 && i < call->argument_count; i++)
        if (call->arguments[i].kind == ARGUMENT_TENSOR_LIST)
            list = (int)i;
    if (list < 0 || steps < 0)
        return not_counted(cost, why_odd_shapes);
    weights = matrix_elements(call, (uint32_t)list);
    if (weights < 0)
        return not_counted(cost, why_list_left_out);
    return matrix_cost(cost, times(times(steps, weights), rule->numbers[1]), -1);
}

static const struct op_rule rules[] = {
    {"aten::lstm", count_list, {-1, 1}},
    {"aten::gru", count_list, {-1, 1}},
    {"aten::rnn_tanh", count_list, {-1, 1}},
    {"aten::rnn_relu", count_list, {-1, 1}},
    {"aten::_cudnn_rnn", count_list, {1, 1}},
    {"aten::_cudnn_rnn_backward", count_list, {1, 2}},
    {"aten::miopen_rnn", count_list, {1, 1}},
    {"aten::miopen_rnn_backward", count_list, {1, 2}},
    {"aten::mkldnn_rnn_layer", count_layer, {1, 1}},
    {"aten::mkldnn_rnn_layer_backward", count_layer, {1, 2}},
    {"aten::lstm_cell", count_layer, {2, 1}},
    {"aten::gru_cell", count_layer, {2, 1}},
    {"aten::rnn_tanh_cell", count_layer, {2, 1}},
    {"aten::rnn_relu_cell", count_layer, {2, 1}},
};

const struct flop_formula recurrent_formula = {
    .name = "recurrent",
    .summary = "LSTM, GRU and RNN layers: 2 x weights x steps x samples",
    RULES(rules),
};
