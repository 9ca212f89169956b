/* FLOPs of single ops, computed by hand. The comments say how. */
#include "cost/flops/count_flops.h"
#include "cost/flops/saturating.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct op_cost cost_of(const char *op, const char *shapes, const char *types,
                              const char *values)
{
    struct op_call call = {0};
    struct op_call_text text = {.name = op, .shapes = shapes, .types = types, .values = values};
    struct op_cost cost = count_flops_of_text(&call, &text, NULL);

    op_call_clear(&call);
    return cost;
}

struct expectation {
    const char *op;
    const char *shapes;
    const char *values;
    int64_t flops;
};

static void expect_flops(const struct expectation *expectations, size_t count, enum cost_kind kind)
{
    for (size_t i = 0; i < count; i++) {
        struct op_cost cost =
            cost_of(expectations[i].op, expectations[i].shapes, NULL, expectations[i].values);

        if (cost.kind != kind || cost.flops != expectations[i].flops)
            print_error("%s %s: kind %d, %lld FLOPs%s%s\n", expectations[i].op,
                        expectations[i].shapes, (int)cost.kind, (long long)cost.flops,
                        cost.why ? ": " : "", cost.why ? cost.why : "");
        assert_int_equal(cost.kind, kind);
        assert_int_equal(cost.flops, expectations[i].flops);
        assert_null(cost.why);
        if (kind == COST_MATRIX)
            assert_int_equal(cost.macs * 2, cost.flops);
    }
}

#define EXPECT(array, kind) expect_flops(array, sizeof array / sizeof array[0], kind)

static void matrix_products(void **state)
{
    static const struct expectation expectations[] = {
        {"aten::mm", "[[128, 64], [64, 176]]", "", 2 * 128 * 64 * 176},
        {"aten::mm", "[[128, 64], [64, 64], [128, 64]]", "", 2 * 128 * 64 * 64}, /* out= */
        {"aten::addmm", "[[10], [2, 32], [32, 10], [], []]", "", 2 * 2 * 32 * 10},
        {"aten::addmm_", "[[12, 5], [12, 4], [4, 5], [], []]", "", 2 * 12 * 4 * 5},
        {"aten::_addmm_activation", "[[128], [20, 64], [64, 128], [], [], []]", "",
         2 * 20 * 64 * 128},
        {"aten::bmm", "[[8, 16, 8], [8, 8, 16]]", "", 2 * 8 * 16 * 8 * 16},
        {"aten::baddbmm", "[[3, 8, 8], [3, 8, 4], [3, 4, 8], [], []]", "", 2 * 3 * 8 * 4 * 8},
        {"aten::addbmm", "[[8, 8], [3, 8, 4], [3, 4, 8], [], []]", "", 2 * 3 * 8 * 4 * 8},
        {"aten::mv", "[[8, 16], [16]]", "", 256},
        {"aten::addmv", "[[8], [8, 16], [16]]", "", 256},
        {"aten::dot", "[[8], [8]]", "", 16},
        {"aten::addr", "[[8, 4], [8], [4], [], []]", "", 64},
        {"aten::linear", "[[5, 2, 8], [48, 8], [48]]", "", 2 * 10 * 8 * 48},
        {"aten::matmul", "[[8, 16], [16]]", "", 256}, /* DeepSpeed: 4096 */
        {"aten::matmul", "[[16], [16, 8]]", "", 256},
        {"aten::matmul", "[[16], [16]]", "", 32},
        {"aten::matmul", "[[1, 8, 16], [4, 16, 32]]", "", 32768}, /* DeepSpeed: 8192 */
        {"aten::matmul", "[[8, 16], [4, 16, 32]]", "", 32768},    /* DeepSpeed: 8192 */
        {"aten::matmul", "[[3, 1, 8, 16], [4, 16, 32]]", "", 3 * 32768},
        {"aten::_scaled_mm", "[[32, 64], [64, 16], [], []]", "", 2 * 32 * 64 * 16},
        {"aten::_int_mm", "[[32, 16], [16, 8]]", "", 2 * 32 * 16 * 8},
        {"aten::_weight_int8pack_mm", "[[32, 64], [16, 64], [16]]", "", 2 * 32 * 64 * 16},
        {"aten::_weight_int4pack_mm", "[[32, 64], [2, 4, 32, 4], [], [2, 16, 2]]", "",
         2 * 32 * 64 * 16},
        {"mkl::_mkl_linear", "[[32, 64], [9999, 1], [16, 64], [], []]", "", 2 * 32 * 64 * 16},
        {"mkldnn::_linear_pointwise", "[[4, 32, 64], [16, 64], [16]]", "", 2 * 128 * 64 * 16},
        {"aten::mm", "[[0, 64], [64, 176]]", "", 0}, /* an expert without tokens: counted, 0 */
    };

    EXPECT(expectations, COST_MATRIX);
}

static void packed_pairs_count_twice(void **state)
{
    struct op_cost cost =
        cost_of("aten::_scaled_mm", "[[32, 32], [32, 16], [], []]",
                "[\"c10::Float4_e2m1fn_x2\", \"c10::Float4_e2m1fn_x2\", \"float\", \"float\"]", "");

    assert_int_equal(cost.flops, 2 * 32 * 64 * 16);
}

#define CONVOLUTION(stride, padding, dilation, transposed, groups)                        \
    "[\"\", \"\", \"\", \"" stride "\", \"" padding "\", \"" dilation "\", \"" transposed \
    "\", \"[0, 0]\", \"" groups "\"]"
#define CONVOLUTION_BACKWARD(stride, padding, transposed, groups, mask)                      \
    "[\"\", \"\", \"\", \"[0]\", \"" stride "\", \"" padding "\", \"[1, 1]\", \"" transposed \
    "\", \"[0, 0]\", \"" groups "\", \"" mask "\"]"

static void convolutions(void **state)
{
    static const struct expectation expectations[] = {
        /* 64 with padding 3 and stride 2: 32 positions a side */
        {"aten::convolution", "[[2, 3, 64, 64], [16, 3, 7, 7], [], [], [], [], [], [], []]",
         CONVOLUTION("[2, 2]", "[3, 3]", "[1, 1]", "False", "1"), 2 * 2 * 1024 * 16 * 3 * 49},
        /* groups: each output channel sees a part of the input */
        {"aten::convolution", "[[2, 32, 16, 16], [32, 8, 3, 3], [32], [], [], [], [], [], []]",
         CONVOLUTION("[1, 1]", "[1, 1]", "[1, 1]", "False", "4"), 2 * 2 * 256 * 32 * 8 * 9},
        /* depthwise */
        {"aten::convolution", "[[2, 4, 9, 9], [4, 1, 3, 3], [], [], [], [], [], [], []]",
         CONVOLUTION("[1, 1]", "[1, 1]", "[1, 1]", "False", "4"), 2 * 2 * 81 * 4 * 9},
        /* dilation 2: a kernel of 3 reaches 5; 9 - 5 + 1 = 5 */
        {"aten::convolution", "[[2, 4, 9, 9], [6, 4, 3, 3], [], [], [], [], [], [], []]",
         CONVOLUTION("[1, 1]", "[0, 0]", "[2, 2]", "False", "1"), 2 * 2 * 25 * 6 * 4 * 9},
        /* a single number for all dimensions; stride 2 leaves (9 - 3) / 2 + 1 = 4 */
        {"aten::convolution", "[[2, 4, 9, 9], [6, 4, 3, 3], [], [], [], [], [], [], []]",
         CONVOLUTION("[2]", "[0]", "[1]", "False", "1"), 2 * 2 * 16 * 6 * 4 * 9},
        /* transposed: each input position meets each weight */
        {"aten::convolution", "[[2, 64, 8, 8], [64, 32, 2, 2], [32], [], [], [], [], [], []]",
         CONVOLUTION("[2, 2]", "[0, 0]", "[1, 1]", "True", "1"), 2 * 2 * 64 * 64 * 32 * 4},
        {"aten::conv_transpose2d", "[[2, 64, 8, 8], [64, 32, 2, 2], [32]]", "",
         2 * 2 * 64 * 64 * 32 * 4},
        /* one sample without its batch dimension */
        {"aten::conv2d", "[[4, 9, 9], [6, 4, 3, 3], [], [], [], [], []]",
         "[\"\", \"\", \"\", \"[1, 1]\", \"[0, 0]\", \"[1, 1]\", \"1\"]", 2 * 49 * 6 * 4 * 9},
        /* cudnn: padding stands before stride */
        {"aten::cudnn_convolution", "[[2, 3, 64, 64], [16, 3, 7, 7], [], [], []]",
         "[\"\", \"\", \"[3, 3]\", \"[2, 2]\", \"[1, 1]\", \"1\"]", 2 * 2 * 1024 * 16 * 3 * 49},
        /* Mamba's: length 32, padding 3: 35 positions */
        {"aten::conv1d", "[[2, 128, 32], [128, 1, 4], [128], [], [], [], []]",
         "[\"\", \"\", \"\", \"[1]\", \"[3]\", \"[1]\", \"128\"]", 2 * 2 * 35 * 128 * 4},
        {"aten::conv3d", "[[1, 2, 4, 4, 4], [3, 2, 3, 3, 3], [], [], [], [], []]",
         "[\"\", \"\", \"\", \"[1, 1, 1]\", \"[0, 0, 0]\", \"[1, 1, 1]\", \"1\"]",
         2 * 8 * 3 * 2 * 27},
        {"aten::conv_tbc", "[[7, 2, 4], [3, 4, 5], [5], []]", "[\"\", \"\", \"\", \"1\"]",
         2 * 7 * 2 * 3 * 4 * 5},
    };

    EXPECT(expectations, COST_MATRIX);
}

/* Without strides and padding only the size of the result tells. */
static void convolutions_by_their_results(void **state)
{
    static const struct {
        const char *op;
        const char *shapes;
        const char *result;
        int64_t flops; /* 0: not counted */
    } expected[] = {
        {"aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], []]", "[[2, 4, 4, 4]]",
         2LL * 2 * 4 * 4 * (4 * 3 * 3 * 3)},
        {"aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], []]", NULL, 0},
        {"aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], []]", "[[2, 5, 4, 4]]", 0},
        {"aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], []]", "[[1, 4, 4, 4]]", 0},
        {"aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], []]", "[[2, 4, 4]]", 0},
        {"aten::cudnn_convolution_backward_input", "[[], [2, 4, 4, 4], [4, 3, 3, 3]]", NULL,
         2LL * 2 * 4 * 4 * (4 * 3 * 3 * 3)},
        {"aten::cudnn_convolution_backward_weight", "[[], [2, 4, 4, 4], [2, 3, 8, 8]]",
         "[[4, 3, 3, 3]]", 2LL * 2 * 4 * 4 * (4 * 3 * 3 * 3)},
        {"aten::cudnn_convolution_backward_weight", "[[], [2, 4, 4, 4], [2, 3, 8, 8]]", NULL, 0},
        {"aten::cudnn_convolution_backward", "[[2, 3, 8, 8], [2, 4, 4, 4], [4, 3, 3, 3]]", NULL, 0},
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct op_call call = {0};
        struct op_call_text text = {
            .name = expected[i].op, .shapes = expected[i].shapes, .result = expected[i].result};
        struct op_cost cost = count_flops_of_text(&call, &text, NULL);

        assert_int_equal(cost.kind, expected[i].flops ? COST_MATRIX : COST_NOT_COUNTED);
        assert_int_equal(cost.flops, expected[i].flops);
        op_call_clear(&call);
    }
}

static void convolution_gradients(void **state)
{
    static const struct expectation expectations[] = {
        {"aten::convolution_backward", "[[2, 32, 16, 16], [2, 64, 8, 8], [64, 32, 2, 2]]",
         CONVOLUTION_BACKWARD("[2, 2]", "[0, 0]", "True", "1", "[True, True, True]"),
         2 * 2 * 2 * 64 * 64 * 32 * 4},
        /* the first layer: no gradient of the input */
        {"aten::convolution_backward", "[[2, 16, 32, 32], [2, 3, 64, 64], [16, 3, 7, 7]]",
         CONVOLUTION_BACKWARD("[2, 2]", "[3, 3]", "False", "1", "[False, True, False]"),
         2 * 2 * 1024 * 16 * 3 * 49},
        /* groups: twice the forward, not 1 + groups times (FlopCounterMode) */
        {"aten::convolution_backward", "[[2, 4, 9, 9], [2, 4, 9, 9], [4, 1, 3, 3]]",
         CONVOLUTION_BACKWARD("[1, 1]", "[1, 1]", "False", "4", "[True, True, False]"),
         2 * (2 * 2 * 81 * 4 * 9)},
        {"aten::convolution_backward", "[[2, 4, 9, 9], [2, 4, 9, 9], [4, 1, 3, 3]]",
         CONVOLUTION_BACKWARD("[1, 1]", "[1, 1]", "False", "4", "[False, False, True]"), 0},
    };

    EXPECT(expectations, COST_MATRIX);
}

static void recurrent_layers(void **state)
{
    /* weights 64 x 8 and 64 x 16, five steps of two samples */
    static const struct expectation expectations[] = {
        {"aten::mkldnn_rnn_layer", "[[5, 2, 8], [64, 8], [64, 16], [64], [64], [2, 16], [2, 16]]",
         "", 2 * 10 * (512 + 1024)},
        {"aten::mkldnn_rnn_layer_backward",
         "[[5, 2, 8], [64, 8], [64, 16], [64], [64], [2, 16], [2, 16], [5, 2, 16]]", "",
         2 * 2 * 10 * (512 + 1024)},
        {"aten::lstm",
         "[[2, 5, 8], [[1, 2, 16], [1, 2, 16]], [[64, 8], [64, 16], [64], [64]], [], []]", "",
         2 * 10 * (512 + 1024)},
        {"aten::gru", "[[2, 5, 8], [1, 2, 16], [[48, 8], [48, 16], [48], [48]], []]", "", 23040},
        {"aten::_cudnn_rnn", "[[5, 2, 8], [[64, 8], [64, 16], [64], [64]], [], [9999], [2, 16]]",
         "", 2 * 10 * (512 + 1024)},
        {"aten::_cudnn_rnn_backward", "[[5, 2, 8], [[64, 8], [64, 16], [64], [64]], []]", "",
         2 * 2 * 10 * (512 + 1024)},
        {"aten::lstm_cell", "[[2, 8], [[2, 16], [2, 16]], [64, 8], [64, 16], [64], [64]]", "",
         2 * 2 * (512 + 1024)},
    };

    EXPECT(expectations, COST_MATRIX);
}

static void experts(void **state)
{
    static const struct expectation expectations[] = {
        {"aten::_grouped_mm", "[[32, 64], [4, 64, 16], [4], [], []]", "", 2 * 32 * 64 * 16},
        {"aten::_grouped_mm", "[[4, 8, 64], [64, 16], [4]]", "", 2 * 8 * 64 * 16},
        {"aten::_grouped_mm", "[[64, 32], [32, 16], [4]]", "", 2 * 64 * 32 * 16},
        {"aten::_grouped_mm", "[[4, 8, 64], [4, 64, 16], []]", "", 2 * 4 * 8 * 64 * 16},
        {"aten::_scaled_grouped_mm", "[[32, 64], [4, 64, 16], [32], [4, 16], [4]]", "",
         2 * 32 * 64 * 16},
    };

    EXPECT(expectations, COST_MATRIX);
}

static void small_work(void **state)
{
    static const struct expectation expectations[] = {
        {"aten::add", "[[2, 10], [10], []]", "", 20},
        {"aten::add_", "[[2, 10], [2, 1], []]", "", 20},
        {"aten::mul", "[[4, 1, 3], [5, 1]]", "", 60},
        {"aten::relu", "[[2, 3]]", "", 6},
        {"aten::silu", "[[2, 3]]", "", 24},
        {"aten::eq", "[[2, 3], [3]]", "", 6},
        {"aten::native_layer_norm", "[[4, 8], [], [8], [8], []]", "", 32 * 7},
        {"aten::native_layer_norm", "[[4, 8], [], [], [], []]", "", 32 * 5},
        {"aten::_softmax", "[[4, 8], [], []]", "", 160},
        {"aten::sum", "[[4, 8], []]", "", 32},
        {"aten::embedding_dense_backward", "[[2, 4, 8], [2, 4], [], []]", "", 64},
        {"aten::max_pool2d", "[[2, 4, 9, 9], [], [], [], [], []]",
         "[\"\", \"[2, 2]\", \"[]\", \"[0, 0]\", \"[1, 1]\", \"False\"]", 2 * 4 * 16 * 4},
        {"aten::avg_pool2d", "[[2, 4, 9, 9], [], [], [], []]",
         "[\"\", \"[3, 3]\", \"[2, 2]\", \"[0, 0]\", \"False\"]", 2 * 4 * 16 * 9},
        /* each output, with its batch and channels (DeepSpeed forgets them: 1024) */
        {"aten::upsample_bilinear2d", "[[2, 3, 16, 16], [], []]", "[\"\", \"[32, 32]\", \"False\"]",
         7 * 2 * 3 * 1024},
    };
    static const struct expectation sampled[] = {
        /* 6 samples and channels, 5 x 5 places, 7 for each */
        {"aten::grid_sampler_2d", "[[2, 3, 8, 8], [2, 5, 5, 2], [], [], []]", "", 7 * 6 * 25},
        {"aten::upsample_bilinear2d_backward", "[[2, 3, 4, 4], [], [], []]", "", 8 * 96},
        {"aten::glu_backward", "[[4, 4], [4, 8], []]", "", 4 * 32},
        /* 5 n log2 n; of real numbers half */
        {"aten::_fft_c2c", "[[3, 16], [], [], []]", "[\"\", \"[1]\", \"0\", \"True\"]", 5 * 48 * 4},
        {"aten::_fft_r2c", "[[8, 16], [], [], []]", "[\"\", \"[0, 1]\", \"0\", \"True\"]",
         5 * 128 * 7 / 2},
        {"aten::_embedding_bag_backward", "[[3, 4], [3, 6]]", "", 3 * 6 * 4},
        {"aten::_cdist_forward", "[[4, 8], [5, 8], [], []]", "", 3 * 4 * 5 * 8},
        {"aten::_cdist_backward", "[[4, 5], [4, 8], [5, 8], [], [4, 5]]", "", 4 * 4 * 5 * 8},
    };
    static const struct expectation lists[] = {
        {"aten::_foreach_mul_", "[[[4, 4], [7]], []]", "", 23},
        {"aten::_foreach_addcdiv_", "[[[4, 4], [7]], [[4, 4], [7]], [[4, 4], [7]], []]", "", 69},
        {"aten::_fused_adamw_",
         "[[[4, 4], [7]], [[4, 4], [7]], [[4, 4], [7]], [[4, 4], [7]], [], [[], []]]", "", 15 * 23},
    };

    EXPECT(expectations, COST_POINTWISE);
    EXPECT(sampled, COST_POINTWISE);
    EXPECT(lists, COST_POINTWISE);
}

#define TRILINEAR(expand1, expand2, expand3, sum)                                         \
    "[\"\", \"\", \"\", \"[" expand1 "]\", \"[" expand2 "]\", \"[" expand3 "]\", \"[" sum \
    "]\", \"1\"]"

/* F.bilinear of 5 rows, 8 and 9 features to 7: x W is 5 x 7 x 8 x 9, that times y 5 x 7 x 9. The
 * gradients of x and W begin elementwise, that of y ends so. */
static void products_of_other_names(void **state)
{
    static const struct expectation expectations[] = {
        {"aten::_trilinear", "[[5, 8], [7, 8, 9], [5, 9], [], [], [], [], []]",
         TRILINEAR("1, 3", "0", "1, 2", "2, 3"), 2 * (2520 + 315)},
        {"aten::_trilinear", "[[5, 7], [7, 8, 9], [5, 9], [], [], [], [], []]",
         TRILINEAR("2, 3", "0", "1, 2", "1, 3"), 2 * 2520},
        {"aten::_trilinear", "[[5, 8], [5, 7], [5, 9], [], [], [], [], []]",
         TRILINEAR("1, 3", "2, 3", "1, 2", "0"), 2 * 2520},
        {"aten::_trilinear", "[[5, 8], [7, 8, 9], [5, 7], [], [], [], [], []]",
         TRILINEAR("1, 3", "0", "2, 3", "1, 2"), 2 * 2520},
        {"aten::_euclidean_dist", "[[2, 40, 8], [2, 30, 8]]", "", 2 * 2 * 40 * 30 * 10},
        {"aten::_foreach_mm", "[[[2, 3], [4, 5]], [[3, 6], [5, 7]]]", "",
         2 * (2 * 3 * 6 + 4 * 5 * 7)},
    };

    EXPECT(expectations, COST_MATRIX);
    assert_int_equal(cost_of("aten::_trilinear", "[[5, 8], [7, 8, 9], [5, 9]]", NULL, "").kind,
                     COST_NOT_COUNTED);
    assert_int_equal(cost_of("aten::_trilinear", "[[5, 8], [7, 8, 9], [5, 9], [], [], [], [], []]",
                             NULL, TRILINEAR("1, 13", "0", "1, 2", "2, 3"))
                         .kind,
                     COST_NOT_COUNTED);
}

/* The same convolution under the names that devices have for it: 2 x 6 x 8 x 8 x 4 x 9 each. */
static void convolutions_of_devices(void **state)
{
    static const struct expectation expectations[] = {
        {"aten::mkldnn_convolution", "[[2, 4, 8, 8], [6, 4, 3, 3], [], [], [], [], []]",
         "[\"\", \"\", \"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"1\"]", 2 * 27648},
        {"aten::cudnn_convolution_relu", "[[2, 4, 8, 8], [6, 4, 3, 3], [], [], [], [], []]",
         "[\"\", \"\", \"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"1\"]", 2 * 27648},
        {"aten::cudnn_convolution_add_relu",
         "[[2, 4, 8, 8], [6, 4, 3, 3], [2, 6, 8, 8], [], [], [], [], []]",
         "[\"\", \"\", \"\", \"1.\", \"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\"]", 2 * 27648},
        {"aten::_slow_conv2d_forward", "[[2, 4, 8, 8], [6, 4, 3, 3], [], [], [], []]",
         "[\"\", \"\", \"[3, 3]\", \"\", \"[1, 1]\", \"[1, 1]\"]", 2 * 27648},
        {"aten::_conv_depthwise2d", "[[2, 4, 8, 8], [4, 1, 3, 3], [], [], [], [], []]",
         "[\"\", \"\", \"[3, 3]\", \"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\"]", 2 * 2 * 4 * 64 * 9},
    };

    EXPECT(expectations, COST_MATRIX);
}

static void bytes_are_read_and_written_once(void **state)
{
    struct op_cost cost;

    cost = cost_of("aten::mm", "[[128, 64], [64, 176]]", "[\"float\", \"float\"]", "");
    assert_int_equal(cost.bytes, 4 * (128 * 64 + 64 * 176 + 128 * 176));
    cost = cost_of("aten::add", "[[2, 10], [10], []]",
                   "[\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"]", "");
    assert_int_equal(cost.bytes, 2 * (20 + 10 + 20));
    cost = cost_of("aten::eq", "[[2, 10], [10]]", "[\"float\", \"float\"]", "");
    assert_int_equal(cost.bytes, 4 * 30 + 20);
    cost = cost_of("aten::copy_", "[[2, 10], [2, 10], []]",
                   "[\"float\", \"c10::Half\", \"Scalar\"]", "");
    assert_int_equal(cost.kind, COST_MOVEMENT);
    assert_int_equal(cost.bytes, 2 * 20 + 4 * 20);
    cost = cost_of("aten::mm", "[[128, 64], [64, 176]]", "[\"who knows\", \"float\"]", "");
    assert_int_equal(cost.bytes, -1);
    assert_int_equal(cost.kind, COST_MATRIX);
}

static void what_cannot_be_counted_is_not_zero(void **state)
{
    static const struct {
        const char *op;
        const char *shapes;
        const char *why;
    } cases[] = {
        {"my::op", "[[8, 64]]", why_no_formula},
        {"aten::mm", NULL, why_no_shapes},
        {"aten::mm", "[]", why_odd_shapes},
        {"aten::mm", "[[8, 64], [65, 8]]", why_odd_shapes},
        {"aten::bmm", "[[2, 8, 64], [3, 64, 8]]", why_odd_shapes},
        {"aten::convolution", "[[2, 3, 64, 64], [16, 3, 7, 7]]", why_no_values},
        {"aten::mm", "[[9000000000, 9000000000], [9000000000, 9]]", why_too_large},
        {"aten::_flash_attention_forward", "[[64, 4, 16], [64, 4, 16], [64, 4, 16], [3], [3]]",
         why_packed_sequences},
        {"aten::add", "[[2], [3]]", why_odd_shapes},
        {"aten::scaled_dot_product_attention", "[[8, 16], [8, 16], [8, 16]]", why_odd_shapes},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct op_cost cost = cost_of(cases[i].op, cases[i].shapes, NULL, NULL);

        assert_int_equal(cost.kind, COST_NOT_COUNTED);
        assert_string_equal(cost.why, cases[i].why);
        assert_int_equal(cost.flops, 0);
    }
    assert_string_equal(
        cost_of("aten::_foreach_add_", "[[], []]", "[\"TensorList\", \"Scalar\"]", NULL).why,
        why_list_left_out);
    /* a view costs nothing, whether its shapes are known or not */
    assert_int_equal(cost_of("aten::view", NULL, NULL, NULL).kind, COST_FREE);
    assert_int_equal(cost_of("aten::t", "[[8, 64]]", NULL, NULL).kind, COST_FREE);
}

/* A multiply-add of complex numbers is four of real ones. */
static void complex_products_count_four_times(void **state)
{
    static const char real[] = "[\"float\", \"float\"]";
    static const char complex[] = "[\"c10::complex<float>\", \"c10::complex<float>\"]";
    struct op_cost cost = cost_of("aten::mm", "[[4, 3], [3, 5]]", complex, NULL);

    assert_int_equal(cost_of("aten::mm", "[[4, 3], [3, 5]]", real, NULL).flops, 2 * 4 * 3 * 5);
    assert_int_equal(cost.flops, 8 * 4 * 3 * 5);
    assert_int_equal(cost.model_flops, cost.flops);
    assert_int_equal(cost.macs, 4 * 4 * 3 * 5);
    assert_int_equal(cost.bytes, 8 * (4 * 3 + 3 * 5 + 4 * 5));
    assert_int_equal(cost_of("aten::add", "[[4, 3], [4, 3]]", complex, NULL).flops, 4 * 3);
}

static void no_op_has_two_rules(void **state)
{
    for (const struct flop_formula *const *formula = all_flop_formulas(); *formula; formula++)
        for (size_t i = 0; i < (*formula)->rule_count; i++)
            assert_ptr_equal(find_op_rule((*formula)->rules[i].op), &(*formula)->rules[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_products),
        cmocka_unit_test(packed_pairs_count_twice),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(convolutions_by_their_results),
        cmocka_unit_test(convolution_gradients),
        cmocka_unit_test(recurrent_layers),
        cmocka_unit_test(experts),
        cmocka_unit_test(small_work),
        cmocka_unit_test(products_of_other_names),
        cmocka_unit_test(convolutions_of_devices),
        cmocka_unit_test(bytes_are_read_and_written_once),
        cmocka_unit_test(what_cannot_be_counted_is_not_zero),
        cmocka_unit_test(complex_products_count_four_times),
        cmocka_unit_test(no_op_has_two_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
