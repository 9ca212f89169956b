/* Kernels that torch.compile wrote in Triton, which a trace has as operators with the tensors that
 * they were launched with.
 *
 * A pointwise kernel or a reduction ("triton_poi_", "triton_red_", "triton_per_") is called with
 * its number of iterations, xnumel and the like, as the last numbers. Where no tensor has more
 * elements than that, each of them is read or written whole, once. One that has more is read in
 * part or several times: then the bytes are not known. Its operations stand in the kernel's source
 * alone: it counts as movement. A template of a matmul ("triton_tem_fused_mm") has its two matrices
 * first: 2 M N K. One of flex_attention has queries, keys and values first: all pairs count, as a
 * block mask says only when it runs which of them it leaves out. A program's own Triton kernels go
 * by their names and a number, "sage_fwd_1"; what they read is in their source alone, so only those
 * of libraries that are known count. Source: torch/_inductor/codegen/triton.py, kernel/mm.py and
 * kernel/flex/flex_attention.py; Zhang et al., SageAttention, argument lists from aiter. */
#include "base/text/prefix.h"
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

static const char why_no_template[] = "a template whose sizes its arguments do not tell";

/* The product of the last numbers; 0 where there are none. */
static int64_t iterations_of(const struct op_call *call)
{
    int64_t iterations = 0;
    int64_t number;

    for (uint32_t i = call->argument_count; i > 0 && integer_value(call, i - 1, &number); i--)
        iterations = number < 0 ? 0 : times(iterations ? iterations : 1, number);
    return iterations;
}

/* A pointwise kernel has one number of iterations, a reduction two; more numbers are sizes that
 * differ from call to call. */
bool generated_kernel_is_fixed(const struct op_call *call, const char *name)
{
    uint32_t numbers = 0;
    int64_t number;

    for (uint32_t i = 0; i < call->argument_count; i++)
        numbers += integer_value(call, i, &number);
    return has_prefix(name, "triton_poi_") ? numbers == 1
                                           : numbers <= 2 && (has_prefix(name, "triton_red_") ||
                                                              has_prefix(name, "triton_per_"));
}

/* A tensor larger than the grid is read in part (a slice, a gather): bytes are then unknown
 * rather than too many. */
static bool count_generated(struct op_cost *cost, const struct op_call *call,
                            const struct op_rule *rule)
{
    int64_t iterations = iterations_of(call);

    (void)rule;
    for (uint32_t i = 0; i < call->argument_count; i++)
        if (elements_of(call, i) > iterations)
            return plain_cost(cost, COST_MOVEMENT, 0, -1);
    return plain_cost(cost, COST_MOVEMENT, 0, bytes_of_arguments(call));
}

/* Queries [B, H, M, D], of a decoding one [B, H, G, M, D], keys [B, H, N, D] and values [B, H, N,
 * E]. A backward computes the scores again, with the gradients of scores, queries, keys and values.
 */
static bool count_flex_attention(struct op_cost *cost, const struct op_call *call,
                                 const struct op_rule *rule)
{
    bool is_backward = rule->numbers[0] != 0;
    int64_t d = size_of(call, 0, -1), e = size_of(call, 2, -1);
    int64_t keys = size_of(call, 1, -2);
    int64_t pairs = times(elements_of(call, 0) / (d > 0 ? d : 1), keys);

    if (rank_of(call, 0) < 4 || rank_of(call, 0) > 5 || rank_of(call, 1) != 4 ||
        rank_of(call, 2) != 4 || d < 1 || e < 1 || size_of(call, 1, -1) != d ||
        size_of(call, 2, -2) != keys || size_of(call, 1, 1) != size_of(call, 2, 1))
        return own_work_not_counted(cost, why_no_template);
    if (!is_backward)
        return matrix_cost(cost, times(pairs, plus(d, e)), bytes_of_arguments(call));
    (void)matrix_cost(cost, times(pairs, plus(times(d, 3), times(e, 2))), bytes_of_arguments(call));
    if (cost->flops != TOO_LARGE)
        cost->model_flops = times(times(pairs, plus(d, e)), 4);
    return true;
}

/* A [M, K] or [B, M, K]; the other is [.., K, N], or as it lies in memory [.., N, K]. The result is
 * an argument behind them. */
static bool count_template(struct op_cost *cost, const struct op_call *call,
                           const struct op_rule *rule)
{
    int rank = rank_of(call, 0);
    int64_t k = size_of(call, 0, -1);
    int64_t n = size_of(call, 1, -2) == k ? size_of(call, 1, -1) : size_of(call, 1, -2);
    int64_t result = times(elements_of(call, 0) / (k > 0 ? k : 1), n);

    (void)rule;
    if ((rank != 2 && rank != 3) || rank_of(call, 1) != rank || k < 1 ||
        (size_of(call, 1, -1) != k && size_of(call, 1, -2) != k) ||
        (rank == 3 && size_of(call, 0, 0) != size_of(call, 1, 0)))
        return own_work_not_counted(cost, why_no_template);
    /* The result must be among the arguments: without it the shapes are of another template,
     * whose product would be guessed. */
    for (uint32_t i = 2; i < call->argument_count; i++)
        if (elements_of(call, i) == result)
            return matrix_cost(cost, times(elements_of(call, 0), n), bytes_of_arguments(call));
    return own_work_not_counted(cost, why_no_template);
}

/* Have keys and values their heads there? x */
static bool has_heads_at(const struct op_call *call, int dim, int64_t key_heads)
{
    return size_of(call, 1, dim) == key_heads && size_of(call, 2, dim) == key_heads;
}

/* sage_fwd(queries, keys, values, bias, their scales [B, H, ..], ..), heads before or behind the
 * sequence: those of the scales of values tell. A list of numbers among the arguments is of packed
 * sequences or of blocks that are left out. */
static bool count_sage_attention(struct op_cost *cost, const struct op_call *call,
                                 const struct op_rule *rule)
{
    int64_t heads = size_of(call, 6, 1), d = size_of(call, 0, -1), e = size_of(call, 2, -1);
    bool is_second = has_heads_at(call, 1, heads), is_third = has_heads_at(call, 2, heads);
    int64_t keys = size_of(call, 1, is_second ? 2 : 1);

    (void)rule;
    if (rank_of(call, 0) != 4 || rank_of(call, 1) != 4 || rank_of(call, 2) != 4 || d < 1 || e < 1 ||
        size_of(call, 1, -1) != d || rank_of(call, 6) != 3 || is_second == is_third ||
        size_of(call, 2, is_second ? 2 : 1) != keys ||
        size_of(call, 0, is_second ? 1 : 2) != size_of(call, 4, 1))
        return own_work_not_counted(cost, why_no_template);
    for (uint32_t i = 0; i < call->argument_count; i++)
        if (rank_of(call, i) == 1 && elements_of(call, i) > 1)
            return own_work_not_counted(cost, why_packed_sequences);
    return matrix_cost(cost, times(times(elements_of(call, 0) / d, keys), plus(d, e)),
                       bytes_of_arguments(call));
}

/* sage_quant_kernel(queries, the same in 8 bits, scales, the same of keys and of values, ..). */
static bool count_sage_quantization(struct op_cost *cost, const struct op_call *call,
                                    const struct op_rule *rule)
{
    (void)rule;
    for (uint32_t i = 0; i < 9; i += 3)
        if (elements_of(call, i) < 0 || elements_of(call, i) != elements_of(call, i + 1))
            return own_work_not_counted(cost, why_no_template);
    return plain_cost(cost, COST_MOVEMENT, 0, bytes_of_arguments(call));
}

static const struct op_rule rules[] = {
    {"sage_fwd", count_sage_attention, {0}},
    {"sage_quant_kernel", count_sage_quantization, {0}},
    {"triton_poi_*", count_generated, {0}},
    {"triton_red_*", count_generated, {0}},
    {"triton_per_*", count_generated, {0}},
    {"triton_tem_*", count_template, {0}},
    {"triton_tem_flex_attention", count_flex_attention, {0}},
    {"triton_tem_flex_attention_backward", count_flex_attention, {1}},
};

const struct flop_formula inductor_formula = {
    .name = "inductor",
    .summary = "kernels of torch.compile: bytes; templates: 2 M N K, flex and Sage attention",
    RULES(rules),
};
