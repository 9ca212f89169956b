/* Kernels that torch.compile wrote in Triton, which a trace has as operators with the tensors that
 * they were launched with.
 *
 * A pointwise kernel or a reduction ("triton_poi_", "triton_red_", "triton_per_") is called with
 * its number of iterations, xnumel and the like, as the last numbers. Where no tensor has more
 * elements than that, each of them is read or written whole, once. One that has more is read in
 * part or several times: then the bytes are not known. Its operations stand in the kernel's source
 * alone: it counts as movement. A template of a matmul ("triton_tem_fused_mm") has its two matrices
 * first: 2 M N K. Source: torch/_inductor/codegen/triton.py and kernel/mm.py. */
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
    for (uint32_t i = 2; i < call->argument_count; i++)
        if (elements_of(call, i) == result)
            return matrix_cost(cost, times(elements_of(call, 0), n), bytes_of_arguments(call));
    return own_work_not_counted(cost, why_no_template);
}

static const struct op_rule rules[] = {
    {"triton_poi_*", count_generated, {0}},
    {"triton_red_*", count_generated, {0}},
    {"triton_per_*", count_generated, {0}},
    {"triton_tem_*", count_template, {0}},
};

const struct flop_formula inductor_formula = {
    .name = "inductor",
    .summary = "kernels of torch.compile: bytes; templates of matmuls 2 M N K",
    RULES(rules),
};
