/* FLOPs of state spaces (Mamba).
 *
 * The scan of Mamba 1, for each channel, time step and state: delta A and its exponential 2, times
 * the input 1, decay and add 2, the product with C and its sum 2: 7; and 1 for delta x input, 2 for
 * D, 5 for the gate of each channel and step, where they are given. On vector units.
 * Mamba 2 (SSD) works in chunks of Q steps with matmuls: C B^T (Q Q N for each group), its product
 * with the inputs (Q Q P for each head; masked, half of both), the chunk's state and the product
 * with the state before (Q N P for each head, both).
 * A causal convolution has one multiply-add for each channel, step and weight.
 * Sources: Gu and Dao, Mamba, algorithm 2; Dao and Gu, Transformers are SSMs, section 6; argument
 * lists from mamba-ssm, causal-conv1d and vLLM. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* selective_scan_fwd(u [.., L], delta, A [D, N], B, C, D, z, ...): numbers: indices of D and z. */
static bool count_selective_scan(struct op_cost *cost, const struct op_call *call,
                                 const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 0);
    int64_t states = size_of(call, 2, 1);
    int64_t each = plus(times(7, states), 1);

    if (elements < 0 || rank_of(call, 2) != 2 || elements_of(call, 1) != elements)
        return not_counted(cost, why_odd_shapes);
    if (rank_of(call, (uint32_t)rule->numbers[0]) == 1)
        each = plus(each, 2);
    if (elements_of(call, (uint32_t)rule->numbers[1]) == elements)
        each = plus(each, 5);
    return plain_cost(cost, COST_POINTWISE, times(elements, each),
                      bytes_moved(call, (struct byte_range){0, 7, 0, elements}));
}

/* MambaChunkScanCombinedFn(x [B, L, H, P], dt [B, L, H], A [H], B [B, L, G, N], C, chunk, ...)
 * Lengths that are no multiple of the chunk are padded by some versions and not by others, so
 * they are not counted. */
static bool count_chunk_scan(struct op_cost *cost, const struct op_call *call,
                             const struct op_rule *rule)
{
    int64_t steps = times(size_of(call, 0, 0), size_of(call, 0, 1));
    int64_t heads = size_of(call, 0, 2);
    int64_t width = size_of(call, 0, 3);
    int64_t groups = size_of(call, 3, 2);
    int64_t states = size_of(call, 3, 3);
    int64_t chunk;
    int64_t scores;
    int64_t of_states;

    (void)rule;
    if (rank_of(call, 0) != 4 || rank_of(call, 3) != 4 || rank_of(call, 4) != 4)
        return not_counted(cost, why_odd_shapes);
    if (!integer_value(call, 5, &chunk) || chunk < 1)
        return not_counted(cost, why_no_values);
    if (size_of(call, 0, 1) % chunk != 0)
        return not_counted(cost, why_odd_shapes);
    scores = times(times(steps, chunk), plus(times(groups, states), times(heads, width)));
    of_states = times(times(2, steps), times(times(heads, width), states));
    (void)matrix_cost(cost, plus(scores, of_states),
                      bytes_moved(call, (struct byte_range){0, 5, 0, elements_of(call, 0)}));
    /* of Q x Q pairs a causal mask leaves Q (Q + 1) / 2 */
    cost->masked_flops = times(2, plus(scores / chunk * (chunk + 1) / 2, of_states));
    return true;
}

/* numbers: index of the weights [D, W]; argument 0 is the input. */
static bool count_causal_convolution(struct op_cost *cost, const struct op_call *call,
                                     const struct op_rule *rule)
{
    uint32_t weight = (uint32_t)rule->numbers[0];
    int64_t elements = elements_of(call, 0);

    if (elements < 0 || rank_of(call, weight) != 2)
        return not_counted(cost, why_odd_shapes);
    return matrix_cost(cost, times(elements, size_of(call, weight, 1)),
                       bytes_of(call, 0) < 0 || bytes_of(call, weight) < 0
                           ? -1
                           : plus(times(2, bytes_of(call, 0)), bytes_of(call, weight)));
}

static const struct op_rule rules[] = {
    {"serving::selective_scan_fwd", count_selective_scan, {5, 6}},
    {"SelectiveScanFn", count_selective_scan, {5, 6}},
    {"MambaChunkScanCombinedFn", count_chunk_scan, {0}},
    {"serving::causal_conv1d_fwd", count_causal_convolution, {1}},
    {"serving::causal_conv1d_update", count_causal_convolution, {2}},
    {"CausalConv1dFn", count_causal_convolution, {1}},
    {"DaoAILab::_causal_conv1d_fwd_cpp", count_causal_convolution, {1}},
};

const struct flop_formula state_space_formula = {
    .name = "state_space",
    .summary = "Mamba: scans, chunked scans as matmuls, causal convolutions",
    RULES(rules),
};
