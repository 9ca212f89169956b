/* Time of each step in matrix products, by their sizes alone: torch.compile calls another operator
 * for the same product, or the transposed one, and that is no other work. */
#include "comparison/profile_trace.h"
#include "flops/op_call.h"
#include "flops/saturating.h"
#include "ledger/step_finder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Operators that are one product: of the argument numbered `first`, and of the one behind it. */
static const struct product_operator {
    const char *name;
    uint32_t first;
} product_operators[] = {
    {"aten::mm", 0},      {"aten::addmm", 1},      {"aten::_addmm_activation", 1},
    {"aten::_int_mm", 0}, {"aten::_scaled_mm", 0}, {"aten::bmm", 0},
    {"aten::baddbmm", 1},
};

static const struct product_operator *product_operator_of(const char *name)
{
    for (size_t i = 0; i < sizeof product_operators / sizeof *product_operators; i++)
        if (strcmp(product_operators[i].name, name) == 0)
            return &product_operators[i];
    return NULL;
}

struct product_name {
    char characters[160];
};

/* "[512, 128] by [128, 1024]", the smaller side first: a product and its transpose are alike. */
static bool name_product(struct product_name *name, struct op_call *call, const struct trace *trace,
                         const struct event *op)
{
    const struct product_operator *known = product_operator_of(trace_text(trace, op->name));
    uint32_t shapes = trace->details[op->detail].input_shapes;
    struct op_call_text given = {.name = trace_text(trace, op->name)};
    int64_t rows, columns, shared, products;
    char times[32] = "";

    if (!known || shapes == 0)
        return false;
    given.shapes = trace_text(trace, shapes);
    if (!op_call_parse(call, &given))
        return false;
    rows = size_of(call, known->first, -2);
    shared = size_of(call, known->first, -1);
    columns = size_of(call, known->first + 1, -1);
    if (rows < 0 || shared < 0 || columns < 0)
        return false;
    products = rank_of(call, known->first) == 3 ? size_of(call, known->first, 0) : 1;
    if (products != 1)
        snprintf(times, sizeof times, "%" PRId64 " times ", products);
    snprintf(name->characters, sizeof name->characters,
             "%s[%" PRId64 ", %" PRId64 "] by [%" PRId64 ", %" PRId64 "]", times,
             rows < columns ? rows : columns, shared, shared, rows < columns ? columns : rows);
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
