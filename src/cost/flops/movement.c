/* Ops that compute nothing: those that move bytes, and those that do not even that (views,
 * allocations, questions about a tensor). 0 FLOPs here is a count, not a gap. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

static bool count_free(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    (void)call;
    (void)rule;
    return plain_cost(cost, COST_FREE, 0, 0);
}

/* Reads argument numbers[0] and writes as many elements of the type of argument numbers[1]. Read
 * in one type and written in another, as a cast is a copy: each side has the bytes of its own
 * element. */
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

/* gather(source, dim, index, ...): one element for each of the index, which is often one number for
 * a whole row, expanded: it is left out. */
static bool count_gather(struct op_cost *cost, const struct op_call *call,
                         const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 2);
    int64_t bytes = elements < 0 ? -1 : times(2, times(elements, call->arguments[0].element_bytes));

    (void)rule;
    return plain_cost(cost, COST_MOVEMENT, 0, bytes > 0 ? bytes : -1);
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
    {"aten::gather", count_gather, {0}},
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
    MOVED("aten::take"),
    MOVED("aten::put"),
    MOVED("aten::put_"),
    MOVED("aten::_stack"),
    MOVED("aten::_chunk_cat"),
    MOVED("aten::index_fill"),
    MOVED("aten::index_reduce"),
    MOVED("aten::masked_scatter_backward"),
    MOVED("aten::unfold_backward"),
    MOVED("aten::diagonal_backward"),
    MOVED("aten::select_scatter"),
    MOVED("aten::slice_scatter"),
    MOVED("aten::diagonal_scatter"),
    MOVED("aten::as_strided_scatter"),
    MOVED("aten::diag_embed"),
    MOVED("aten::block_diag"),
    MOVED("aten::rot90"),
    MOVED("aten::unique_consecutive"),
    MOVED("aten::unique_dim_consecutive"),
    MOVED("aten::_unique"),
    MOVED("aten::nonzero_static"),
    MOVED("aten::bucketize"),
    MOVED("aten::searchsorted"),
    MOVED("aten::triu_indices"),
    MOVED("aten::tril_indices"),
    MOVED("aten::range"),
    MOVED("aten::logspace"),
    MOVED("aten::reflection_pad1d"),
    MOVED("aten::reflection_pad3d"),
    MOVED("aten::replication_pad1d"),
    MOVED("aten::replication_pad2d"),
    MOVED("aten::replication_pad3d"),
    MOVED("aten::reflection_pad1d_backward"),
    MOVED("aten::reflection_pad2d_backward"),
    MOVED("aten::reflection_pad3d_backward"),
    MOVED("aten::replication_pad1d_backward"),
    MOVED("aten::replication_pad2d_backward"),
    MOVED("aten::replication_pad3d_backward"),
    MOVED("aten::max_unpool2d"),
    MOVED("aten::max_unpool3d"),
    MOVED("aten::pixel_shuffle"),
    MOVED("aten::pixel_unshuffle"),
    MOVED("aten::channel_shuffle"),
    MOVED("aten::embedding_renorm"),
    MOVED("aten::to_padded_tensor"),
    MOVED("aten::_nested_from_padded"),
    MOVED("aten::_nested_from_padded_tensor"),
    MOVED("aten::_nested_tensor_from_mask"),
    MOVED("aten::_nested_tensor_from_mask_left_aligned"),
    MOVED("aten::_nested_tensor_from_tensor_list"),
    MOVED("aten::_jagged_to_padded_dense_forward"),
    MOVED("aten::_padded_dense_to_jagged_forward"),
    MOVED("aten::_copy_from"),
    MOVED("aten::_copy_from_and_resize"),
    MOVED("aten::_to_sparse"),
    MOVED("aten::_to_dense"),
    MOVED("aten::_coalesce"),
    MOVED("aten::_mkldnn_transpose"),
    MOVED("aten::_mkldnn_reshape"),
    MOVED("aten::_mkldnn_transpose_"),
    MOVED("aten::_pack_padded_sequence"),
    MOVED("aten::_unsafe_index"),
    MOVED("aten::_unsafe_index_put"),
    MOVED("aten::_unsafe_masked_index"),
    MOVED("aten::_unsafe_masked_index_put_accumulate"),
    MOVED("aten::_cudnn_rnn_flatten_weight"),
    MOVED("aten::_cudnn_init_dropout_state"),
    MOVED("aten::_foreach_clone"),
    MOVED("aten::_fill_mem_eff_dropout_mask_"),
    MOVED("aten::_reshape_copy"),
    MOVED("aten::_conj_copy"),
    MOVED("aten::_neg_view_copy"),
    MOVED("aten::alias_copy"),
    MOVED("aten::as_strided_copy"),
    MOVED("aten::detach_copy"),
    MOVED("aten::diagonal_copy"),
    MOVED("aten::expand_copy"),
    MOVED("aten::lift_fresh_copy"),
    MOVED("aten::narrow_copy"),
    MOVED("aten::permute_copy"),
    MOVED("aten::select_copy"),
    MOVED("aten::slice_copy"),
    MOVED("aten::split_copy"),
    MOVED("aten::split_with_sizes_copy"),
    MOVED("aten::unsafe_split_with_sizes"),
    MOVED("aten::squeeze_copy"),
    MOVED("aten::t_copy"),
    MOVED("aten::transpose_copy"),
    MOVED("aten::unbind_copy"),
    MOVED("aten::unfold_copy"),
    MOVED("aten::unsqueeze_copy"),
    MOVED("aten::view_as_complex_copy"),
    MOVED("aten::view_as_real_copy"),
    MOVED("aten::view_copy"),
    MOVED("aten::_reshape_alias_copy"),
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
    FREE("aten::sym_stride"),
    FREE("aten::sym_numel"),
    FREE("aten::sym_storage_offset"),
    FREE("prim::device"),
    FREE("prim::layout"),
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
    FREE("aten::empty_permuted"),
    FREE("aten::_efficientzerotensor"),
    FREE("aten::_lazy_clone"),
    FREE("aten::lift"),
    FREE("aten::is_set_to"),
    FREE("aten::_assert_async"),
    FREE("aten::_functional_assert_async"),
    FREE("aten::_assert_scalar"),
    FREE("aten::_functional_assert_scalar"),
    FREE("aten::_assert_tensor_metadata"),
    FREE("aten::sym_constrain_range"),
    FREE("aten::sym_constrain_range_for_size"),
    FREE("aten::_has_same_storage_numel"),
    FREE("aten::_neg_view"),
    FREE("aten::_fw_primal"),
    FREE("aten::_make_dual"),
    FREE("aten::_indices"),
    FREE("aten::_values"),
    FREE("aten::indices"),
    FREE("aten::values"),
    FREE("aten::crow_indices"),
    FREE("aten::col_indices"),
    FREE("aten::_nnz"),
    FREE("aten::dense_dim"),
    FREE("aten::sparse_dim"),
    FREE("aten::is_coalesced"),
    FREE("aten::_resize_output"),
    FREE("aten::_print"),
    FREE("aten::_nested_get_values"),
    FREE("aten::_nested_view_from_buffer"),
    FREE("aten::_nested_view_from_jagged"),
    FREE("aten::_nested_tensor_size"),
    FREE("aten::_nested_tensor_strides"),
    FREE("aten::_nested_tensor_storage_offsets"),
    FREE("aten::_nested_get_offsets"),
    FREE("aten::_nested_get_lengths"),
    FREE("aten::_nested_get_ragged_idx"),
    FREE("aten::_nested_get_jagged_dummy"),
    FREE("aten::_nested_get_min_seqlen"),
    FREE("aten::_nested_get_max_seqlen"),
    FREE("aten::_nested_compute_contiguous_strides_offsets"),
    FREE("aten::_use_cudnn_ctc_loss"),
    FREE("aten::_validate_compressed_sparse_indices"),
    FREE("aten::_linalg_check_errors"),
    FREE("aten::element_size"),
    FREE("aten::_is_all_true"),
    FREE("aten::_is_any_true"),
    FREE("aten::slice_inverse"),
};

const struct flop_formula movement_formula = {
    .name = "movement",
    .summary = "copies, gathers, fills: bytes; views and allocations: nothing",
    RULES(rules),
};
