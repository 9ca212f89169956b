/* FLOPs of fused attention.
 *
 * Forward: Q K^T and P V, 2 B H Sq Sk (D + Dv). Backward: five products, for S is computed again
 * (2 B H Sq Sk (3 D + 2 Dv), the hardware count, as FlopCounterMode's); without that one it is four
 * (model_flops). Softmax, scale and dropout are not counted. With fewer heads of K and V than of Q
 * (grouped queries) the heads of Q count.
 * masked_flops: only the pairs (i, j) that a causal mask or a window leaves. Masks given as a
 * tensor hide their form and count in full.
 * Source: Dao et al., FlashAttention; argument lists from torch's native_functions.yaml. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

enum { NO_ARGUMENT = -1, SEQUENCE_MAX = 1 << 30 };

/* Where the arguments of an op stand; of a rule's numbers, in this order. */
struct attention_layout {
    int query;   /* key and value follow; after a gradient in a backward */
    int causal;  /* a boolean; for _efficient_attention a number: 1 causal from top left, 2 from
                    below right */
    int lengths; /* tensor of sequence lengths: where it is there, sequences are packed */
    int window;  /* left; right follows */
    bool is_backward;
    bool is_heads_last;  /* [B, S, H, D], not [B, H, S, D] */
    bool is_custom_mask; /* `causal` is such a number */
};

struct attention_sizes {
    int64_t batch_heads;
    int64_t queries;
    int64_t keys;
    int64_t key_dim;   /* D */
    int64_t value_dim; /* Dv */
};

/* Heads stand last but one or last but two, by the library (flash-attn: batch, sequence,
 * heads, dim; PyTorch: batch, heads, sequence, dim). Further dimensions in front are a batch.
 * If keys and values do not agree in length, these are no arguments of an attention. */
static bool read_sizes(struct attention_sizes *sizes, const struct op_call *call,
                       const struct attention_layout *layout)
{
    uint32_t query = (uint32_t)layout->query;
    int sequence = layout->is_heads_last ? -3 : -2;
    int heads = layout->is_heads_last ? -2 : -3;
    int rank = rank_of(call, query);
    int64_t batch = 1;

    if (rank < 3 || rank > 5 || rank_of(call, query + 1) < 3 || rank_of(call, query + 2) < 3)
        return false;
    for (int dim = -rank; dim < -3; dim++)
        batch = times(batch, size_of(call, query, dim));
    sizes->batch_heads = times(batch, size_of(call, query, heads));
    sizes->queries = size_of(call, query, sequence);
    sizes->keys = size_of(call, query + 1, sequence);
    sizes->key_dim = size_of(call, query, -1);
    sizes->value_dim = size_of(call, query + 2, -1);
    return size_of(call, query + 1, -1) == sizes->key_dim &&
           size_of(call, query + 2, sequence) == sizes->keys;
}

/* first + (first + 1) + ... of `count` numbers, none negative. Halved before it is multiplied,
 * so that no product overflows that the sum does not. */
static int64_t series(int64_t first, int64_t count)
{
    int64_t triangle = count % 2 == 0 ? times(count / 2, count - 1) : times(count, (count - 1) / 2);

    return plus(times(count, first), triangle);
}

/* Pairs (i, j) with 0 <= i < queries, 0 <= j < keys and j <= i + offset. Exact and in O(1),
 * where a loop over rows would take a million turns for one call. */
static int64_t pairs_up_to(int64_t queries, int64_t keys, int64_t offset)
{
    /* row i has min(max(i + offset + 1, 0), keys) pairs: first none, then one more each, then all
     */
    int64_t empty_rows = offset < -1 ? -(offset + 1) : 0;
    int64_t full_from = keys > offset + 1 ? keys - offset - 1 : 0; /* the first row with all */
    int64_t growing;

    if (empty_rows > queries)
        empty_rows = queries;
    if (full_from > queries)
        full_from = queries;
    if (full_from < empty_rows)
        full_from = empty_rows;
    growing = full_from - empty_rows;
    return plus(series(empty_rows + offset + 1, growing), times(queries - full_from, keys));
}

/* What a mask leaves: key j for query i where i + shift - left <= j <= i + shift + right; negative
 * `left` or `right`: no limit. */
struct attention_mask {
    int64_t left;
    int64_t right;
    bool is_below_right; /* the last query sees the last key (as flash-attn aligns) */
};

/* A band is what lies up to its right edge less what lies up to its left one. Limits as large
 * as the matrix are none, and would overflow as an offset. */
static int64_t masked_pairs(const struct attention_sizes *sizes, struct attention_mask mask)
{
    int64_t shift = mask.is_below_right ? sizes->keys - sizes->queries : 0;
    int64_t pairs = times(sizes->queries, sizes->keys);

    if (mask.right >= 0 && mask.right < sizes->queries + sizes->keys)
        pairs = pairs_up_to(sizes->queries, sizes->keys, shift + mask.right);
    if (mask.left >= 0 && mask.left < sizes->queries + sizes->keys)
        pairs -= pairs_up_to(sizes->queries, sizes->keys, shift - mask.left - 1);
    return pairs < 0 ? 0 : pairs;
}

/* Two numbers, or one list of two. */
static void read_window(struct attention_mask *mask, const struct op_call *call, uint32_t argument)
{
    struct value_list window;

    if (list_value(call, argument, &window) && window.count == 2) {
        mask->left = window.values[0];
        mask->right = window.values[1];
        return;
    }
    (void)integer_value(call, argument, &mask->left);
    (void)integer_value(call, argument + 1, &mask->right);
}

/* flash-attn aligns the mask to the bottom right, aten's is_causal to the top left: they
 * differ where there are fewer queries than keys, as in decoding with a cache. */
static struct attention_mask read_mask(const struct op_call *call,
                                       const struct attention_layout *layout)
{
    struct attention_mask mask = {.left = -1, .right = -1, .is_below_right = layout->is_heads_last};
    int64_t number;
    bool is_causal;

    if (layout->window != NO_ARGUMENT)
        read_window(&mask, call, (uint32_t)layout->window);
    if (layout->is_custom_mask && integer_value(call, (uint32_t)layout->causal, &number)) {
        if (number == 1 || number == 2)
            mask.right = 0;
        mask.is_below_right = number == 2;
    } else if (boolean_value(call, (uint32_t)layout->causal, &is_causal) && is_causal) {
        mask.right = 0;
    }
    return mask;
}

/* Packed sequences that are all as long as the longest: then n of them, of the longest's length,
 * are all tokens. The offsets [n + 1] of queries and of keys are followed by the longest of each.
 */
static bool split_even_sequences(struct attention_sizes *sizes, const struct op_call *call,
                                 const struct attention_layout *layout)
{
    uint32_t offsets = (uint32_t)layout->lengths;
    int64_t sequences = size_of(call, offsets, 0) - 1;
    int64_t longest[2];

    if (!layout->is_heads_last || sequences < 1 || size_of(call, offsets + 1, 0) != sequences + 1 ||
        !integer_value(call, offsets + 2, &longest[0]) ||
        !integer_value(call, offsets + 3, &longest[1]) ||
        times(sequences, longest[0]) != sizes->queries ||
        times(sequences, longest[1]) != sizes->keys)
        return false;
    sizes->batch_heads = times(sizes->batch_heads, sequences);
    sizes->queries = longest[0];
    sizes->keys = longest[1];
    return true;
}

/* Forward 2 products, backward 5, of which the model needs 4: S is recomputed, which is one of
 * key_dim. All in multiply-adds per pair first, since the mask changes the pairs alone. */
static bool count_attention(struct op_cost *cost, const struct op_call *call,
                            const struct attention_layout *layout)
{
    struct attention_sizes sizes = {0};
    int64_t pairs;
    int64_t each;       /* multiply-adds for a pair of query and key */
    int64_t each_model; /* without what a backward computes again */
    int64_t bytes;

    if (!read_sizes(&sizes, call, layout))
        return not_counted(cost, why_odd_shapes);
    if (layout->lengths != NO_ARGUMENT && size_of(call, (uint32_t)layout->lengths, 0) > 0 &&
        !split_even_sequences(&sizes, call, layout))
        return not_counted(cost, why_packed_sequences);
    if (sizes.queries > SEQUENCE_MAX || sizes.keys > SEQUENCE_MAX)
        return not_counted(cost, why_too_large);
    each_model = times(plus(sizes.key_dim, sizes.value_dim), layout->is_backward ? 2 : 1);
    each = plus(each_model, layout->is_backward ? sizes.key_dim : 0);
    pairs = times(times(sizes.queries, sizes.keys), sizes.batch_heads);
    /* read: what is given; written: the output, or the three gradients */
    bytes = bytes_moved(
        call, (struct byte_range){0, (uint32_t)layout->query + 3, (uint32_t)layout->query,
                                  times(times(sizes.batch_heads, sizes.queries), sizes.value_dim)});
    (void)matrix_cost(cost, times(pairs, each), bytes);
    if (cost->flops == TOO_LARGE)
        return true;
    cost->model_flops = times(times(pairs, each_model), 2);
    pairs = times(masked_pairs(&sizes, read_mask(call, layout)), sizes.batch_heads);
    cost->masked_flops = times(times(pairs, each), 2);
    return true;
}

static struct attention_layout layout_of(const struct op_rule *rule)
{
    return (struct attention_layout){.query = rule->numbers[0],
                                     .causal = rule->numbers[1],
                                     .lengths = rule->numbers[2],
                                     .window = rule->numbers[3],
                                     .is_backward = rule->numbers[0] > 0};
}

static bool count_heads_first(struct op_cost *cost, const struct op_call *call,
                              const struct op_rule *rule)
{
    struct attention_layout layout = layout_of(rule);

    return count_attention(cost, call, &layout);
}

static bool count_heads_last(struct op_cost *cost, const struct op_call *call,
                             const struct op_rule *rule)
{
    struct attention_layout layout = layout_of(rule);

    layout.is_heads_last = true;
    return count_attention(cost, call, &layout);
}

static bool count_custom_mask(struct op_cost *cost, const struct op_call *call,
                              const struct op_rule *rule)
{
    struct attention_layout layout = layout_of(rule);

    layout.is_heads_last = true;
    layout.is_custom_mask = true;
    return count_attention(cost, call, &layout);
}

/* flex_attention_backward(query, key, value, out, logsumexp, grad_out, ...) */
static bool count_flex_backward(struct op_cost *cost, const struct op_call *call,
                                const struct op_rule *rule)
{
    struct attention_layout layout = layout_of(rule);

    layout.is_backward = true;
    return count_attention(cost, call, &layout);
}

/* _native_multi_head_attention(query [B, S, E], key, value, embed_dim, heads, qkv_weight [3E, E],
 * qkv_bias, proj_weight, ...): the whole of nn.MultiheadAttention for inference. */
static int64_t multi_head_macs(const struct op_call *call)
{
    int64_t batch = size_of(call, 0, 0);
    int64_t queries = size_of(call, 0, 1);
    int64_t width = size_of(call, 0, 2);
    int64_t keys = rank_of(call, 1) == 3 ? size_of(call, 1, 1) : queries;
    /* query and output, key and value, and the two products of attention */
    int64_t projections = times(plus(times(2, queries), times(2, keys)), times(width, width));
    int64_t attention = times(times(queries, keys), times(2, width));

    return times(batch, plus(projections, attention));
}

static bool count_multi_head(struct op_cost *cost, const struct op_call *call,
                             const struct op_rule *rule)
{
    (void)rule;
    if (rank_of(call, 0) != 3)
        return not_counted(cost, why_odd_shapes);
    return matrix_cost(cost, multi_head_macs(call), -1);
}

/* _transformer_encoder_layer_fwd(src, embed_dim, heads, qkv_weight, qkv_bias, proj_weight,
 * proj_bias, use_gelu, norm_first, eps, norm weights and biases (10 to 13), ffn_weight_1 [F, E],
 * bias, ffn_weight_2, bias): nn.TransformerEncoderLayer for inference. */
static bool count_encoder_layer(struct op_cost *cost, const struct op_call *call,
                                const struct op_rule *rule)
{
    int64_t tokens = times(size_of(call, 0, 0), size_of(call, 0, 1));
    int64_t feed_forward = plus(elements_of(call, 14), elements_of(call, 16));

    (void)rule;
    if (rank_of(call, 0) != 3 || rank_of(call, 14) != 2 || rank_of(call, 16) != 2)
        return not_counted(cost, why_odd_shapes);
    return matrix_cost(cost, plus(multi_head_macs(call), times(tokens, feed_forward)), -1);
}

enum { NONE = NO_ARGUMENT };

static const struct op_rule rules[] = {
    {"aten::scaled_dot_product_attention", count_heads_first, {0, 5, NONE, NONE}},
    {"aten::_scaled_dot_product_attention_math", count_heads_first, {0, 5, NONE, NONE}},
    {"aten::_scaled_dot_product_flash_attention", count_heads_first, {0, 4, NONE, NONE}},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", count_heads_first, {0, 4, NONE, NONE}},
    {"aten::_scaled_dot_product_efficient_attention", count_heads_first, {0, 6, NONE, NONE}},
    {"aten::_scaled_dot_product_cudnn_attention", count_heads_first, {0, 6, NONE, NONE}},
    {"aten::_scaled_dot_product_fused_attention_overrideable",
     count_heads_first,
     {0, 5, NONE, NONE}},
    {"aten::_cudnn_attention_forward", count_heads_first, {0, 10, 4, NONE}},
    {"aten::_flash_attention_forward", count_heads_last, {0, 8, 3, 11}},
    {"flash_attn::_flash_attn_forward", count_heads_last, {0, 5, NONE, 6}},
    {"aten::_efficient_attention_forward", count_custom_mask, {0, 9, 4, NONE}},
    {"aten::_scaled_dot_product_flash_attention_backward", count_heads_first, {1, 11, 6, NONE}},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
     count_heads_first,
     {1, 7, NONE, NONE}},
    {"aten::_scaled_dot_product_efficient_attention_backward",
     count_heads_first,
     {1, 11, NONE, NONE}},
    {"aten::_scaled_dot_product_cudnn_attention_backward", count_heads_first, {1, 14, 9, NONE}},
    {"aten::_scaled_dot_product_fused_attention_overrideable_backward",
     count_heads_first,
     {1, 13, 8, NONE}},
    {"aten::_cudnn_attention_backward", count_heads_first, {1, 14, 9, NONE}},
    {"aten::_flash_attention_backward", count_heads_last, {1, 11, 6, 15}},
    {"flash_attn::_flash_attn_backward", count_heads_last, {1, 11, NONE, 12}},
    {"aten::_efficient_attention_backward", count_custom_mask, {1, 14, 6, NONE}},
    {"torch_attn::_varlen_attn", count_heads_last, {0, 7, 3, 9}},
    {"torch_attn::_varlen_attn_backward", count_heads_last, {1, 10, 6, 13}},
    {"flash_attn::_flash_attn_varlen_forward", count_heads_last, {0, 9, 3, 10}},
    {"flash_attn::_flash_attn_varlen_backward", count_heads_last, {1, 15, 9, 16}},
    /* what its score_mod computes and its block mask leaves out is not to be seen from outside */
    {"flex_attention", count_heads_first, {0, NONE, NONE, NONE}},
    {"flex_attention_backward", count_flex_backward, {0, NONE, NONE, NONE}},
    {"aten::_native_multi_head_attention", count_multi_head, {0}},
    {"aten::_transformer_encoder_layer_fwd", count_encoder_layer, {0}},
};

const struct flop_formula attention_formula = {
    .name = "attention",
    .summary = "fused attention: 2 B H Sq Sk (D + Dv), its backward 2.5 times that",
    RULES(rules),
};
