/* The sizes of one matrix product, whichever operator computes it. */
#include "cost/flops/product_sizes.h"

#include <stddef.h>
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

/* M x N and N x M cost the same, and a backward has either: sizes are kept as smaller and
 * larger, so that both compare equal. */
bool product_sizes_of(struct product_sizes *sizes, struct op_call *call, const char *name,
                      const char *shapes)
{
    const struct op_call_text given = {.name = name, .shapes = shapes};
    const struct product_operator *known = NULL;
    int64_t rows, columns;

    for (size_t i = 0; i < sizeof product_operators / sizeof *product_operators; i++)
        if (strcmp(product_operators[i].name, name) == 0)
            known = &product_operators[i];
    if (!known || !shapes || !op_call_parse(call, &given))
        return false;
    rows = size_of(call, known->first, -2);
    columns = size_of(call, known->first + 1, -1);
    *sizes = (struct product_sizes){
        .count = rank_of(call, known->first) == 3 ? size_of(call, known->first, 0) : 1,
        .smaller = rows < columns ? rows : columns,
        .shared = size_of(call, known->first, -1),
        .larger = rows < columns ? columns : rows,
    };
    return sizes->smaller >= 0 && sizes->shared >= 0;
}
