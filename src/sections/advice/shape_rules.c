/* Advice on products whose sizes do not fit the matrix units, priced by their peers in the trace.
 */
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/text/format.h"
#include "cost/efficiency/matrix_calls.h"
#include "cost/flops/op_call.h"
#include "ledger/step_finder.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/product_roof.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Products of another bound are no peers. */
enum product_bound { BOUND_BY_MEMORY, BOUND_BY_EITHER, BOUND_BY_COMPUTE };

/* A matrix product of which FLOPs, number format and shapes are known. */
struct product {
    const struct matrix_call *call;
    uint32_t step;
    double work;    /* nanoseconds at its roof; where that is not known, FLOPs */
    double roof_ns; /* the same; 0: not known */
    enum product_bound bound;
    bool is_aligned;
    int64_t odd_size; /* the size that is not aligned */
};

struct products {
    struct product *products; /* [count], by number format, what bounds them, then FLOPs */
    size_t count;
    double *work_before; /* [count + 1]: sums over the aligned ones in front of each */
    double *ns_before;
};

/* The first size along the last two dimensions of a tensor that is no multiple of 16 bytes; 0: all
 * are. 16 bytes are what tensor cores' loads need (NVIDIA's "Matrix Multiplication Background"):
 * 8 numbers of 16 bits. Small sizes are left out: padding them would cost more. */
static int64_t odd_size_of(const struct op_call *call)
{
    for (uint32_t i = 0; i < call->argument_count; i++) {
        int bytes = call->arguments[i].element_bytes;

        if (rank_of(call, i) < 2 || bytes <= 0)
            continue;
        for (int dim = -2; dim < 0; dim++) {
            int64_t size = size_of(call, i, dim);

            if (size >= ADVICE_ALIGNED_SIZE_MIN && size * bytes % ADVICE_ALIGNED_BYTES != 0)
                return size;
        }
    }
    return 0;
}

static bool is_on_units(enum peak_type precision)
{
    return precision == PEAK_FP16 || precision == PEAK_BF16 || precision == PEAK_TF32;
}

/* By its own roof. Where the device is not known, by FLOPs for each byte: what all devices are
 * bound by, or some by this and some by that. */
static void find_bound(const struct advice_case *advice, struct product *product)
{
    const struct matrix_call *call = product->call;
    double compute_ns = compute_roof_ns(advice, call);
    double memory_ns = memory_roof_ns(advice, call, 1);
    double bytes = bytes_of_product(advice, call);

    if (compute_ns > 0 && memory_ns > 0) {
        product->bound = compute_ns >= memory_ns ? BOUND_BY_COMPUTE : BOUND_BY_MEMORY;
        product->work = product->roof_ns = fmax(compute_ns, memory_ns);
        return;
    }
    product->work = call->matmul_cost->flops.executed;
    product->bound = BOUND_BY_EITHER;
    if (bytes > 0 && product->work < ADVICE_MEMORY_BOUND_FLOPS * bytes)
        product->bound = BOUND_BY_MEMORY;
    if (bytes > 0 && product->work > ADVICE_COMPUTE_BOUND_FLOPS * bytes)
        product->bound = BOUND_BY_COMPUTE;
}

/* Fills in a product; false where it is none to compare. */
static bool describe_product(const struct advice_case *advice, const struct matrix_call *call,
                             struct step_finder *finder, struct op_call *parsed,
                             struct product *product)
{
    const struct trace *trace = advice->trace;
    const struct event *op = &trace->host[call->op];
    const struct event_detail *detail = &trace->details[op->detail];
    struct op_call_text text = {.name = trace_text(trace, op->name),
                                .shapes = trace_text(trace, detail->input_shapes),
                                .types = trace_text(trace, detail->input_types)};

    /* Only matmuls with shapes and counted FLOPs, in a format that has units of its own, have
     * peers to be compared with. */
    if (!call->is_matrix || call->longest == NO_EVENT || call->matmul_cost->flops.executed <= 0 ||
        call->kernel_ns <= 0 || !is_on_units(call->precision) || !detail->input_shapes ||
        advice->ledger->classes[call->longest] != KERNEL_MATMUL || !op_call_parse(parsed, &text))
        return false;
    *product = (struct product){
        .call = call,
        .step = step_finder_at(finder, trace->device[call->longest].start_ns),
        .odd_size = odd_size_of(parsed),
    };
    product->is_aligned = product->odd_size == 0;
    find_bound(advice, product);
    return true;
}

/* Sorted so that the peers of a product, of one format, one bound and similar FLOPs, are a
 * range: two binary searches and two prefix sums give their work and time. */
static int compare_products(const void *left, const void *right)
{
    const struct product *a = left, *b = right;

    if (a->call->precision != b->call->precision)
        return a->call->precision < b->call->precision ? -1 : 1;
    if (a->bound != b->bound)
        return a->bound < b->bound ? -1 : 1;
    if (a->call->matmul_cost->flops.executed != b->call->matmul_cost->flops.executed)
        return a->call->matmul_cost->flops.executed < b->call->matmul_cost->flops.executed ? -1 : 1;
    return (a->call->op > b->call->op) - (a->call->op < b->call->op);
}

/* Prefix sums over aligned products only: work_before[to] - work_before[from] is the sum over
 * a range in O(1). */
static void collect_products(struct products *all, const struct advice_case *advice)
{
    const struct matrix_calls *calls = &advice->efficiency->calls;
    struct step_finder finder = {.ledger = advice->ledger};
    struct op_call parsed = {0};
    size_t room = 1;

    for (uint32_t i = 0; i < calls->count; i++)
        room += calls->calls[i].is_matrix;
    all->products = require_memory(calloc(room, sizeof *all->products));
    all->work_before = require_memory(calloc(room, sizeof *all->work_before));
    all->ns_before = require_memory(calloc(room, sizeof *all->ns_before));
    for (uint32_t i = 0; i < calls->count; i++)
        all->count += describe_product(advice, &calls->calls[i], &finder, &parsed,
                                       &all->products[all->count]);
    op_call_clear(&parsed);
    qsort(all->products, all->count, sizeof *all->products, compare_products);
    for (size_t i = 0; i < all->count; i++) {
        const struct product *product = &all->products[i];

        all->work_before[i + 1] = all->work_before[i] + (product->is_aligned ? product->work : 0);
        all->ns_before[i + 1] =
            all->ns_before[i] + (product->is_aligned ? (double)product->call->kernel_ns : 0);
    }
}

static void products_clear(struct products *all)
{
    free(all->products);
    free(all->work_before);
    free(all->ns_before);
}

static bool is_before(const struct product *product, const struct product *like, double flops)
{
    if (product->call->precision != like->call->precision)
        return product->call->precision < like->call->precision;
    if (product->bound != like->bound)
        return product->bound < like->bound;
    return product->call->matmul_cost->flops.executed < flops;
}

/* How many products sort before those like `like` with at least `flops`. */
static size_t products_before(const struct products *all, const struct product *like, double flops)
{
    return LOWER_BOUND(i, 0, all->count, is_before(&all->products[i], like, flops));
}

/* What the product would take as near to its roof as its aligned peers are to theirs, never less
 * than its roof; its own time where it has none. Where it is larger than all of them, as the head
 * of a vocabulary is, smaller ones stand in: what is bound by compute comes no less near to its
 * roof when it is larger. */
static double peer_time_ns(const struct products *all, const struct product *product)
{
    const struct matrix_call *call = product->call;
    double flops = call->matmul_cost->flops.executed;
    size_t from = products_before(all, product, flops / ADVICE_PEER_FACTOR);
    size_t to = products_before(all, product, flops * ADVICE_PEER_FACTOR);
    double peer_work = all->work_before[to] - all->work_before[from];
    double peer_ns = all->ns_before[to] - all->ns_before[from];

    if (peer_work <= 0 && product->bound == BOUND_BY_COMPUTE) {
        from = products_before(all, product, 0);
        peer_work = all->work_before[to] - all->work_before[from];
        peer_ns = all->ns_before[to] - all->ns_before[from];
    }
    if (peer_work <= 0)
        return (double)call->kernel_ns;
    return fmax(product->work * peer_ns / peer_work, product->roof_ns);
}

/* Compared with aligned products of the same run and size, not with a peak: what is left
 * between the two is the price of the odd size. */
static const char *product_evidence(const struct advice_case *advice, const struct product *product,
                                    int64_t count, double peer_ns)
{
    const struct trace *trace = advice->trace;
    const struct event *op = &trace->host[product->call->op];
    uint32_t module = module_of_host(&advice->costs->contexts, product->call->op);
    const char *shapes = trace_text(trace, trace->details[op->detail].input_shapes);

    return results_format(
        advice->results,
        "%s matmuls%s; most expensive: %s %s%s%s, %s where aligned ones of its size "
        "take %s: %s is no multiple of 16 bytes",
        per_step_count(advice, count), a_step(advice), trace_text(trace, op->name),
        brief_shapes(shapes, advice->results), module == NO_MODULE ? "" : " in ",
        module == NO_MODULE ? "" : advice->costs->tree.modules[module].name,
        format_time(product->call->kernel_ns).text, format_time((int64_t)peer_ns).text,
        format_count(product->odd_size).text);
}

/* That has a finding of its own: fused, its sizes are no matter. */
static bool is_of_attention(const struct advice_case *advice, const struct product *product)
{
    return score_use_of_product(&advice->scores, advice->trace, product->call->op) !=
           SCORES_NOT_USED;
}

/* O(n log n) for the sort, O(log n) for each product. */
bool check_misaligned_shapes(struct advice_case *advice, struct advice_claim *claim)
{
    const struct product *most_expensive = NULL;
    double most_expensive_loss_ns = 0;
    struct products all = {0};
    int64_t count = 0;

    if (advice->ledger->is_cpu_only)
        return false;
    collect_products(&all, advice);
    for (size_t i = 0; i < all.count; i++) {
        const struct product *product = &all.products[i];
        double loss_ns = (double)product->call->kernel_ns - peer_time_ns(&all, product);

        /* One that is as fast as its aligned peers loses nothing by its size. */
        if (product->is_aligned || product->step == NO_STEP || loss_ns < 1 ||
            is_of_attention(advice, product))
            continue;
        claim->step_ns[product->step] += (int64_t)loss_ns;
        count++;
        if (loss_ns > most_expensive_loss_ns) {
            most_expensive_loss_ns = loss_ns;
            most_expensive = product;
        }
    }
    if (most_expensive)
        claim->evidence =
            product_evidence(advice, most_expensive, count, peer_time_ns(&all, most_expensive));
    products_clear(&all);
    claim->try_this = "pad sizes to multiples of 8 (vocabulary, hidden size, sequence), or of 64 "
                      "where memory allows";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason =
        "estimated by aligned matmuls of similar FLOPs and the same bound, not below its roof";
    return most_expensive != NULL;
}
