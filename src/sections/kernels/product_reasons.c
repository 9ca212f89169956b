/* Compares a product with what its device and its peers can do. */
#include "sections/kernels/product_reasons.h"

#include "base/core/percentile.h"
#include "cost/flops/op_call.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

#include <stdlib.h>
#include <string.h>

enum {
    PEERS_MAX = 64, /* so many are looked at, those that take the most time */
    PEERS_MIN = 2,
    HOPPER = 90,
    ROW_BYTES = 16, /* matrix units load rows in pieces of so many */
};

static const double worth_a_row = 0.001;

static double product_reasons_rate_of(const struct operator_work *row)
{
    return row->kernel_ns > 0 ? row->flops / (double)row->kernel_ns : 0;
}

static double flops_of_call(const struct operator_work *row)
{
    return row->calls > 0 ? row->flops / (double)row->calls : 0;
}

static const struct matrix_call *product_reasons_example_of(const struct efficiency *efficiency,
                                                            const struct operator_work *row)
{
    return &efficiency->calls.calls[row->example];
}

/* 0: not known, or less than a byte: two of four bits are asked for elsewhere. */
static int element_bytes(enum peak_type type)
{
    return type == PEAK_TYPE_COUNT ? 0 : (int)bytes_of_peak_type(type);
}

/* Elements that matrix units load at once; 0: not known. */
static int elements_of_row(enum peak_type type)
{
    int bytes = element_bytes(type);

    return bytes > 0 ? ROW_BYTES / bytes : 0;
}

/* The first size of a matrix in the products' inputs that does not fill pieces of 16 bytes; 0: all
 * do, or it is no plain product of matrices. */
static int64_t odd_size(const struct efficiency *efficiency, const struct matrix_call *call)
{
    const struct trace *trace = efficiency->trace;
    const struct event *op = &trace->host[call->op];
    uint32_t shapes = trace->details[op->detail].input_shapes;
    int bytes = element_bytes(call->precision);
    struct op_call parsed = {0};
    struct op_call_text text = {.name = trace_text(trace, op->name)};
    int64_t odd = 0;

    if (!shapes || bytes == 0 || operator_class(trace_text(trace, op->name)) != KERNEL_MATMUL)
        return 0;
    text.shapes = trace_text(trace, shapes);
    if (op_call_parse(&parsed, &text))
        for (uint32_t i = 0; i < parsed.argument_count && odd == 0; i++)
            for (int dim = -2; dim < 0 && rank_of(&parsed, i) >= 2; dim++) {
                int64_t size = size_of(&parsed, i, dim);

                if (odd == 0 && size > 1 && size * bytes % ROW_BYTES != 0)
                    odd = size;
            }
    op_call_clear(&parsed);
    return odd;
}

static const char *why_on_vector_units(struct results *results, const struct efficiency *efficiency,
                                       const struct matrix_call *call)
{
    int64_t odd = odd_size(efficiency, call);

    if (call->precision == PEAK_FP32 && !efficiency->peaks.has_precision &&
        efficiency->peaks.peaks[PEAK_TF32] > 0)
        return "fp32 without TF32";
    if (odd > 0)
        return results_format(results, "on vector units: size %lld is no multiple of %d",
                              (long long)odd, elements_of_row(call->precision));
    return "on vector units";
}

static const char *architecture_of(int generation)
{
    if (generation >= 89)
        return "Ada";
    if (generation >= 80)
        return "Ampere";
    return generation >= 75 ? "Turing" : "Volta";
}

/* Instructions of Ampere or older on Hopper or newer reach half of its rate at best. */
static const char *why_old_instructions(struct results *results,
                                        const struct efficiency *efficiency,
                                        const struct matrix_call *call)
{
    const struct device_peak *device = efficiency->peaks.device;
    int generation;

    if (!device || efficiency->peaks.is_name_by_user || call->longest == NO_EVENT ||
        device->compute_major * 10 < HOPPER)
        return NULL;
    generation = instruction_generation(
        trace_text(efficiency->trace, efficiency->trace->device[call->longest].name));
    if (generation == 0 || generation >= HOPPER)
        return NULL;
    return results_format(results, "%s kernel on %s", architecture_of(generation),
                          device->architecture);
}

/* ", size 50257 is no multiple of 8": a cause that may be; "" where there is none. */
static const char *size_remark(struct results *results, const struct efficiency *efficiency,
                               const struct matrix_call *call)
{
    int64_t odd = odd_size(efficiency, call);

    if (odd == 0)
        return "";
    return results_format(results, ", size %lld is no multiple of %d", (long long)odd,
                          elements_of_row(call->precision));
}

/* CUTLASS says in a kernel's name how many elements it loads at once: "..._align2". */
static const char *why_narrow_loads(struct results *results, const struct efficiency *efficiency,
                                    const struct matrix_call *call)
{
    const char *align = NULL;
    int bytes = element_bytes(call->precision);
    long elements;

    if (call->longest != NO_EVENT)
        align = strstr(trace_text(efficiency->trace, efficiency->trace->device[call->longest].name),
                       "_align");
    elements = align ? strtol(align + strlen("_align"), NULL, 10) : 0;
    if (elements <= 0 || bytes == 0 || elements * bytes >= ROW_BYTES)
        return NULL;
    return results_format(results, "loads %ld elements at once, not %d%s", elements,
                          ROW_BYTES / bytes, size_remark(results, efficiency, call));
}

static const char *why_below_peers(struct results *results, const struct efficiency *efficiency,
                                   const struct work_totals *work, uint32_t index)
{
    const struct operator_work *row = &work->operators[index];
    const struct matrix_call *call = product_reasons_example_of(efficiency, row);
    int64_t rates[PEERS_MAX];
    size_t count = 0;
    int64_t median;

    for (uint32_t i = 0; i < work->operator_count && count < PEERS_MAX; i++) {
        const struct operator_work *peer = &work->operators[i];
        double size = flops_of_call(peer) / flops_of_call(row);

        if (i != index && product_reasons_example_of(efficiency, peer)->is_matrix &&
            product_reasons_example_of(efficiency, peer)->precision == call->precision &&
            size >= 0.25 && size <= 4)
            rates[count++] = (int64_t)(product_reasons_rate_of(peer) * 1e3);
    }
    if (count < PEERS_MIN)
        return NULL;
    median = percentile_of(rates, count, 50);
    if (product_reasons_rate_of(row) * 1e3 >= 0.5 * (double)median)
        return NULL;
    return results_format(results, "%.0f %% of the rate of %zu others of its size%s",
                          100 * product_reasons_rate_of(row) * 1e3 / (double)median, count,
                          size_remark(results, efficiency, call));
}

const char *why_product_is_slow(struct results *results, const struct efficiency *efficiency,
                                const struct work_totals *work, uint32_t index)
{
    const struct operator_work *row = &work->operators[index];
    const struct matrix_call *call = product_reasons_example_of(efficiency, row);
    const char *reason;

    if (!call->is_matrix || row->flops <= 0 ||
        (double)row->kernel_ns < worth_a_row * (double)ledger_total_ns(efficiency->ledger))
        return NULL;
    if (row->vector_ns > row->unit_ns)
        return why_on_vector_units(results, efficiency, call);
    reason = why_narrow_loads(results, efficiency, call);
    if (!reason)
        reason = why_old_instructions(results, efficiency, call);
    return reason ? reason : why_below_peers(results, efficiency, work, index);
}
