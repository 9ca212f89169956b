/* Whole models, put together from single ops: the figures others published. */
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

static int64_t linear_macs(int64_t tokens, int64_t inputs, int64_t outputs)
{
    char shapes[128];

    (void)snprintf(shapes, sizeof shapes, "[[%lld, %lld], [%lld, %lld]]", (long long)tokens,
                   (long long)inputs, (long long)outputs, (long long)inputs);
    return cost_of("aten::linear", shapes, "").macs;
}

/* Billions, rounded to two digits behind the point: hundredths of a billion. */
static int64_t hundredths_of_giga(int64_t number)
{
    return (number + 5000000) / 10000000;
}

/* DeepSpeed's documentation of its Flops Profiler, Megatron-LM GPT: 12 layers of 8192, micro-batch
 * 4 of 1024 tokens, vocabulary 50304. The attention products were not counted there and softmax
 * was, as multiply-adds. */
static void megatron_gpt(void **state)
{
    int64_t tokens = 4 * 1024;
    int64_t qkv = linear_macs(tokens, 8192, 3 * 8192);
    int64_t dense = linear_macs(tokens, 8192, 8192);
    int64_t wider = linear_macs(tokens, 8192, 4 * 8192);
    int64_t narrower = linear_macs(tokens, 4 * 8192, 8192);
    int64_t logits = linear_macs(tokens, 8192, 50304);
    int64_t softmax = INT64_C(4) * 32 * 1024 * 1024; /* its elements: 134.22 M */

    assert_int_equal(hundredths_of_giga(qkv), 82463);
    assert_int_equal(hundredths_of_giga(dense), 27488);
    assert_int_equal(hundredths_of_giga(wider), 109951);
    assert_int_equal(hundredths_of_giga(narrower), 109951);
    assert_int_equal(hundredths_of_giga(12 * (qkv + dense + wider + narrower + softmax) + logits),
                     4127195);
    assert_int_equal((softmax + 5000) / 10000, 13422);
}

/* The same page, BERT-Large: batch 80, sequence 128. */
static void bert_large(void **state)
{
    int64_t tokens = 80 * 128;
    int64_t layer = 4 * linear_macs(tokens, 1024, 1024) + linear_macs(tokens, 1024, 4096) +
                    linear_macs(tokens, 4096, 1024);
    int64_t softmax = INT64_C(80) * 16 * 128 * 128;

    assert_int_equal(hundredths_of_giga(layer + softmax), 12887);
    assert_int_equal(hundredths_of_giga(24 * (layer + softmax)), 309288);
}

/* golden/flops/llama3_8b_meta_b1_s8192: 32 layers, 32 heads of 128, of keys and values 8. */
static void llama_3_8b(void **state)
{
    int64_t tokens = 8192;
    int64_t layer = 2 * linear_macs(tokens, 4096, 4096) + 2 * linear_macs(tokens, 4096, 1024) +
                    3 * linear_macs(tokens, 4096, 14336);
    struct op_cost attention =
        cost_of("aten::_scaled_dot_product_flash_attention",
                "[[1, 32, 8192, 128], [1, 8, 8192, 128], [1, 8, 8192, 128], [], []]",
                "[\"\", \"\", \"\", \"0.\", \"True\"]");

    assert_int_equal(2 * 32 * layer, 114349209288704);
    assert_int_equal(2 * linear_macs(tokens, 4096, 128256), 8607114461184);
    assert_int_equal(32 * attention.flops, 35184372088832);
    assert_int_equal(32 * attention.masked_flops, 17594333528064);
}

/* golden/flops/lstm_b2_t5_i8_h16_l2_bidir */
static void two_layers_of_lstm(void **state)
{
    int64_t first = cost_of("aten::mkldnn_rnn_layer", "[[5, 2, 8], [64, 8], [64, 16]]", "").flops;
    int64_t second =
        cost_of("aten::mkldnn_rnn_layer", "[[5, 2, 32], [64, 32], [64, 16]]", "").flops;

    assert_int_equal(2 * (first + second), 184320);
}

#define CONV2D(stride, padding) \
    "[\"\", \"\", \"\", \"[" stride "]\", \"[" padding "]\", \"[1]\", \"1\"]"

/* golden/flops/alexnet_b8 */
static void alexnet(void **state)
{
    int64_t flops =
        cost_of("aten::conv2d", "[[8, 3, 224, 224], [64, 3, 11, 11]]", CONV2D("4", "2")).flops +
        cost_of("aten::conv2d", "[[8, 64, 27, 27], [192, 64, 5, 5]]", CONV2D("1", "2")).flops +
        cost_of("aten::conv2d", "[[8, 192, 13, 13], [384, 192, 3, 3]]", CONV2D("1", "1")).flops +
        cost_of("aten::conv2d", "[[8, 384, 13, 13], [256, 384, 3, 3]]", CONV2D("1", "1")).flops +
        cost_of("aten::conv2d", "[[8, 256, 13, 13], [256, 256, 3, 3]]", CONV2D("1", "1")).flops;

    assert_int_equal(flops, 10489064448);
    assert_int_equal(
        2 * (linear_macs(8, 9216, 4096) + linear_macs(8, 4096, 4096) + linear_macs(8, 4096, 1000)),
        937951232);
}

/* golden/flops/mamba_tiny_b2_s32: what FlopCounterMode counts 129 times. */
static void depthwise_convolution_of_mamba(void **state)
{
    struct op_cost forward = cost_of("aten::conv1d", "[[2, 128, 32], [128, 1, 4]]",
                                     "[\"\", \"\", \"\", \"[1]\", \"[3]\", \"[1]\", \"128\"]");
    struct op_cost backward =
        cost_of("aten::convolution_backward", "[[2, 128, 35], [2, 128, 32], [128, 1, 4]]",
                "[\"\", \"\", \"\", \"[128]\", \"[1]\", \"[3]\", \"[1]\", \"False\", \"[0]\", "
                "\"128\", \"[True, True, True]\"]");

    assert_int_equal(2 * forward.flops, 143360);
    assert_int_equal(2 * backward.flops, 286720);
}

/* golden/flops/mixtral_tiny_b2_s64: 2 layers, 128 tokens, 2 experts each. */
static void experts_of_mixtral(void **state)
{
    int64_t gate_and_up =
        cost_of("aten::_grouped_mm", "[[256, 128], [8, 128, 512], [8]]", "").flops;
    int64_t down = cost_of("aten::_grouped_mm", "[[256, 256], [8, 256, 128], [8]]", "").flops;

    assert_int_equal(2 * (gate_and_up + down), 100663296);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron_gpt),
        cmocka_unit_test(bert_large),
        cmocka_unit_test(llama_3_8b),
        cmocka_unit_test(two_layers_of_lstm),
        cmocka_unit_test(alexnet),
        cmocka_unit_test(depthwise_convolution_of_mamba),
        cmocka_unit_test(experts_of_mixtral),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
