/* FLOPs of reductions, scans and sorts.
 *
 * A sum, maximum, mean or the like: one for each element of the input; variance 3 (mean, square,
 * add); norm 2; a scan one. A sort compares n log2(n) times in each row. A Fourier transform 5 n
 * log2(n), half of that for real numbers (Cooley and Tukey). Bytes: the input is read;
 * the result is small and counted where its size can be told. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* numbers: FLOPs of each element of argument 0, whether as many elements are written (scans). */
static bool count_reduction(struct op_cost *cost, const struct op_call *call,
                            const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 0);

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    return plain_cost(
        cost, COST_POINTWISE, times(elements, rule->numbers[0]),
        bytes_moved(call, (struct byte_range){0, 1, 0, rule->numbers[1] ? elements : 0}));
}

/* At least 1, so that a row of one element counts as looked at. */
static int64_t log2_rounded_up(int64_t number)
{
    return number < 2 ? 1 : 64 - __builtin_clzll((unsigned long long)number - 1);
}

/* sort(input, dim, ...): numbers[0]: index of the dimension's argument. */
static bool count_sort(struct op_cost *cost, const struct op_call *call, const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 0);
    int64_t dim;

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    if (!integer_value(call, (uint32_t)rule->numbers[0], &dim) || dim > 64 || dim < -64)
        dim = -1;
    return plain_cost(cost, COST_POINTWISE,
                      times(elements, log2_rounded_up(size_of(call, 0, (int)dim))),
                      bytes_moved(call, (struct byte_range){0, 1, 0, elements}));
}

/* fft(input, dims, ...): numbers[0]: FLOPs for each element and doubling, times two: 10 for the
 * 5 n log2 n of complex numbers, 5 where the input is real. What gives real numbers has half as
 * many complex ones as input, so that it comes to half by itself. */
static bool count_transform(struct op_cost *cost, const struct op_call *call,
                            const struct op_rule *rule)
{
    int64_t elements = elements_of(call, 0);
    struct value_list dims;
    int64_t doublings = 0;

    if (elements < 0)
        return not_counted(cost, why_odd_shapes);
    if (!list_value(call, 1, &dims))
        return not_counted(cost, why_no_values);
    for (uint32_t i = 0; i < dims.count; i++)
        doublings += log2_rounded_up(size_of(call, 0, (int)dims.values[i]));
    return plain_cost(cost, COST_POINTWISE, times(times(elements, doublings), rule->numbers[0]) / 2,
                      bytes_moved(call, (struct byte_range){0, 1, 0, elements}));
}

static const struct op_rule rules[] = {
    {"aten::sum", count_reduction, {1, 0}},
    {"aten::nansum", count_reduction, {1, 0}},
    {"aten::mean", count_reduction, {1, 0}},
    {"aten::prod", count_reduction, {1, 0}},
    {"aten::max", count_reduction, {1, 0}},
    {"aten::min", count_reduction, {1, 0}},
    {"aten::amax", count_reduction, {1, 0}},
    {"aten::amin", count_reduction, {1, 0}},
    {"aten::aminmax", count_reduction, {2, 0}},
    {"aten::argmax", count_reduction, {1, 0}},
    {"aten::argmin", count_reduction, {1, 0}},
    {"aten::all", count_reduction, {1, 0}},
    {"aten::any", count_reduction, {1, 0}},
    {"aten::logsumexp", count_reduction, {4, 0}},
    {"aten::norm", count_reduction, {2, 0}},
    {"aten::linalg_vector_norm", count_reduction, {2, 0}},
    {"aten::var", count_reduction, {3, 0}},
    {"aten::std", count_reduction, {3, 0}},
    {"aten::var_mean", count_reduction, {3, 0}},
    {"aten::std_mean", count_reduction, {3, 0}},
    {"aten::count_nonzero", count_reduction, {1, 0}},
    {"aten::histc", count_reduction, {1, 0}},
    {"aten::bincount", count_reduction, {1, 0}},
    {"aten::cumsum", count_reduction, {1, 1}},
    {"aten::cumprod", count_reduction, {1, 1}},
    {"aten::cummax", count_reduction, {1, 1}},
    {"aten::logcumsumexp", count_reduction, {4, 1}},
    {"aten::cummin", count_reduction, {1, 1}},
    {"aten::_logcumsumexp", count_reduction, {4, 1}},
    {"aten::_cummax_helper", count_reduction, {1, 1}},
    {"aten::_cummin_helper", count_reduction, {1, 1}},
    {"aten::trace", count_reduction, {1, 0}},
    {"aten::dist", count_reduction, {3, 0}},
    {"aten::linalg__powsum", count_reduction, {2, 0}},
    {"aten::_aminmax", count_reduction, {2, 0}},
    {"aten::mode", count_reduction, {1, 0}},
    {"aten::histogram", count_reduction, {1, 0}},
    {"aten::segment_reduce", count_reduction, {1, 0}},
    {"aten::hash_tensor", count_reduction, {1, 0}},
    {"aten::_fft_c2c", count_transform, {10}},
    {"aten::_fft_r2c", count_transform, {5}},
    {"aten::_fft_c2r", count_transform, {10}},
    {"aten::nanmedian", count_sort, {1}},
    {"aten::sort", count_sort, {1}},
    {"aten::argsort", count_sort, {1}},
    {"aten::topk", count_sort, {2}},
    {"aten::kthvalue", count_sort, {2}},
    {"aten::median", count_sort, {1}},
};

const struct flop_formula reduction_formula = {
    .name = "reduction",
    .summary = "reductions and scans: one for each element of the input; sorts: n log2 n",
    RULES(rules),
};
