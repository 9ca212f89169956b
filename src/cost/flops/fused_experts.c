/* FLOPs of a whole mixture of experts behind one operator, as inference servers call it.
 *
 * Each token meets the weights of the experts it chose: 2 x tokens x chosen x weights of one. The
 * router stands outside. Bytes: the tokens in and out, and the weights of the experts that at least
 * one token chose, expected where tokens choose evenly: E (1 - (1 - k / E) ^ T) of E. Where the
 * weights are no arguments, their sizes are those of the model's config.
 * Source: Shazeer et al., sparsely-gated mixture of experts; argument lists from vLLM, SGLang and
 * aiter. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

#include <math.h>
#include <stddef.h>

/* Bytes of the experts that `tokens` choose, and of the tokens, read and written. */
static int64_t bytes_of_experts(double experts, double chosen, double tokens, double bytes_of_one)
{
    double read = experts * (1 - pow(1 - chosen / experts, tokens));
    double bytes = read * bytes_of_one;

    return bytes >= 0 && bytes < (double)TOO_LARGE / 2 ? (int64_t)(bytes + 0.5) : -1;
}

/* Tokens are read and written, hence their bytes twice. Where weights are not known the bytes
 * are not, while the FLOPs still are. */
static bool count_chosen(struct op_cost *cost, const struct op_call *call,
                         const struct expert_sizes *sizes)
{
    int64_t tokens = size_of(call, 0, 0);
    int64_t weights = bytes_of_experts((double)sizes->experts, (double)sizes->chosen,
                                       (double)tokens, sizes->bytes);
    int64_t states = bytes_of(call, 0);

    return matrix_cost(cost, times(times(tokens, sizes->chosen), sizes->weights),
                       weights < 0 || states < 0 ? -1 : plus(weights, times(2, states)));
}

/* (tokens [T, H], w1 [E, gates and up, H], w2 [E, H, I], ...): numbers[0]: index of what has one
 * column for each chosen expert [T, k]. Packed weights are narrower than H by what lies in one
 * element. 4-bit weights lie two in a byte, so stored * in_element must be the hidden size;
 * every other relation of the shapes is checked as well, since the argument lists of three
 * libraries differ. */
static bool count_fused_experts(struct op_cost *cost, const struct op_call *call,
                                const struct op_rule *rule)
{
    uint32_t choices = (uint32_t)rule->numbers[0];
    int64_t hidden = size_of(call, 0, -1);
    int64_t stored = size_of(call, 1, 2);
    int64_t in_element = stored > 0 ? hidden / stored : 0;
    int64_t width = times(size_of(call, 2, 2), in_element);
    struct expert_sizes sizes = {
        .hidden = hidden, .experts = size_of(call, 1, 0), .chosen = size_of(call, choices, 1)};

    if (rank_of(call, 0) != 2 || rank_of(call, 1) != 3 || rank_of(call, 2) != 3 ||
        rank_of(call, choices) != 2 || in_element < 1 || stored * in_element != hidden ||
        size_of(call, 2, 1) != hidden || size_of(call, 2, 0) != sizes.experts ||
        sizes.chosen > sizes.experts || sizes.experts < 1)
        return not_counted(cost, why_odd_shapes);
    sizes.weights = plus(times(size_of(call, 1, 1), hidden), times(hidden, width));
    sizes.bytes = (double)sizes.weights / (double)in_element * call->arguments[1].element_bytes;
    if (call->arguments[1].element_bytes == 0)
        sizes.bytes = -1;
    return count_chosen(cost, call, &sizes);
}

/* moe_forward(tokens [T, H], router's logits [T, E], ...). The hidden size may be padded. vLLM's
 * moe_forward has no weights among its arguments: their sizes come from the model's config, and
 * must fit what is there. */
static bool count_named_experts(struct op_cost *cost, const struct op_call *call,
                                const struct op_rule *rule)
{
    const struct expert_sizes *sizes = call->around.experts;

    (void)rule;
    if (rank_of(call, 0) != 2 || rank_of(call, 1) != 2)
        return not_counted(cost, why_odd_shapes);
    if (!sizes)
        return own_work_not_counted(cost, why_no_expert_sizes);
    if (size_of(call, 1, 1) != sizes->experts || size_of(call, 0, 1) < sizes->hidden)
        return own_work_not_counted(cost, why_odd_shapes);
    return count_chosen(cost, call, sizes);
}

/* Each token's scores over all experts are read, and what is chosen is written. numbers: FLOPs of a
 * score, index of the scores, index of the number of chosen, or -1 where results are arguments. */
static bool count_choice(struct op_cost *cost, const struct op_call *call,
                         const struct op_rule *rule)
{
    uint32_t scores = (uint32_t)rule->numbers[1];
    int64_t chosen = 0;
    int64_t bytes = bytes_of_arguments(call);

    if (rank_of(call, scores) != 2)
        return not_counted(cost, why_odd_shapes);
    if (rule->numbers[2] >= 0 && !integer_value(call, (uint32_t)rule->numbers[2], &chosen))
        bytes = -1;
    if (bytes >= 0) /* a weight of the scores' type, and a number of 4 bytes */
        bytes = plus(bytes, times(times(size_of(call, scores, 0), chosen),
                                  call->arguments[scores].element_bytes + 4));
    return plain_cost(cost, COST_POINTWISE, times(elements_of(call, scores), rule->numbers[0]),
                      bytes);
}

/* Weights and numbers of the chosen experts [T, k] are sorted by expert: read, and written. */
static bool count_sorting(struct op_cost *cost, const struct op_call *call,
                          const struct op_rule *rule)
{
    int64_t bytes = bytes_of_arguments(call);

    (void)rule;
    return plain_cost(cost, COST_MOVEMENT, 0, bytes < 0 ? -1 : times(2, bytes));
}

static bool count_all_moved(struct op_cost *cost, const struct op_call *call,
                            const struct op_rule *rule)
{
    (void)rule;
    return plain_cost(cost, COST_MOVEMENT, 0, bytes_of_arguments(call));
}

static const struct op_rule rules[] = {
    {"serving::inplace_fused_experts", count_fused_experts, {4}},
    {"serving::outplace_fused_experts", count_fused_experts, {4}},
    {"serving::fused_experts", count_fused_experts, {4}},
    {"serving::fused_moe_", count_fused_experts, {4}},
    {"serving::rocm_aiter_fused_moe", count_fused_experts, {4}},
    {"serving::rocm_aiter_asm_moe_tkw1", count_fused_experts, {4}},
    {"serving::moe_forward", count_named_experts, {0}},
    {"serving::moe_forward_shared", count_named_experts, {0}},
    {"serving::topk_softmax", count_choice, {5, 3, -1}},
    {"serving::moe_align_block_size", count_all_moved, {0}},
    {"TopK", count_choice, {1, 0, 1}},
    {"SortTokens", count_sorting, {0}},
};

const struct flop_formula fused_experts_formula = {
    .name = "fused_experts",
    .summary = "experts behind one op: 2 x tokens x chosen experts x weights of one",
    RULES(rules),
};
