/* Time of each step in matrix products, by their sizes alone: torch.compile calls another operator
 * for the same product, or the transposed one, and that is no other work. */
#include "cost/efficiency/matrix_calls.h"
#include "cost/flops/product_sizes.h"
#include "cost/flops/saturating.h"
#include "ledger/step_finder.h"
#include "sections/comparison/profile_trace.h"

#include <inttypes.h>
#include <stdio.h>

struct product_name {
    char characters[160];
};

/* The smaller outer size first: A by B and its transpose are one product. */
static bool name_product(struct product_name *name, struct op_call *call, const struct trace *trace,
                         const struct event *op)
{
    uint32_t shapes = trace->details[op->detail].input_shapes;
    struct product_sizes sizes;
    char times[32] = "";

    if (shapes == 0 ||
        !product_sizes_of(&sizes, call, trace_text(trace, op->name), trace_text(trace, shapes)))
        return false;
    if (sizes.count != 1)
        snprintf(times, sizeof times, "%" PRId64 " times ", sizes.count);
    snprintf(name->characters, sizeof name->characters,
             "%s[%" PRId64 ", %" PRId64 "] by [%" PRId64 ", %" PRId64 "]", times, sizes.smaller,
             sizes.shared, sizes.shared, sizes.larger);
    return true;
}

void profile_matmuls(struct run_profile *profile, const struct profile_source *source,
                     const uint32_t *row_of_step)
{
    const struct matrix_calls *calls = &source->efficiency->calls;
    const struct trace *trace = source->trace;
    struct step_finder finder = {.ledger = source->ledger};
    struct op_call call = {0};

    for (uint32_t i = 0; i < calls->count; i++) {
        const struct matrix_call *each = &calls->calls[i];
        const struct event *op = &trace->host[each->op];
        const struct event *begun = each->longest == NO_EVENT ? op : &trace->device[each->longest];
        uint32_t step = step_finder_at(&finder, begun->start_ns);
        struct measure *measure;
        struct product_name name;

        if (!each->is_matrix || step == NO_STEP || row_of_step[step] == NO_STEP ||
            !name_product(&name, &call, trace, op))
            continue;
        measure = profile_measure(profile, MEASURE_MATMUL, name.characters, "");
        measure_has_calls(profile, measure);
        measure->values[row_of_step[step]] =
            plus(measure->values[row_of_step[step]], each->kernel_ns);
        measure->calls[row_of_step[step]]++;
    }
    op_call_clear(&call);
}
