/* FLOPs of ops that are matrix products under another name.
 *
 * Source: the definitions in torch's documentation (torch.nn.functional.bilinear, torch.cdist), and
 * for what they compute on the way the ops that PyTorch 2.13 calls inside of them. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

enum { TRILINEAR_DIMS_MAX = 12 };

/* _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim): the dimensions listed in
 * expandN are put into iN with size 1, the three are multiplied, and sumdim is summed over. */
struct trilinear {
    int64_t sizes[3][TRILINEAR_DIMS_MAX];
    bool is_summed[TRILINEAR_DIMS_MAX];
    bool is_expanded[3][TRILINEAR_DIMS_MAX];
    int dims;
};

/* A dimension outside of the tensor makes the call one that PyTorch would refuse: the text is
 * not what it seems, and nothing is counted. */
static bool mark_dims(bool *marks, int dims, const struct value_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->values[i] < 0 || list->values[i] >= dims)
            return false;
        marks[list->values[i]] = true;
    }
    return true;
}

/* Dimensions are checked against each other, as the lists come from a file: no index beyond
 * `dims` is used. */
static bool read_trilinear(struct trilinear *about, const struct op_call *call)
{
    struct value_list list;

    for (uint32_t input = 0; input < 3; input++) {
        int own = 0;

        if (!list_value(call, 3 + input, &list))
            return false;
        if (input == 0)
            about->dims = rank_of(call, 0) + (int)list.count;
        if (about->dims > TRILINEAR_DIMS_MAX ||
            rank_of(call, input) + (int)list.count != about->dims ||
            !mark_dims(about->is_expanded[input], about->dims, &list))
            return false;
        for (int dim = 0; dim < about->dims; dim++)
            about->sizes[input][dim] =
                about->is_expanded[input][dim] ? 1 : size_of(call, input, own++);
    }
    return list_value(call, 6, &list) && mark_dims(about->is_summed, about->dims, &list);
}

static int64_t products_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Two products one after the other: i1 with i2, summed over the dimensions that i3 lacks, then that
 * with i3, summed over the others; both for one index of unroll_dim after the other, which is added
 * up outside. A product without a sum is elementwise. */
static bool count_trilinear(struct op_cost *cost, const struct op_call *call,
                            const struct op_rule *rule)
{
    struct trilinear about = {0};
    int64_t unrolled = 1;
    int64_t macs[2] = {1, 1};
    bool has_sum[2] = {false, false};

    (void)rule;
    if (!read_trilinear(&about, call) || !integer_value(call, 7, &unrolled))
        return not_counted(cost, why_no_values);
    for (int dim = 0; dim < about.dims; dim++) {
        int64_t left = products_larger(about.sizes[0][dim], about.sizes[1][dim]);
        int64_t all = products_larger(left, about.sizes[2][dim]);
        bool is_summed = about.is_summed[dim] && dim != unrolled;

        macs[0] = times(macs[0], dim == unrolled ? all : left);
        if (is_summed)
            has_sum[about.is_expanded[2][dim] ? 0 : 1] = true;
        if (!is_summed || !about.is_expanded[2][dim])
            macs[1] = times(macs[1], all);
    }
    return matrix_cost(cost, plus(has_sum[0] ? macs[0] : 0, has_sum[1] ? macs[1] : 0), -1);
}

/* _euclidean_dist(a [..., P, M], b [..., R, M]): |a|^2 - 2 a b + |b|^2 as one product, in which the
 * squares are two columns more. */
static bool count_euclidean(struct op_cost *cost, const struct op_call *call,
                            const struct op_rule *rule)
{
    int64_t width = size_of(call, 0, -1);
    int64_t pairs = size_of(call, 1, -2);

    (void)rule;
    if (rank_of(call, 0) < 2 || rank_of(call, 1) < 2 || width != size_of(call, 1, -1))
        return not_counted(cost, why_odd_shapes);
    for (int dim = -2; dim >= -rank_of(call, 0); dim--)
        pairs = times(pairs, size_of(call, 0, dim));
    return matrix_cost(cost, times(pairs, plus(width, 2)), -1);
}

/* _foreach_mm(a, b): lists of [M, K] and [K, N]. */
static bool count_products(struct op_cost *cost, const struct op_call *call,
                           const struct op_rule *rule)
{
    const struct op_argument *left;
    const struct op_argument *right;
    int64_t macs = 0;

    (void)rule;
    if (call->argument_count < 2 || call->arguments[0].kind != ARGUMENT_TENSOR_LIST)
        return not_counted(cost, why_odd_shapes);
    left = &call->arguments[0];
    right = &call->arguments[1];
    if (left->tensor_count == 0 || left->tensor_count != right->tensor_count)
        return not_counted(cost, why_list_left_out);
    for (uint32_t i = 0; i < left->tensor_count; i++) {
        const struct tensor_shape *a = &call->tensors[left->first_tensor + i];
        const struct tensor_shape *b = &call->tensors[right->first_tensor + i];

        if (a->rank != 2 || b->rank != 2)
            return not_counted(cost, why_odd_shapes);
        macs = plus(macs, times(shape_elements(call, a), call->dims[b->first_dim + 1]));
    }
    return matrix_cost(cost, macs, -1);
}

static const struct op_rule rules[] = {
    {"aten::_trilinear", count_trilinear, {0}},
    {"aten::_euclidean_dist", count_euclidean, {0}},
    {"aten::_foreach_mm", count_products, {0}},
};

const struct flop_formula products_formula = {
    .name = "products",
    .summary = "matmuls under another name: bilinear layers, Euclidean distances, lists",
    RULES(rules),
};
