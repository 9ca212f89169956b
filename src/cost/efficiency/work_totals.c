/* Adds up pieces of work by what launched them. */
#include "cost/efficiency/work_totals.h"

#include "base/core/invariant.h"
#include "base/core/large_array.h"

#include <math.h>
#include <stdlib.h>

struct totalling {
    struct work_totals *totals;
    const struct efficiency *efficiency;
    uint32_t *row_of_cost; /* [cost_count] */
    bool *is_counted;      /* [call count] */
};

/* What is no matmul runs on the vector units, in FP32 by convention here. */
double compute_roof(const struct efficiency *efficiency, const struct matrix_call *call)
{
    return call->is_matrix ? call->matmul_cost->peak : efficiency->peaks.peaks[PEAK_FP32];
}

/* As with peaks: what was measured is taken before the table. */
double memory_roof(const struct efficiency *efficiency)
{
    return measured_memory_rate(efficiency->peaks.rates, efficiency->peaks.device, NULL);
}

const char *memory_roof_source(const struct efficiency *efficiency)
{
    const char *source;

    (void)measured_memory_rate(efficiency->peaks.rates, efficiency->peaks.device, &source);
    return source;
}

static const struct op_cost *work_totals_cost_of(const struct efficiency *efficiency, uint32_t cost)
{
    return &efficiency->costs->counted.costs[cost];
}

/* A row is made with the first piece of an operator: what has no piece in the steps gets none. */
static struct operator_work *work_totals_row_of(struct totalling *work, uint32_t cost)
{
    struct work_totals *totals = work->totals;

    if (work->row_of_cost[cost] == UINT32_MAX) {
        work->row_of_cost[cost] = totals->operator_count;
        totals->operators[totals->operator_count++] =
            (struct operator_work){.cost = cost, .example = NO_CALL};
    }
    return &totals->operators[work->row_of_cost[cost]];
}

static int64_t longest_ns(const struct efficiency *efficiency, const struct matrix_call *call)
{
    return call->longest == NO_EVENT ? call->kernel_ns
                                     : efficiency->trace->device[call->longest].duration_ns;
}

/* bytes below 0 are "not known", and one such call makes the sum unknown: -INFINITY stays
 * below 0 whatever is added. */
static void add_to_operator(struct totalling *work, const struct work_piece *piece, double share)
{
    const struct efficiency *efficiency = work->efficiency;
    const struct matrix_call *call = &efficiency->calls.calls[piece->call];
    uint32_t cost = efficiency->costs->counted.cost_of[call->op];
    const struct op_cost *matmul_cost = work_totals_cost_of(efficiency, cost);
    struct operator_work *row = work_totals_row_of(work, cost);
    int64_t length_ns = event_of_piece(&efficiency->calls, piece)->duration_ns;

    row->kernel_ns += length_ns;
    if (piece->unit == MATRIX_UNIT_USED)
        row->unit_ns += length_ns;
    if (piece->unit == MATRIX_UNIT_NOT_USED)
        row->vector_ns += length_ns;
    row->flops +=
        share * (call->is_matrix ? call->matmul_cost->flops.executed : (double)matmul_cost->flops);
    if (matmul_cost->bytes < 0)
        row->bytes = -INFINITY;
    row->bytes += share * (double)matmul_cost->bytes;
    /* A call may have several pieces, and counts once. The longest call stands as the example:
     * it is the one to look at in a timeline. */
    if (!work->is_counted[piece->call]) {
        work->is_counted[piece->call] = true;
        row->calls++;
        if (row->example == NO_CALL ||
            longest_ns(efficiency, call) >
                longest_ns(efficiency, &efficiency->calls.calls[row->example]))
            row->example = piece->call;
    }
}

/* Roofline per piece: time is at least FLOPs over peak and bytes over bandwidth, the larger of
 * the two (Williams, Waterman, Patterson 2009). Summed over pieces, it is a bound of their
 * sum. */
static void work_totals_add_to_class(struct totalling *work, const struct work_piece *piece,
                                     double share)
{
    const struct efficiency *efficiency = work->efficiency;
    const struct matrix_call *call = &efficiency->calls.calls[piece->call];
    const struct op_cost *matmul_cost =
        work_totals_cost_of(efficiency, efficiency->costs->counted.cost_of[call->op]);
    struct class_work *class = &work->totals->classes[piece->class];
    double flops =
        share * (call->is_matrix ? call->matmul_cost->flops.executed : (double)matmul_cost->flops);
    double bytes = share * (double)matmul_cost->bytes;
    double peak = compute_roof(efficiency, call);
    double bandwidth = memory_roof(efficiency);
    double compute_ns = peak > 0 ? flops / peak * 1e9 : 0;

    if (matmul_cost->bytes < 0 || (call->is_matrix && call->matmul_cost->flops.executed <= 0))
        return;
    class->known_ns += event_of_piece(&efficiency->calls, piece)->duration_ns;
    class->flops += flops;
    class->bytes += bytes;
    class->compute_ns += compute_ns;
    if (bandwidth > 0 && peak > 0)
        class->roof_ns += fmax(compute_ns, bytes / bandwidth * 1e9);
}

/* A module is costed only where all of what it ran is: costed_ns says how much of kernel_ns
 * that is. */
static void add_to_module(struct totalling *work, const struct work_piece *piece, double share)
{
    const struct efficiency *efficiency = work->efficiency;
    const struct matrix_call *call = &efficiency->calls.calls[piece->call];
    uint32_t module = module_of_host(&efficiency->costs->contexts, call->op);
    struct module_work *row = module == NO_MODULE ? NULL : &work->totals->modules[module];
    int64_t length_ns = event_of_piece(&efficiency->calls, piece)->duration_ns;

    if (!row || !call->is_matrix)
        return;
    row->kernel_ns += length_ns;
    row->unit_ns += piece->unit == MATRIX_UNIT_USED ? length_ns : 0;
    row->flops += share * call->matmul_cost->flops.executed;
    if (call->obstacle != PRICE_KNOWN)
        return;
    row->costed_ns += length_ns;
    row->ideal_ns += share * call->matmul_cost->flops.executed / call->matmul_cost->peak * 1e9;
}

/* A call's FLOPs are shared among its kernels by their time: which kernel did which part is
 * not told. */
static void work_totals_add_piece(struct totalling *work, const struct work_piece *piece)
{
    int64_t length_ns = event_of_piece(&work->efficiency->calls, piece)->duration_ns;
    double share = 0;

    work->totals->classes[piece->class].kernel_ns += length_ns;
    if (piece->call == NO_CALL)
        return;
    if (work->efficiency->calls.calls[piece->call].kernel_ns > 0)
        share = (double)length_ns / (double)work->efficiency->calls.calls[piece->call].kernel_ns;
    add_to_operator(work, piece, share);
    work_totals_add_to_class(work, piece, share);
    add_to_module(work, piece, share);
}

/* Pieces and steps are both in order of start: one walk. */
static void add_pieces(struct totalling *work)
{
    const struct ledger *ledger = work->efficiency->ledger;
    const struct matrix_calls *calls = &work->efficiency->calls;
    uint32_t step = 0;

    for (uint32_t i = 0; i < calls->piece_count; i++) {
        const struct work_piece *piece = &calls->pieces[i];
        int64_t start_ns = event_of_piece(calls, piece)->start_ns;

        while (step < ledger->step_count && ledger->steps[step].window.end_ns <= start_ns &&
               ledger->source != WINDOW_WHOLE)
            step++;
        if (step < ledger->step_count &&
            (ledger->source == WINDOW_WHOLE || ledger->steps[step].window.start_ns <= start_ns))
            work_totals_add_piece(work, piece);
    }
}

/* Children first. Parents stand before children in the tree's order, so from the end each child
 * is complete before it is added to its parent. */
static void work_totals_sum_modules(struct work_totals *totals, const struct module_tree *tree)
{
    for (uint32_t i = tree->count; i-- > 0;) {
        const struct module_work *from = &totals->modules[tree->order[i]];
        uint32_t parent = tree->modules[tree->order[i]].parent;

        if (parent == NO_MODULE)
            continue;
        totals->modules[parent].kernel_ns += from->kernel_ns;
        totals->modules[parent].unit_ns += from->unit_ns;
        totals->modules[parent].flops += from->flops;
        totals->modules[parent].ideal_ns += from->ideal_ns;
        totals->modules[parent].costed_ns += from->costed_ns;
    }
}

static int compare_operators(const void *a, const void *b)
{
    const struct operator_work *left = a;
    const struct operator_work *right = b;

    if (left->kernel_ns != right->kernel_ns)
        return left->kernel_ns > right->kernel_ns ? -1 : 1;
    return left->cost < right->cost ? -1 : left->cost > right->cost;
}

/* Operators of one cost (one name, one shape) share a row; costs were numbered when they were
 * counted, so an array finds it. */
void measure_work_totals(struct work_totals *totals, const struct efficiency *efficiency)
{
    struct totalling work = {.totals = totals, .efficiency = efficiency};
    size_t cost_count = efficiency->costs->counted.cost_count + (size_t)1;

    totals->operators = require_memory(calloc(cost_count, sizeof *totals->operators));
    totals->modules =
        require_memory(calloc(efficiency->costs->tree.count + (size_t)1, sizeof *totals->modules));
    work.row_of_cost = require_memory(malloc(cost_count * sizeof *work.row_of_cost));
    for (size_t i = 0; i < cost_count; i++)
        work.row_of_cost[i] = UINT32_MAX;
    work.is_counted =
        large_array_new((efficiency->calls.count + (size_t)1) * sizeof *work.is_counted);
    add_pieces(&work);
    work_totals_sum_modules(totals, &efficiency->costs->tree);
    if (totals->operator_count)
        qsort(totals->operators, totals->operator_count, sizeof *totals->operators,
              compare_operators);
    large_array_free(work.is_counted);
    free(work.row_of_cost);
}

void work_totals_clear(struct work_totals *totals)
{
    free(totals->operators);
    free(totals->modules);
    *totals = (struct work_totals){0};
}
