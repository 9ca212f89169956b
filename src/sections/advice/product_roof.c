/* FLOPs at the peak of their format, bytes at the memory's full bandwidth. */
#include "sections/advice/product_roof.h"

#include "cost/efficiency/work_totals.h"

/* Zero where they are not known: memory then limits nothing in the estimate. */
double bytes_of_product(const struct advice_case *advice, const struct matrix_call *call)
{
    const struct counted_ops *counted = &advice->costs->counted;
    uint32_t cost = counted->cost_of[call->op];

    if (cost == NO_EVENT || counted->costs[cost].bytes < 0)
        return 0;
    return (double)counted->costs[cost].bytes;
}

double memory_roof_ns(const struct advice_case *advice, const struct matrix_call *call,
                      double bytes_left)
{
    double bandwidth = memory_roof(advice->efficiency);

    return bandwidth > 0 ? bytes_left * bytes_of_product(advice, call) / bandwidth * 1e9 : 0;
}

double compute_roof_ns(const struct advice_case *advice, const struct matrix_call *call)
{
    double peak = compute_roof(advice->efficiency, call);

    return peak > 0 ? call->matmul_cost->flops.executed / peak * 1e9 : 0;
}
