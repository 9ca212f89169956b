/* What formulas share: the forms a result takes, bytes and broadcasting. */
#include "cost/flops/flop_formula.h"

#include "cost/flops/saturating.h"

const char why_no_formula[] = "no formula for this op";
const char why_no_shapes[] = "its shapes were not recorded";
const char why_odd_shapes[] = "its shapes are not those the formula expects";
const char why_no_values[] = "the trace lacks the values of its arguments (strides, padding, ...)";
const char why_list_left_out[] =
    "torch leaves the shapes of lists of more than 30 tensors out of the trace";
const char why_too_large[] = "the count does not fit in 63 bits";
const char why_sparse[] = "an operand is sparse: its shape does not tell its non-zeros";
const char why_packed_sequences[] = "the lengths of packed sequences are not in the trace";
const char why_no_lengths[] =
    "how many tokens its requests see is not in the trace (vLLM's ranges execute_... tell it)";
const char why_no_expert_sizes[] =
    "the sizes of its experts are not in the trace (--model config.json tells them)";

bool not_counted(struct op_cost *cost, const char *why)
{
    *cost = (struct op_cost){.kind = COST_NOT_COUNTED, .why = why, .bytes = -1};
    return false;
}

bool own_work_not_counted(struct op_cost *cost, const char *why)
{
    (void)not_counted(cost, why);
    cost->is_own_work = true;
    return false;
}

/* Bytes may be unknown where FLOPs are known; a sum too large is unknown, not saturated. */
static int64_t flop_formula_known_bytes(int64_t bytes)
{
    return bytes == TOO_LARGE ? -1 : bytes;
}

bool matrix_cost(struct op_cost *cost, int64_t macs, int64_t bytes)
{
    /* A multiply-add is two operations, here as everywhere. Masks and padding are taken off by
     * the formulas that know of them. */
    int64_t flops = times(macs, 2);

    *cost = (struct op_cost){.kind = COST_MATRIX,
                             .flops = flops,
                             .model_flops = flops,
                             .masked_flops = flops,
                             .macs = macs,
                             .bytes = flop_formula_known_bytes(bytes)};
    return true;
}

/* Nothing is masked and nothing recomputed within one such op: all three counts are the same. */
bool plain_cost(struct op_cost *cost, enum cost_kind kind, int64_t flops, int64_t bytes)
{
    *cost = (struct op_cost){.kind = kind,
                             .flops = flops,
                             .model_flops = flops,
                             .masked_flops = flops,
                             .bytes = flop_formula_known_bytes(bytes)};
    return true;
}

/* Arguments that are no tensors move nothing. Each is read once: caches and repeated reads are
 * the device's affair. */
int64_t bytes_moved(const struct op_call *call, struct byte_range range)
{
    int64_t bytes = 0;

    for (uint32_t i = range.first; i < range.first + range.count; i++) {
        int64_t more;

        if (elements_of(call, i) < 0)
            continue;
        more = bytes_of(call, i);
        if (more < 0)
            return -1;
        bytes = plus(bytes, more);
    }
    /* A sum that lacks one of its parts would be a wrong number, not a small one: then no bytes
     * are told. */
    if (range.output_elements < 0)
        return -1;
    if (range.typed >= call->argument_count || call->arguments[range.typed].element_bytes == 0)
        return range.output_elements == 0 ? bytes : -1;
    return plus(bytes, times(range.output_elements, call->arguments[range.typed].element_bytes));
}

int64_t bytes_of_arguments(const struct op_call *call)
{
    return bytes_moved(call, (struct byte_range){0, call->argument_count, 0, 0});
}

int64_t broadcast_elements(const struct op_call *call, uint32_t first, uint32_t count)
{
    int64_t elements = 1;
    int rank = -1;

    for (uint32_t i = first; i < first + count; i++)
        if (rank_of(call, i) > rank)
            rank = rank_of(call, i);
    if (rank < 0)
        return -1;
    /* torch's rule of broadcasting: shapes are laid against each other from their last dimension
     * on; sizes agree where they are equal, or one is 1, or not there. */
    for (int dim = -1; dim >= -rank; dim--) {
        int64_t size = 1;

        for (uint32_t i = first; i < first + count; i++) {
            int64_t own = size_of(call, i, dim);

            if (own < 0 || own == 1 || own == size)
                continue;
            if (size != 1)
                return -1;
            size = own;
        }
        elements = times(elements, size);
    }
    return elements;
}
