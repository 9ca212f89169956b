/* Attention's core: scores, and what turns queries and keys by their position. */
#include "cost/architectures/architecture_cost.h"
#include "cost/plan/plan_operators.h"

#include <math.h>

/* A fused kernel works on blocks, of which those at the mask's edge are computed whole; in tokens.
 */
static const double BLOCK_EDGE = 256.0;

/* At half of the peak, products take half of the time, exponentials and the like the rest: in 8
 * bits the products take half of their part. Of FlashAttention-3's forward on H100 the formula says
 * 1.38, and 740 and 1,200 TFLOP/s were measured. */
static double plan_fused_rate(const struct plan_context *context)
{
    const enum plan_attention attention = context->setting->attention;
    double flash = context->rates->flash;

    return attention == PLAN_FLASH     ? flash
           : attention == PLAN_FLASH_8 ? flash / (1.0 - flash / 2.0)
           : attention == PLAN_FLASH_2 ? context->rates->flash_2
                                       : context->rates->flash_1;
}

/* Matrix units read rows of 16 bytes: eight elements of 16 bits. Heads of another size are left to
 * the vector units, of which products reach half of the 32-bit peak. From BLOOM's runs with heads
 * of 108, 150 and 450: 7 to 10 of an A100's 19.5 TFLOP/s. */
enum { ROW_ELEMENTS = 8 };
static const double UNALIGNED_SHARE = 0.45;

/* Columns of a score's query and value that the share of the peak was measured at, each. */
static const double MEASURED_COLUMNS = 128.0;

/* Of a fused kernel that overlaps the two, products take the share of the peak that it reaches, and
 * exponentials the rest. Smaller heads have more scores for the same FLOPs, each with its
 * exponential, forward and again backward: what those take beyond, in FLOPs at that rate.
 * FlashAttention-3's paper has 412 by 600 TFLOP/s for cuDNN with heads of 64 and 128 on H100, and
 * 496 by 646 for its own; this says 0.69. Before Hopper products are what a kernel waits for. */
static double plan_exponentials(const struct plan_context *context, const struct layer_kind *kind,
                                double of_forward)
{
    const struct plan_rates *rates = context->rates;
    double columns = 0.5 * (double)(kind->key_size + kind->value_size);
    bool is_fastest =
        context->setting->attention == PLAN_FLASH || context->setting->attention == PLAN_FLASH_8;

    if (!is_fastest || rates->flash <= rates->flash_2)
        return 0.0;
    return of_forward * (1.0 / rates->flash - 1.0) * fmax(MEASURED_COLUMNS / columns - 1.0, 0.0);
}

/* Of a fused kernel, in seconds at the peak. The fastest there is takes no longer than
 * FlashAttention-2 does. */
static double plan_fused_share(const struct plan_context *context, const struct layer_kind *kind,
                               double of_forward, bool is_backward)
{
    const struct plan_rates *rates = context->rates;
    double of_use = of_forward * (is_backward ? 2.0 : 1.0);
    double backward = is_backward ? rates->backward : 1.0;
    double share = of_use / (plan_fused_rate(context) * backward) +
                   plan_exponentials(context, kind, of_forward);
    bool is_fastest =
        context->setting->attention == PLAN_FLASH || context->setting->attention == PLAN_FLASH_8;

    return is_fastest ? fmin(share, of_use / (rates->flash_2 * backward)) : share;
}

/* Causal attention computes half of the pairs and, in blocks, those at the edge whole: a
 * fraction of BLOCK_EDGE / length more. Unfused attention computes all pairs, and streams the
 * scores several times. */
void plan_add_scores(const struct plan_context *context, const struct layer_kind *kind,
                     struct plan_pass *pass, bool is_backward)
{
    const struct plan_setting *setting = context->setting;
    double heads = (double)kind->heads / (double)context->layout->tensor;
    double keys = attended_keys(setting->model, kind, setting->sequence);
    double length = (double)setting->sequence;
    double of_forward =
        2.0 * context->tokens * heads * keys * (double)(kind->key_size + kind->value_size);
    double of_use = of_forward * (is_backward ? 2.0 : 1.0);

    if (kind->heads == 0)
        return;
    if (setting->attention == PLAN_UNFUSED) {
        double samples = context->tokens / length;
        struct plan_pass unfused = {.device = 0.0};
        struct plan_product scores = {
            .m = length, .n = length, .k = (double)kind->key_size, .batch = heads * samples};
        struct plan_product values = {
            .m = length, .n = (double)kind->value_size, .k = length, .batch = heads * samples};

        if (kind->key_size % ROW_ELEMENTS == 0) {
            (is_backward ? plan_add_backward : plan_add_product)(context, &unfused, scores);
            (is_backward ? plan_add_backward : plan_add_product)(context, &unfused, values);
        } else {
            unfused.device = (is_backward ? 8.0 : 4.0) * heads * samples * length * length *
                             (double)kind->key_size /
                             (UNALIGNED_SHARE * context->setting->device->peaks[PEAK_FP32]);
            unfused.kernels = is_backward ? 4.0 : 2.0;
        }
        /* Softmax reads and writes a score, dropout likewise, and a mask of a byte. */
        plan_add_stream(context, &unfused,
                        heads * samples * length * length *
                            ((is_backward ? 5.0 : 4.0) * context->element + 1.0),
                        2.0);
        plan_add_attention(context, pass, of_use, unfused.device);
        pass->kernels += unfused.kernels;
        return;
    }
    plan_add_attention(context, pass, of_use,
                       plan_fused_share(context, kind, of_forward, is_backward) *
                           (1.0 + 0.5 * BLOCK_EDGE / keys) / context->peak_16);
}

/* What a mixer multiplies without matrices of weights, beside its scores: the scan of a state space
 * or of linear attention, its convolution, products of streams, and scores of an indexer. Kernels
 * compute these in chunks on matrix units, and are taken to reach the share of the peak that fused
 * attention does: no run was held beside that. */
void plan_add_scan(const struct plan_context *context, const struct layer_kind *kind,
                   struct plan_pass *pass, bool is_backward)
{
    struct layer_kind indexer = {.mask = kind->mask};
    double indexed = 2.0 * (double)(kind->index_heads * kind->index_size);
    double of_token = scan_flops(kind) + 2.0 * (double)kind->mixer_products;
    double of_use = context->tokens / (double)context->layout->tensor * (is_backward ? 2.0 : 1.0);
    double rate = context->rates->flash * (is_backward ? context->rates->backward : 1.0);

    if (kind->index_heads > 0)
        of_token +=
            indexed * attended_keys(context->setting->model, &indexer, context->setting->sequence);
    of_use *= of_token;
    if (of_token > 0.0)
        plan_add_attention(context, pass, of_use, of_use / rate / context->peak_16);
}

/* Megatron-Core, rope_utils.py: where YaRN scales cosine and sine (GPT-OSS), no fused kernel turns
 * queries and keys. A column then streams 24 bytes forward (two products, the halves exchanged and
 * one negated, their sum, and the columns that are not turned put behind) and 28 backward, where
 * one kernel would stream 4 and 6; in 32 bits twice as many. */
void plan_add_rotation(const struct plan_context *context, const struct layer_kind *kind,
                       struct plan_pass *pass, bool is_backward)
{
    double columns = (double)((kind->heads + kind->key_heads) * kind->key_size) /
                     (double)context->layout->tensor;

    if (context->setting->rotates_apart && kind->heads > 0)
        plan_add_stream(context, pass,
                        context->tokens * columns * context->element * (is_backward ? 11.0 : 10.0),
                        is_backward ? 12.0 : 10.0);
}
