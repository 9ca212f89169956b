/* FLOPs of fused attention: full, masked, and the two ways to count a backward. */
#include "cost/flops/count_flops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct op_cost cost_of(const char *op, const char *shapes, const char *values)
{
    struct op_call call = {0};
    struct op_call_text text = {.name = op, .shapes = shapes, .values = values};
    struct op_cost cost = count_flops_of_text(&call, &text, NULL);

    op_call_clear(&call);
    return cost;
}

/* The trace of a small Llama holds these. */
static void forward_and_backward_on_the_cpu(void **state)
{
    struct op_cost forward =
        cost_of("aten::_scaled_dot_product_flash_attention_for_cpu",
                "[[2, 4, 64, 16], [2, 4, 64, 16], [2, 4, 64, 16], [], [], [], []]",
                "[\"\", \"\", \"\", \"0.\", \"True\", \"\", \"0.25\"]");
    struct op_cost backward =
        cost_of("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                "[[2, 4, 64, 16], [2, 4, 64, 16], [2, 4, 64, 16], [2, 4, 64, 16], [2, 4, 64, 16], "
                "[2, 4, 64], [], [], [], []]",
                "[\"\", \"\", \"\", \"\", \"\", \"\", \"0.\", \"True\", \"\", \"0.25\"]");

    assert_int_equal(forward.flops, 2097152); /* 2 * 8 * 64 * 64 * 32 */
    assert_int_equal(forward.model_flops, 2097152);
    assert_int_equal(forward.masked_flops, 2 * 8 * (64 * 65 / 2) * 32);
    assert_int_equal(backward.flops, 5242880); /* 2.5 times */
    assert_int_equal(backward.model_flops, 2 * 2097152);
    assert_int_equal(backward.masked_flops, 2 * 8 * (64 * 65 / 2) * 80);
}

/* Fewer heads of keys and values: those of the queries count. */
static void grouped_queries(void **state)
{
    struct op_cost cost = cost_of("aten::_scaled_dot_product_flash_attention_for_cpu",
                                  "[[2, 4, 64, 16], [2, 2, 64, 16], [2, 2, 64, 16], [], []]", "");

    assert_int_equal(cost.flops, 2097152);
    assert_int_equal(cost.masked_flops, cost.flops);
}

/* Every variant of one problem: 2 samples, 4 heads, 64 queries, 32 keys, 16 wide, values 8. */
static void all_variants_agree(void **state)
{
    static const char first[] = "[2, 4, 64, 16], [2, 4, 32, 16], [2, 4, 32, 8]";
    static const char last[] = "[2, 64, 4, 16], [2, 32, 4, 16], [2, 32, 4, 8]";
    static const struct {
        const char *op;
        const char *sizes;
        bool is_backward;
    } variants[] = {
        {"aten::scaled_dot_product_attention", first, false},
        {"aten::_scaled_dot_product_attention_math", first, false},
        {"aten::_scaled_dot_product_flash_attention", first, false},
        {"aten::_scaled_dot_product_flash_attention_for_cpu", first, false},
        {"aten::_scaled_dot_product_efficient_attention", first, false},
        {"aten::_scaled_dot_product_cudnn_attention", first, false},
        {"aten::_scaled_dot_product_fused_attention_overrideable", first, false},
        {"aten::_flash_attention_forward", last, false},
        {"aten::_efficient_attention_forward", last, false},
        {"flash_attn::_flash_attn_forward", last, false},
        {"aten::_scaled_dot_product_flash_attention_backward", first, true},
        {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", first, true},
        {"aten::_scaled_dot_product_efficient_attention_backward", first, true},
        {"aten::_scaled_dot_product_cudnn_attention_backward", first, true},
        {"aten::_scaled_dot_product_fused_attention_overrideable_backward", first, true},
        {"aten::_flash_attention_backward", last, true},
        {"aten::_efficient_attention_backward", last, true},
        {"flash_attn::_flash_attn_backward", last, true},
    };

    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        char shapes[256];
        struct op_cost cost;

        (void)snprintf(shapes, sizeof shapes, "[%s%s]",
                       variants[i].is_backward ? "[1, 1, 1, 1], " : "", variants[i].sizes);
        cost = cost_of(variants[i].op, shapes, "");
        assert_int_equal(cost.kind, COST_MATRIX);
        assert_int_equal(cost.flops, variants[i].is_backward ? 2 * 8 * 64 * 32 * (3 * 16 + 2 * 8)
                                                             : 2 * 8 * 64 * 32 * (16 + 8));
    }
}

/* Counts the pairs one by one. */
static int64_t pairs_counted(int64_t queries, int64_t keys, int64_t shift, int64_t left,
                             int64_t right)
{
    int64_t pairs = 0;

    for (int64_t i = 0; i < queries; i++)
        for (int64_t j = 0; j < keys; j++)
            pairs += (left < 0 || j >= i + shift - left) && (right < 0 || j <= i + shift + right);
    return pairs;
}

static void windows_are_counted_pair_by_pair(void **state)
{
    for (int64_t queries = 1; queries < 7; queries++)
        for (int64_t keys = 1; keys < 7; keys++)
            for (int64_t left = -1; left < 8; left++)
                for (int64_t right = -1; right < 8; right++) {
                    char shapes[256];
                    char values[256];
                    struct op_cost cost;

                    (void)snprintf(shapes, sizeof shapes,
                                   "[[1, %d, 1, 1], [1, %d, 1, 1], [1, %d, 1, 1]]", (int)queries,
                                   (int)keys, (int)keys);
                    (void)snprintf(values, sizeof values,
                                   "[\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"False\", "
                                   "\"False\", \"\", \"%d\", \"%d\"]",
                                   (int)left, (int)right);
                    cost = cost_of("aten::_flash_attention_forward", shapes, values);
                    assert_int_equal(cost.flops, 4 * queries * keys);
                    assert_int_equal(cost.masked_flops,
                                     4 * pairs_counted(queries, keys, keys - queries, left, right));
                }
}

/* torch's is_causal begins at the top left, whatever the number of keys. */
static void causal_from_the_top_left(void **state)
{
    struct op_cost cost = cost_of("aten::scaled_dot_product_attention",
                                  "[[1, 1, 3, 1], [1, 1, 5, 1], [1, 1, 5, 1], [], [], [], [], []]",
                                  "[\"\", \"\", \"\", \"\", \"0.\", \"True\", \"\", \"False\"]");

    assert_int_equal(cost.masked_flops, 4 * pairs_counted(3, 5, 0, -1, 0));
    cost =
        cost_of("aten::_efficient_attention_forward", "[[1, 3, 1, 1], [1, 5, 1, 1], [1, 5, 1, 1]]",
                "[\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"0.\", \"2\"]");
    assert_int_equal(cost.masked_flops, 4 * pairs_counted(3, 5, 2, -1, 0));
}

/* Variable-length attention of one sequence, and flex attention: 2 heads, 6 queries, 9 keys of 4.
 */
static void names_of_other_libraries(void **state)
{
    static const char *const packed[] = {"torch_attn::_varlen_attn",
                                         "flash_attn::_flash_attn_varlen_forward"};
    struct op_cost window =
        cost_of("torch_attn::_varlen_attn",
                "[[1, 6, 2, 4], [1, 6, 2, 4], [1, 6, 2, 4], [], [], [], [], [], [], []]",
                "[\"\", \"\", \"\", \"\", \"\", \"6\", \"6\", \"False\", \"\", \"[1, 0]\"]");
    struct op_cost backward = cost_of(
        "flex_attention_backward", "[[1, 2, 6, 4], [1, 2, 9, 4], [1, 2, 9, 4], [1, 2, 6, 4]]", "");

    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        assert_int_equal(
            cost_of(packed[i], "[[1, 6, 2, 4], [1, 9, 2, 4], [1, 9, 2, 4], [], []]", "").flops,
            2 * 2 * 6 * 9 * 8);
        assert_string_equal(
            cost_of(packed[i], "[[6, 2, 4], [9, 2, 4], [9, 2, 4], [3], [3]]", "").why,
            why_packed_sequences);
    }
    assert_int_equal(window.masked_flops, 2 * 2 * 11 * 8); /* each query sees itself and one more */
    assert_int_equal(
        cost_of("flex_attention", "[[1, 2, 6, 4], [1, 2, 9, 4], [1, 2, 9, 4]]", "").flops,
        2 * 2 * 6 * 9 * 8);
    assert_int_equal(backward.flops, 5 * 2 * 6 * 9 * 8);
    assert_int_equal(backward.model_flops, 4 * 2 * 6 * 9 * 8);
}

/* nn.TransformerEncoderLayer for inference: 2 x 10 tokens of 64, feed-forward 128. The sum of two
 * layers stands in golden/flops/torch_transformer_encoder_2l_d64 with 2,621,440 + 102,400. */
static void fused_encoder_layer(void **state)
{
    struct op_cost cost =
        cost_of("aten::_transformer_encoder_layer_fwd",
                "[[2, 10, 64], [], [], [192, 64], [192], [64, 64], [64], [], [], [], [64], [64], "
                "[64], [64], [128, 64], [128], [64, 128], [64], [], []]",
                "");

    assert_int_equal(cost.flops, (2621440 + 102400) / 2);
    cost = cost_of("aten::_native_multi_head_attention",
                   "[[2, 10, 64], [2, 10, 64], [2, 10, 64], [], [], [192, 64]]", "");
    assert_int_equal(cost.flops, 2 * 20 * (4 * 64 * 64) + 102400 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_and_backward_on_the_cpu),
        cmocka_unit_test(grouped_queries),
        cmocka_unit_test(all_variants_agree),
        cmocka_unit_test(windows_are_counted_pair_by_pair),
        cmocka_unit_test(causal_from_the_top_left),
        cmocka_unit_test(names_of_other_libraries),
        cmocka_unit_test(fused_encoder_layer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
