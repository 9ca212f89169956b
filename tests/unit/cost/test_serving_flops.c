/* FLOPs and bytes of the operators of inference servers, by closed forms. */
#include "cost/flops/count_flops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define BF16 "\"c10::BFloat16\""
#define FP8  "\"c10::Float8_e4m3fn\""

static struct op_cost cost_in(struct call_surroundings around, struct op_call_text text)
{
    struct op_call call = {0};
    struct op_cost cost;

    text.around = around;
    cost = count_flops_of_text(&call, &text, NULL);
    op_call_clear(&call);
    return cost;
}

static struct op_cost cost_of(const char *name, const char *shapes, const char *types,
                              const char *values)
{
    return cost_in(
        (struct call_surroundings){0},
        (struct op_call_text){.name = name, .shapes = shapes, .types = types, .values = values});
}

/* One request prefills 3 tokens of 5; two decode and see 10 and 20. */
static const struct serving_range mixed_step = {
    .phase = SERVING_MIXED,
    .requests = 3,
    .tokens = 5,
    .has_sums = true,
    .context = {1, 3, 5, 9, 15},
    .generation = {2, 2, 30, 2, 30},
};
enum { CAUSAL_PAIRS = 3 + 4 + 5 + 10 + 20, ALL_PAIRS = 15 + 30, KEYS = 5 + 30 };

/* 8 heads of 64 of queries, 2 of keys; rows beyond the five tokens are padding. */
static const struct op_call_text unified = {
    .name = "vllm::unified_attention_with_output",
    .shapes = "[[8, 8, 64], [8, 2, 64], [8, 2, 64], [8, 8, 64], [], [], [], [0]]",
    .types = "[" BF16 ", " BF16 ", " BF16 ", " BF16 ", \"\", \"\", \"\", " BF16 "]",
};

static void attention_of_a_step(void **state)
{
    struct call_surroundings around = {.step = &mixed_step};
    struct op_cost cost = cost_in(around, unified);
    struct op_call_text flat = unified;

    assert_int_equal(cost.kind, COST_MATRIX);
    assert_int_equal(cost.masked_flops, 4 * 8 * 64 * CAUSAL_PAIRS);
    assert_int_equal(cost.flops, 4 * 8 * 64 * ALL_PAIRS);
    assert_int_equal(cost.bytes, 2 * (2 * 8 * 8 * 64 + KEYS * 2 * 2 * 64));
    flat.name = "vllm::unified_attention";
    flat.shapes = "[[8, 512], [8, 128], [8, 128], []]";
    assert_int_equal(cost_in(around, flat).masked_flops, cost.masked_flops);
}

/* A server may call attention for each kind of request by itself. */
static void attention_of_one_kind_of_requests(void **state)
{
    struct call_surroundings around = {.step = &mixed_step};
    struct op_call_text text = unified;

    text.shapes = "[[3, 8, 64], [3, 2, 64], [3, 2, 64], [3, 8, 64]]";
    assert_int_equal(cost_in(around, text).masked_flops, 4 * 8 * 64 * (3 + 4 + 5));
    text.shapes = "[[2, 8, 64], [2, 2, 64], [2, 2, 64], [2, 8, 64]]";
    assert_int_equal(cost_in(around, text).masked_flops, 4 * 8 * 64 * 30);
    text.shapes = "[[4, 8, 64], [4, 2, 64], [4, 2, 64], [4, 8, 64]]";
    assert_int_equal(cost_in(around, text).kind, COST_NOT_COUNTED);
}

static void attention_without_lengths_is_not_counted(void **state)
{
    struct serving_range unknown = mixed_step;
    struct op_cost cost = cost_in((struct call_surroundings){0}, unified);

    assert_ptr_equal(cost.why, why_no_lengths);
    assert_true(cost.is_own_work);
    unknown.has_sums = false;
    cost = cost_in((struct call_surroundings){.step = &unknown}, unified);
    assert_ptr_equal(cost.why, why_no_lengths);
}

/* Every second layer sees 8 tokens: of 10 and 20 (mean 15) 8 each, of the prefill all. */
static void windows_count_by_their_layers(void **state)
{
    static const struct attention_windows windows = {{12, 12}, {8, 0}, 2};
    struct call_surroundings around = {.step = &mixed_step, .windows = &windows};
    struct op_cost cost = cost_in(around, unified);

    assert_int_equal(cost.masked_flops, 4 * 8 * 64 * (12 + (8 + 8 + 30) / 2));
    assert_int_equal(cost.bytes, 2 * (2 * 8 * 8 * 64 + (5 + (16 + 30) / 2) * 2 * 2 * 64));
}

/* SGLang's profiler numbers its functions; the cache tells its own type. */
static void attention_over_a_cache(void **state)
{
    struct call_surroundings around = {.step = &mixed_step};
    struct op_cost cost =
        cost_in(around, (struct op_call_text){
                            .name = "sglang_profiler::attention_paged_attention_ragged_100",
                            .shapes = "[[8, 8, 64], [999], [8, 8, 64], [99, 1, 2, 64], "
                                      "[99, 1, 2, 64], [9]]",
                            .types = "[" BF16 ", \"unsigned char\", " BF16 ", " FP8 ", " FP8 "]"});

    assert_int_equal(cost.masked_flops, 4 * 8 * 64 * CAUSAL_PAIRS);
    assert_int_equal(cost.bytes, 2 * 2 * 8 * 8 * 64 + KEYS * 2 * 2 * 64);
    cost = cost_in(around, (struct op_call_text){
                               .name = "_C::paged_attention_v1",
                               .shapes = "[[8, 8, 64], [8, 8, 64], [9, 2, 8, 16, 8], "
                                         "[9, 2, 64, 16], []]",
                               .types = "[" BF16 ", " BF16 ", " BF16 ", " BF16 ", \"Scalar\"]",
                               .values = "[\"\", \"\", \"\", \"\", \"2\"]"});
    assert_int_equal(cost.masked_flops, 4 * 8 * 64 * CAUSAL_PAIRS);
    assert_int_equal(cost.bytes, 2 * (2 * 8 * 8 * 64 + KEYS * 2 * 2 * 64));
}

/* 16 heads, a compressed key of 512 and a rotary part of 64. */
static void latent_attention(void **state)
{
    struct op_cost cost = cost_in(
        (struct call_surroundings){.step = &mixed_step},
        (struct op_call_text){.name = "sgl_kernel::cutlass_mla_decode",
                              .shapes = "[[8, 16, 512], [8, 16, 512], [8, 16, 64], [99, 128, 576]]",
                              .types = "[" BF16 ", " BF16 ", " BF16 ", " BF16 "]"});

    assert_int_equal(cost.masked_flops, 2 * 16 * (2 * 512 + 64) * CAUSAL_PAIRS);
    assert_int_equal(cost.bytes, 2 * (8 * 16 * (2 * 512 + 64) + KEYS * 576));
}

#define PREFILL_VALUES(longest, causal)                                \
    "[\"\", \"\", \"\", \"\", \"\", \"\", \"" longest "\", \"" longest \
    "\", \"0.\", \"0.1\", \"0.\", \"False\", \"" causal "\", \"-1\", \"-1\"]"

/* 3 requests of 4 tokens: all as long as the longest. */
static void packed_requests_of_one_length(void **state)
{
    static const char shapes[] = "[[12, 8, 64], [99, 2, 64], [99, 2, 64], [4], [4], [12]]";
    static const char name[] = "aiter::mha_batch_prefill";
    struct op_cost cost = cost_of(name, shapes, "", PREFILL_VALUES("4", "True"));

    assert_int_equal(cost.flops, 4 * 8 * 64 * 3 * 4 * 4);
    assert_int_equal(cost.masked_flops, 4 * 8 * 64 * 3 * (1 + 2 + 3 + 4));
    cost = cost_of(name, shapes, "", PREFILL_VALUES("4", "False"));
    assert_int_equal(cost.masked_flops, cost.flops);
    cost = cost_of(name, shapes, "", PREFILL_VALUES("5", "True"));
    assert_ptr_equal(cost.why, why_no_lengths);
    cost = cost_of("flash_attn::_flash_attn_varlen_forward",
                   "[[12, 8, 64], [12, 8, 64], [12, 8, 64], [4], [4], [], []]", "",
                   "[\"\", \"\", \"\", \"\", \"\", \"4\", \"4\", \"0.\", \"0.1\", \"True\"]");
    assert_int_equal(cost.flops, 4 * 8 * 64 * 3 * 4 * 4);
    assert_int_equal(cost.masked_flops, 4 * 8 * 64 * 3 * (1 + 2 + 3 + 4));
}

/* 16 x 64 by 64 x 32 under every name and in every layout. */
static void products_of_libraries(void **state)
{
    static const struct {
        const char *op;
        const char *shapes;
        const char *values;
    } products[] = {
        {"vllm::rocm_unquantized_gemm", "[[16, 64], [32, 64], [32]]", ""},
        {"aiter::gemm_a16w16", "[[16, 64], [32, 64], [], []]", ""},
        {"_C::cutlass_scaled_mm", "[[16, 32], [16, 64], [64, 32], [1], [1], []]", ""},
        {"sgl_kernel::fp8_scaled_mm", "[[16, 64], [64, 32], [16], [32]]", ""},
        {"aiter::gemm_a8w8", "[[16, 64], [32, 64], [16, 1], [1, 32], [16, 32]]", ""},
        {"sglang::deep_gemm_fp8_fp8_bf16_nt", "[[16, 64], [16, 1], [32, 64], [1, 1], [16, 32]]",
         ""},
        {"_C::cutlass_scaled_fp4_mm", "[[16, 32], [16, 32], [32, 32], [128, 4], [128, 4], []]", ""},
        {"_C::awq_gemm", "[[16, 64], [64, 4], [1, 32], [1, 4], []]", ""},
        {"_C::gptq_gemm", "[[16, 64], [8, 32], [1, 4], [1, 32]]", ""},
        {"sgl_kernel::gptq_marlin_gemm",
         "[[16, 64], [], [4, 64], [1, 32], [], [], [], [], [256], [], [], [], []]",
         "[\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"7\", \"16\", \"32\", \"64\"]"},
        {"_C::marlin_gemm",
         "[[16, 64], [], [4, 64], [], [1, 32], [], [], [], [], [], [256], [], [], [], []]",
         "[\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"7\", \"16\", "
         "\"32\", \"64\"]"},
        {"_C::cutlass_moe_mm", "[[16, 32], [16, 64], [4, 32, 64]]", ""},
        {"sgl_kernel::cutlass_fp4_group_mm", "[[16, 32], [16, 32], [4, 32, 32]]", ""},
        {"triton_tem_fused_mm_0", "[[16, 64], [64, 32], [16, 32]]", ""},
        {"_Linear", "[[32, 64], [16, 64], [32], []]", ""},
        {"_LayerNormLinear", "[[16, 64], [64], [64], [32, 64], []]", ""},
        {"_GroupedLinear", "[[16, 64], [], [32, 64], [32, 64]]", ""},
    };

    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct op_cost cost = cost_of(products[i].op, products[i].shapes, "", products[i].values);

        assert_int_equal(cost.kind, COST_MATRIX);
        assert_int_equal(cost.flops, 2 * 16 * 64 * 32);
    }
    assert_int_equal(
        cost_of("_LayerNormMLP", "[[16, 8], [8], [8], [64, 8], [64], [8, 32]]", "", "").flops,
        2 * 16 * (64 * 8 + 8 * 32));
    assert_int_equal(cost_of("_LinearBackward", "[[16, 32]]", "", "").kind, COST_NOT_COUNTED);
}

static void formats_of_products(void **state)
{
    struct op_cost cost = cost_of("_C::cutlass_scaled_mm", "[[16, 32], [16, 64], [64, 32]]",
                                  "[" BF16 ", " FP8 ", " FP8 "]", "");

    assert_int_equal(cost.operand, 1); /* its type is that of the product, not the result's */
    assert_int_equal(cost.bytes, 2 * 16 * 32 + 16 * 64 + 64 * 32);
    cost = cost_of("_C::cutlass_scaled_fp4_mm", "[[16, 32], [16, 32], [32, 32]]",
                   "[" BF16 ", \"unsigned char\", \"unsigned char\"]", "");
    assert_true(cost.is_four_bit);
    assert_int_equal(cost.bytes, 2 * 16 * 32 + 16 * 32 + 32 * 32);
}

/* 4 tokens choose 2 of 8 experts: hidden 16, gates and up 24 + 24, down 24. */
static void experts_by_their_weights(void **state)
{
    struct op_cost cost = cost_of("vllm::inplace_fused_experts",
                                  "[[4, 16], [8, 48, 16], [8, 16, 24], [4, 2], [4, 2]]",
                                  "[" BF16 ", " BF16 ", " BF16 ", \"float\", \"int\"]", "");
    /* of 8 experts 8 (1 - (3/4)^4) = 5.46875 are expected, each of 1152 weights */
    int64_t bytes = (int64_t)(5.46875 * 1152 * 2) + 2 * 4 * 16 * 2;
    struct op_cost packed = cost_of(
        "sglang::outplace_fused_experts", "[[4, 16], [8, 48, 8], [8, 16, 12], [4, 2], [4, 2]]",
        "[" BF16 ", \"unsigned char\", \"unsigned char\", \"float\"]", "");

    assert_int_equal(cost.flops, 2 * 4 * 2 * (48 * 16 + 16 * 24));
    assert_int_equal(cost.bytes, bytes);
    assert_int_equal(packed.flops, cost.flops);
    assert_int_equal(packed.bytes, (int64_t)(5.46875 * 1152 / 2) + 2 * 4 * 16 * 2);
}

static void experts_by_the_config(void **state)
{
    static const struct expert_sizes sizes = {
        .hidden = 16, .experts = 8, .chosen = 2, .weights = 1152, .bytes = 1152 * 2};
    struct op_call_text text = {.name = "vllm::moe_forward",
                                .shapes = "[[4, 32], [4, 8], [], []]",
                                .types = "[" BF16 ", " BF16 ", \"\", \"\"]"};
    struct call_surroundings around = {.experts = &sizes};
    struct op_cost cost = cost_in(around, text);

    assert_int_equal(cost.flops, 2 * 4 * 2 * 1152);
    assert_int_equal(cost.bytes, (int64_t)(5.46875 * 1152 * 2) + 2 * 4 * 32 * 2);
    assert_ptr_equal(cost_in((struct call_surroundings){0}, text).why, why_no_expert_sizes);
    text.shapes = "[[4, 32], [4, 16], [], []]"; /* of another model */
    assert_int_equal(cost_in(around, text).kind, COST_NOT_COUNTED);
}

static void memory_bound_operators(void **state)
{
    static const struct {
        const char *op;
        const char *shapes;
        const char *types;
        const char *values;
        int64_t flops;
        int64_t bytes;
    } cases[] = {
        {"_C::rms_norm", "[[4, 8], [4, 8], [8]]", "[" BF16 ", " BF16 ", " BF16 "]", "", 4 * 32,
         2 * (32 + 32 + 8)},
        {"aiter::rms_norm", "[[4, 8], [8]]", "[" BF16 ", " BF16 "]", "", 4 * 32, 2 * (32 + 8 + 32)},
        {"_C::fused_add_rms_norm", "[[4, 8], [4, 8], [8]]", "[" BF16 ", " BF16 ", " BF16 "]", "",
         5 * 32, 2 * (4 * 32 + 8)},
        {"aiter::add_rmsnorm", "[[4, 8], [4, 8], [4, 8], [4, 8], [8]]",
         "[" BF16 ", " BF16 ", " BF16 ", " BF16 ", " BF16 "]", "", 5 * 32, 2 * (4 * 32 + 8)},
        {"sgl_kernel::silu_and_mul", "[[4, 8], [4, 16]]", "[" BF16 ", " BF16 "]", "", 5 * 32,
         2 * 96},
        /* two heads of 8 and one: of each the first four turn */
        {"_C::rotary_embedding", "[[4], [4, 16], [4, 8], [], [99, 4], []]",
         "[\"long int\", " BF16 ", " BF16 ", \"Scalar\", " BF16 ", \"Scalar\"]",
         "[\"\", \"\", \"\", \"8\", \"\", \"True\"]", 3 * 4 * 3 * 4,
         2 * 2 * 4 * 3 * 4 + 2 * 4 * 4 + 8 * 4},
        {"_C_cache_ops::reshape_and_cache_flash",
         "[[4, 2, 8], [4, 2, 8], [9, 16, 2, 8], [9, 16, 2, 8], [4]]",
         "[" BF16 ", " BF16 ", " FP8 ", " FP8 ", \"long int\"]", "", 0, 128 * 2 + 128 + 4 * 8},
        {"_C::dynamic_per_token_scaled_fp8_quant", "[[4, 8], [4, 8], [4, 1]]",
         "[" FP8 ", " BF16 ", \"float\"]", "", 3 * 32, 32 + 64 + 16},
        {"aten::gather", "[[9, 8], [], [4, 8]]", "[" BF16 ", \"Scalar\", \"long int\"]", "", 0,
         2 * 2 * 32},
        {"TopK", "[[4, 32], []]", "[" BF16 ", \"Scalar\"]", "[\"\", \"2\"]", 4 * 32,
         2 * 128 + 4 * 2 * (2 + 4)},
        {"triton_poi_fused__to_copy_1", "[[4, 8], [4, 8], []]", "[\"float\", " BF16 ", \"Scalar\"]",
         "[\"\", \"\", \"32\"]", 0, 32 * 6},
        {"triton_per_fused_sum_0", "[[4, 8], [4], [], []]",
         "[\"float\", \"float\", \"Scalar\", \"Scalar\"]", "[\"\", \"\", \"4\", \"8\"]", 0, 36 * 4},
        /* a table of which some rows are read */
        {"triton_poi_fused_embedding_0", "[[4], [99, 8], [4, 8], []]",
         "[\"long int\", " BF16 ", " BF16 ", \"Scalar\"]", "[\"\", \"\", \"\", \"32\"]", 0, -1},
        /* batch 2, 4 channels, 8 steps, 16 states; D and a gate */
        {"_C::selective_scan_fwd",
         "[[2, 4, 8], [2, 4, 8], [4, 16], [2, 16, 8], [2, 16, 8], [4], [2, 4, 8]]",
         "[" BF16 ", " BF16 ", \"float\", " BF16 ", " BF16 ", \"float\", " BF16 "]", "",
         64 * (7 * 16 + 1 + 2 + 5), 2 * (3 * 64 + 2 * 256 + 64) + 4 * (64 + 4)},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct op_cost cost =
            cost_of(cases[i].op, cases[i].shapes, cases[i].types, cases[i].values);

        assert_in_range(cost.kind, COST_MOVEMENT, COST_POINTWISE);
        assert_int_equal(cost.flops, cases[i].flops);
        assert_int_equal(cost.bytes, cases[i].bytes);
    }
}

/* 2 samples of 64 steps in chunks of 16; 4 heads of 8, 1 group of 32 states. */
static void chunked_scan(void **state)
{
    struct op_cost cost =
        cost_of("MambaChunkScanCombinedFn",
                "[[2, 64, 4, 8], [2, 64, 4], [4], [2, 64, 1, 32], [2, 64, 1, 32], []]", "",
                "[\"\", \"\", \"\", \"\", \"\", \"16\"]");
    int64_t chunks = 2 * 4;
    int64_t of_states = 2 * 16 * 32 * (4 * 8);

    assert_int_equal(cost.flops, 2 * chunks * (16 * 16 * (32 + 4 * 8) + of_states));
    assert_int_equal(cost.masked_flops, 2 * chunks * (16 * 17 / 2 * (32 + 4 * 8) + of_states));
    assert_int_equal(cost_of("causal_conv1d_fwd", "[[2, 4, 8], [4, 3]]", "", "").kind,
                     COST_NOT_COUNTED);
    assert_int_equal(cost_of("vllm::causal_conv1d_fwd", "[[2, 4, 8], [4, 3]]", "", "").flops,
                     2 * 64 * 3);
}

/* Sizes of a file made to mislead. */
static void sizes_that_do_not_fit(void **state)
{
    assert_ptr_equal(cost_of("vllm::rocm_unquantized_gemm",
                             "[[9000000000, 9000000000], [9000000000, 9000000000]]", "", "")
                         .why,
                     why_too_large);
    assert_ptr_equal(
        cost_of("_Linear", "[[9000000000, 9000000000], [9000000000, 9000000000]]", "", "").why,
        why_too_large);
    assert_int_equal(cost_of("vllm::inplace_fused_experts",
                             "[[4, 16], [8, 48, 0], [8, 16, 24], [4, 2], [4, 2]]", "", "")
                         .kind,
                     COST_NOT_COUNTED);
    assert_int_equal(cost_of("vllm::no_such_op", "[[4, 16]]", "", "").kind, COST_NOT_COUNTED);
}

/* All pairs, whatever the block mask leaves out; queries of several heads share keys and values. */
static void templates_of_flex_attention(void **state)
{
    static const char rest[] = "[2, 8, 64], [2, 8, 64], [2, 1, 1], [2, 1, 1, 2], []]";
    static const char other[] = "[[2, 8, 64, 16], [2, 4, 128, 32], [2, 4, 128, 32]]";
    int64_t pairs = 2 * 8 * 64 * 128;
    char shapes[256];
    struct op_cost cost;

    snprintf(shapes, sizeof shapes, "[[2, 8, 64, 16], [2, 4, 128, 16], [2, 4, 128, 32], %s", rest);
    cost = cost_of("triton_tem_fused__to_copy_flex_attention_3", shapes, "", "");
    assert_int_equal(cost.kind, COST_MATRIX);
    assert_int_equal(cost.flops, 2 * pairs * (16 + 32));
    cost = cost_of("triton_tem_fused_flex_attention_backward_zeros_7", shapes, "", "");
    assert_int_equal(cost.flops, 2 * pairs * (3 * 16 + 2 * 32));
    assert_int_equal(cost.model_flops, 4 * pairs * (16 + 32));
    snprintf(shapes, sizeof shapes, "[[2, 4, 2, 64, 16], [2, 4, 128, 16], [2, 4, 128, 32], %s",
             rest);
    cost = cost_of("triton_tem_fused_flex_attention_0", shapes, "", "");
    assert_int_equal(cost.flops, 2 * pairs * (16 + 32));
    cost = cost_of("triton_tem_fused_flex_attention_0", other, "", "");
    assert_int_equal(cost.kind, COST_NOT_COUNTED);
}

/* Triton kernels of a library, in compiled code: with a number behind their names. */
static void sage_attention(void **state)
{
    static const char first[] = "[[1, 4, 64, 16], [1, 2, 96, 16], [1, 2, 96, 32], [], [1, 4, 2], "
                                "[1, 2, 3], [1, 2, 32], [1, 4, 64, 32], [1]]";
    static const char last[] = "[[1, 64, 4, 16], [1, 96, 2, 16], [1, 96, 2, 32], [], [1, 4, 2], "
                               "[1, 2, 3], [1, 2, 32], [1, 64, 4, 32], [1]]";
    static const char *const unknown[] = {
        /* sequences in one another, heads that may be lengths, no scales */
        "[[1, 4, 64, 16], [1, 2, 96, 16], [1, 2, 96, 32], [], [1, 4, 2], [1, 2, 3], [1, 2, 32], "
        "[1, 4, 64, 32], [3]]",
        "[[1, 4, 64, 16], [1, 2, 2, 16], [1, 2, 2, 32], [], [1, 4, 2], [1, 2, 3], [1, 2, 32], "
        "[1, 4, 64, 32], [1]]",
        "[[1, 4, 64, 16], [1, 2, 96, 16], [1, 2, 96, 32]]",
        "[[64, 16]]",
    };
    struct op_cost cost;

    assert_int_equal(cost_of("sage_fwd_1", first, "", "").flops, 2 * 4 * 64 * 96 * (16 + 32));
    assert_int_equal(cost_of("sage_fwd_12", last, "", "").flops, 2 * 4 * 64 * 96 * (16 + 32));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(cost_of("sage_fwd_1", unknown[i], "", "").kind, COST_NOT_COUNTED);
    cost = cost_of("sage_quant_kernel_0",
                   "[[2, 8], [2, 8], [1], [4, 8], [4, 8], [1], [2, 8], [2, 8], [1]]",
                   "[\"c10::BFloat16\", \"signed char\", \"float\", \"c10::BFloat16\", "
                   "\"signed char\", \"float\", \"c10::BFloat16\", \"signed char\", \"float\"]",
                   "");
    assert_int_equal(cost.kind, COST_MOVEMENT);
    assert_int_equal(cost.bytes, (16 + 32 + 16) * (2 + 1) + 3 * 4);
    assert_int_equal(cost_of("_fwd_kernel_1", first, "", "").kind, COST_NOT_COUNTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sage_attention),
        cmocka_unit_test(attention_of_a_step),
        cmocka_unit_test(attention_of_one_kind_of_requests),
        cmocka_unit_test(attention_without_lengths_is_not_counted),
        cmocka_unit_test(windows_count_by_their_layers),
        cmocka_unit_test(attention_over_a_cache),
        cmocka_unit_test(latent_attention),
        cmocka_unit_test(packed_requests_of_one_length),
        cmocka_unit_test(products_of_libraries),
        cmocka_unit_test(formats_of_products),
        cmocka_unit_test(experts_by_their_weights),
        cmocka_unit_test(experts_by_the_config),
        cmocka_unit_test(memory_bound_operators),
        cmocka_unit_test(chunked_scan),
        cmocka_unit_test(templates_of_flex_attention),
        cmocka_unit_test(sizes_that_do_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
