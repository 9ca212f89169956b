/* Ops that compute nothing: those that move bytes, and those that do not even that (views,
 * allocations, questions about a tensor, and ops that only call other ops, which are counted
 * themselves). 0 FLOPs here is a count, not a gap. */
#include "flops/flop_formula.h"
#include "flops/saturating.h"

static bool count_free(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    (void)call;
    (void)rule;
    return plain_cost(cost, COST_FREE, 0, 0);
}

/* Reads argument numbers[0] and writes as many elements of the type of argument numbers[1]. */
static bool count_copy(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    uint32_t from = (uint32_t)rule->numbers[0];
    int64_t elements = elements_of(call, from);

    if (elements < 0)
        return plain_cost(cost, COST_MOVEMENT, 0, -1);
    return plain_cost(
        cost, COST_MOVEMENT, 0,
        bytes_moved(call, (struct byte_range){from, 1, (uint32_t)rule->numbers[1], elements}));
}

/* Writes argument 0. */
static bool count_fill(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    (void)rule;
    return plain_cost(cost, COST_MOVEMENT, 0, bytes_of(call, 0));
}

/* Moves bytes, and how many depends on values that a trace does not have. */
static bool count_moved(struct op_cost *cost, const struct op_call *call,
                        const struct op_rule *rule)
{
    (void)call;
    (void)rule;
    return plain_cost(cost, COST_MOVEMENT, 0, -1);
}

#define FREE(op)        \
    {                   \
        op, count_free, \
        {               \
            0           \
        }               \
    }
#define MOVED(op)        \
    {                    \
        op, count_moved, \
        {                \
            0            \
        }                \
    }

static const struct op_rule rules[] = {
    {"aten::copy", count_copy, {1, 0}},
    {"aten::clone", count_copy, {0, 0}},
    {"aten::cat", count_copy, {0, 0}},
    {"aten::stack", count_copy, {0, 0}},
    {"aten::flip", count_copy, {0, 0}},
    {"aten::roll", count_copy, {0, 0}},
    {"aten::fill", count_fill, {0}},
    {"aten::zero", count_fill, {0}},
    MOVED("aten::index"),
    MOVED("aten::index_select"),
    MOVED("aten::index_put"),
    MOVED("aten::_index_put_impl"),
    MOVED("aten::index_add"),
    MOVED("aten::index_copy"),
    MOVED("aten::gather"),
    MOVED("aten::scatter"),
    MOVED("aten::scatter_add"),
    MOVED("aten::scatter_reduce"),
    MOVED("aten::masked_select"),
    MOVED("aten::masked_scatter"),
    MOVED("aten::nonzero"),
    MOVED("aten::unique_dim"),
    MOVED("aten::_unique2"),
    MOVED("aten::repeat_interleave"),
    MOVED("aten::constant_pad_nd"),
    MOVED("aten::reflection_pad2d"),
    MOVED("aten::im2col"),
    MOVED("aten::col2im"),
    MOVED("aten::select_backward"),
    MOVED("aten::slice_backward"),
    MOVED("aten::randperm"),
    MOVED("aten::multinomial"),
    MOVED("aten::eye"),
    MOVED("aten::linspace"),
    MOVED("aten::arange"),
    MOVED("aten::_local_scalar_dense"),
    MOVED("aten::_pin_memory"),
    MOVED("aten::to_mkldnn"),
    MOVED("aten::to_dense"),
    FREE("aten::view"),
    FREE("aten::_unsafe_view"),
    FREE("aten::_reshape_alias"),
    FREE("aten::view_as"),
    FREE("aten::view_as_real"),
    FREE("aten::view_as_complex"),
    FREE("aten::as_strided"),
    FREE("aten::transpose"),
    FREE("aten::t"),
    FREE("aten::permute"),
    FREE("aten::expand"),
    FREE("aten::expand_as"),
    FREE("aten::squeeze"),
    FREE("aten::unsqueeze"),
    FREE("aten::select"),
    FREE("aten::slice"),
    FREE("aten::narrow"),
    FREE("aten::chunk"),
    FREE("aten::split"),
    FREE("aten::split_with_sizes"),
    FREE("aten::unbind"),
    FREE("aten::unfold"),
    FREE("aten::diagonal"),
    FREE("aten::movedim"),
    FREE("aten::swapaxes"),
    FREE("aten::real"),
    FREE("aten::imag"),
    FREE("aten::alias"),
    FREE("aten::detach"),
    FREE("detach"),
    FREE("detach_"),
    FREE("aten::lift_fresh"),
    FREE("aten::resolve_conj"),
    FREE("aten::resolve_neg"),
    FREE("aten::conj"),
    FREE("aten::_conj"),
    FREE("aten::is_nonzero"),
    FREE("aten::is_floating_point"),
    FREE("aten::is_complex"),
    FREE("aten::is_same_size"),
    FREE("aten::is_pinned"),
    FREE("aten::numel"),
    FREE("aten::result_type"),
    FREE("aten::can_cast"),
    FREE("aten::promote_types"),
    FREE("aten::size"),
    FREE("aten::stride"),
    FREE("aten::sym_size"),
    FREE("aten::empty"),
    FREE("aten::empty_like"),
    FREE("aten::empty_strided"),
    FREE("aten::new_empty"),
    FREE("aten::new_empty_strided"),
    FREE("aten::resize"),
    FREE("aten::resize_as"),
    FREE("aten::set"),
    FREE("aten::record_stream"),
    FREE("aten::_version"),
    FREE("aten::retain_grad"),
    FREE("aten::requires_grad"),
    FREE("aten::set_data"),
    FREE("aten::cudnn_is_acceptable"),
    FREE("aten::is_leaf"),
    FREE("aten::_fused_sdp_choice"),
    FREE("aten::_backward"),
    FREE("aten::scalar_tensor"),
    /* work only through others */
    FREE("aten::contiguous"),
    FREE("aten::to"),
    FREE("aten::_to_copy"),
    FREE("aten::type_as"),
    FREE("aten::reshape"),
    FREE("aten::flatten"),
    FREE("aten::unflatten"),
    FREE("aten::_convolution_mode"),
    FREE("aten::einsum"),
    FREE("aten::tensordot"),
    FREE("aten::chain_matmul"),
    FREE("aten::inner"),
    FREE("aten::outer"),
    FREE("aten::bilinear"),
    FREE("aten::item"),
    FREE("aten::zeros"),
    FREE("aten::zeros_like"),
    FREE("aten::new_zeros"),
    FREE("aten::ones"),
    FREE("aten::ones_like"),
    FREE("aten::new_ones"),
    FREE("aten::full"),
    FREE("aten::full_like"),
    FREE("aten::new_full"),
    FREE("aten::rand"),
    FREE("aten::rand_like"),
    FREE("aten::randn"),
    FREE("aten::randn_like"),
    FREE("aten::randint"),
    FREE("aten::tensor"),
    FREE("aten::dropout"),
    FREE("aten::feature_dropout"),
    FREE("aten::alpha_dropout"),
    FREE("aten::embedding_backward"),
    FREE("aten::embedding_bag"),
    FREE("aten::cross_entropy_loss"),
    FREE("aten::nll_loss_nd"),
    FREE("aten::nll_loss"),
    FREE("aten::nll_loss2d"),
    FREE("aten::binary_cross_entropy_with_logits"),
    FREE("aten::cosine_similarity"),
    FREE("aten::adaptive_avg_pool1d"),
    FREE("aten::adaptive_avg_pool2d"),
    FREE("aten::adaptive_avg_pool3d"),
    FREE("aten::repeat"),
    FREE("aten::one_hot"),
    FREE("aten::tile"),
    FREE("aten::broadcast_tensors"),
    FREE("aten::broadcast_to"),
    FREE("aten::hstack"),
    FREE("aten::vstack"),
    FREE("aten::concat"),
    FREE("aten::unsafe_chunk"),
    FREE("aten::unsafe_split"),
    FREE("aten::tensor_split"),
    FREE("aten::linear_backward"),
    FREE("aten::pad"),
    FREE("aten::meshgrid"),
    FREE("aten::take_along_dim"),
    FREE("aten::argwhere"),
    FREE("aten::cdist"),
    FREE("aten::pairwise_distance"),
    FREE("aten::pin_memory"),
    FREE("aten::isclose"),
    FREE("aten::allclose"),
    FREE("aten::diff"),
};

const struct flop_formula movement_formula = {
    .name = "movement",
    .summary = "copies, gathers, fills: bytes; views and allocations: nothing",
    RULES(rules),
};
