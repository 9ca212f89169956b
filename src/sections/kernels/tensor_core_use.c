/* Do matrix products run on the Tensor Cores, and how well? */
#include "base/core/apportion.h"
#include "base/core/percentile.h"
#include "base/core/saturated.h"
#include "base/text/format.h"
#include "cost/efficiency/efficiency.h"
#include "cost/efficiency/matrix_calls.h"
#include "cost/efficiency/work_totals.h"
#include "cost/flops/op_call.h"
#include "output/results/metrics.h"
#include "output/results/results.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/shape_text.h"
#include "sections/step/ledger_table.h"
#include "sections/tally.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- why a matmul has no Tensor Cores -------------------------------------------------------- */

/* Compares a product with what its device and its peers can do. */

enum {
    PEERS_MAX = 64, /* so many are looked at, those that take the most time */
    PEERS_MIN = 2,
    HOPPER = 90,
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

    return bytes > 0 ? MATRIX_ROW_BYTES / bytes : 0;
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

                if (odd == 0 && size > 1 && size * bytes % MATRIX_ROW_BYTES != 0)
                    odd = size;
            }
    op_call_clear(&parsed);
    return odd;
}

/* fp32 goes first: where TF32 is off, no size would help. */
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

/* By the instruction generation in a kernel's name, which may be older than the device. */
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
    if (elements <= 0 || bytes == 0 || elements * bytes >= MATRIX_ROW_BYTES)
        return NULL;
    return results_format(results, "loads %ld elements at once, not %d%s", elements,
                          MATRIX_ROW_BYTES / bytes, size_remark(results, efficiency, call));
}

/* Of products of one format and between a quarter and four times the size; the median is not
 * moved by one that is slow itself. */
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

/* NULL where row `index` of work->operators is no product, or nothing is wrong with it. Reasons, in
 * this order: it runs on vector units (fp32 without TF32, sizes that do not fit, or only so); its
 * kernel uses instructions of an older device, or loads less than 16 bytes at once; it reaches
 * less than half of the median rate of products of its format that are between a quarter and four
 * times as large (at least two others). Only what takes 0.1 % of the steps is worth a row. */
static const char *why_product_is_slow(struct results *results, const struct efficiency *efficiency,
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

/* ---- tensor core use ------------------------------------------------------------------------- */

/* Vector units do at most this often the fp32 rate of the table in 16-bit and narrower formats. */
static const double narrow_vector_factor = 4;

/* What one section is made from. */
struct unit_use {
    struct results *results;
    struct section *section;
    const struct analysis_input *input;
    const struct efficiency *efficiency;
    const struct work_totals *work;
    int64_t busy_ns; /* kernels run: no copies */
    int64_t steps;
};

static void tensor_core_use_add_number(const struct unit_use *use, const char *key,
                                       const char *title, struct value value, const char *note)
{
    section_add_number(use->results, use->section, (struct number){key, title, value, note});
}

static double tensor_core_use_per_second(double amount, int64_t ns)
{
    return ns > 0 ? amount / ((double)ns / 1e9) : 0;
}

/* No vector unit of the device reaches this rate in the format; 0: not known. FP64 has vector
 * and matrix rates too near to tell them apart. */
static double vector_limit(const struct efficiency *efficiency, enum peak_type type)
{
    double fp32 = efficiency->peaks.peaks[PEAK_FP32];

    if (type == PEAK_TYPE_COUNT || type == PEAK_FP64 || type == PEAK_FP64_MATRIX)
        return 0;
    return type == PEAK_FP32 || type == PEAK_TF32 ? fp32 : narrow_vector_factor * fp32;
}

/* Time of products on matrix units whose rate no vector unit reaches. A rate above what any
 * vector unit reaches can only come from matrix units, whatever the kernel's name says. */
static int64_t proven_ns(const struct unit_use *use)
{
    int64_t sum_ns = 0;

    for (uint32_t i = 0; i < use->work->operator_count; i++) {
        const struct operator_work *row = &use->work->operators[i];
        const struct matrix_call *call = &use->efficiency->calls.calls[row->example];
        double limit = vector_limit(use->efficiency, call->precision);

        if (call->is_matrix && limit > 0 &&
            tensor_core_use_per_second(row->flops, row->kernel_ns) > limit)
            sum_ns = saturated_sum(sum_ns, row->unit_ns);
    }
    return sum_ns;
}

/* Ideal time by real time, each kernel by the peak of its own format: FLOPs of fp8 and fp32
 * summed and divided by one peak would mix rates that differ by more than ten. */
static void add_rate_inside(const struct unit_use *use)
{
    const struct step_efficiency *total = &use->efficiency->total;
    const char *needs = efficiency_needs(use->efficiency);

    if (total->unit_kernel_ns == 0) {
        tensor_core_use_add_number(
            use, "of_peak_inside", "fraction of peak in Tensor Core kernels",
            value_not_known(needs ? needs : "no FLOPs of kernels on matrix units are known"), NULL);
        return;
    }
    tensor_core_use_add_number(
        use, "of_peak_inside", "fraction of peak in Tensor Core kernels",
        value_fraction(total->unit_ideal_ns / (double)total->unit_kernel_ns),
        results_format(use->results, "%s: their FLOPs / time, of each format's peak",
                       format_flops_per_second(
                           tensor_core_use_per_second(total->unit_flops, total->unit_kernel_ns))
                           .text));
}

/* Two figures: what kernels' names tell, and what their rate proves. A name may be unknown,
 * but no vector unit reaches such a rate. */
static void tensor_core_use_add_numbers(const struct unit_use *use)
{
    const struct step_efficiency *total = &use->efficiency->total;
    int64_t unit_kernel_ns = 0;

    for (uint32_t i = 0; i < use->work->operator_count; i++)
        unit_kernel_ns = saturated_sum(unit_kernel_ns, use->work->operators[i].unit_ns);
    tensor_core_use_add_number(use, METRIC_NAMES(TENSOR_CORE_BUSY),
                               value_fraction(fraction_of(total->unit_ns, use->busy_ns)),
                               "one on matrix units runs, as its name tells");
    if (total->unknown_ns > 0)
        tensor_core_use_add_number(use, "not_told", "may be more",
                                   value_fraction(fraction_of(total->unknown_ns, use->busy_ns)),
                                   "matmul time in kernels whose names do not tell");
    add_rate_inside(use);
    if (use->efficiency->peaks.peaks[PEAK_FP32] > 0 && unit_kernel_ns > 0)
        tensor_core_use_add_number(use, "proven", "proven by its rate",
                                   value_fraction(fraction_of(proven_ns(use), unit_kernel_ns)),
                                   "of those matmuls' time: no vector unit is so fast");
}

static const char *shapes_of(const struct unit_use *use, const struct event *op)
{
    uint32_t shapes = use->efficiency->trace->details[op->detail].input_shapes;

    return shapes ? short_shapes(use->results, trace_text(use->efficiency->trace, shapes)) : "";
}

static const char *unit_text(const struct operator_work *row)
{
    if (row->unit_ns > row->vector_ns)
        return "yes";
    return row->vector_ns > 0 ? "no" : "not told";
}

#define OPERATORS_COLUMNS(COLUMN)                                                                \
    COLUMN("op", "operator", UNIT_TEXT, 0, BAR_NONE,                                             \
           value_text(results_text(use->results, trace_text(efficiency->trace, op->name))))      \
    COLUMN("shapes", "input shapes", UNIT_TEXT, 1, BAR_NONE, value_text(shapes_of(use, op)))     \
    COLUMN("format", "format", UNIT_TEXT, 2, BAR_NONE,                                           \
           value_text(call->precision < PEAK_TYPE_COUNT ? peak_type_name(call->precision) : "")) \
    COLUMN("calls", "calls", UNIT_COUNT, 3, BAR_NONE, value_count(row->calls))                   \
    COLUMN("time", "device time", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(row->kernel_ns))      \
    COLUMN("flops", "FLOPs of a call", UNIT_FLOPS, 4, BAR_NONE,                                  \
           value_flops(row->calls > 0 ? row->flops / (double)row->calls : 0))                    \
    COLUMN("rate", "achieved", UNIT_FLOPS_PER_SECOND, 0, BAR_NONE, value_flops_per_second(rate)) \
    COLUMN("of_peak", "of peak", UNIT_FRACTION, 0, BAR_NONE,                                     \
           call->matmul_cost->peak > 0 ? value_fraction(rate / call->matmul_cost->peak)          \
                                       : value_none())                                           \
    COLUMN("on_units", "on units", UNIT_TEXT, 1, BAR_NONE, value_text(unit_text(row)))

static void tensor_core_use_fill_operator(const struct unit_use *use, struct value *cells,
                                          const struct operator_work *row)
{
    const struct efficiency *efficiency = use->efficiency;
    const struct matrix_call *call = &efficiency->calls.calls[row->example];
    const struct event *op = &efficiency->trace->host[call->op];
    double rate = tensor_core_use_per_second(row->flops, row->kernel_ns);

    FILL_ROW(cells, OPERATORS_COLUMNS);
}

/* A table that is made with its first row, and keeps as many as --top leaves. */
struct top_table {
    const char *key;
    const char *title;
    const struct column *columns;
    size_t column_count;
    struct table *table; /* NULL: no row yet */
    size_t rows;         /* in all */
};

/* The cells of the next row; NULL where --top leaves it out. */
static struct value *next_row(const struct unit_use *use, struct top_table *top)
{
    if (!top->table)
        top->table = section_add_table(use->results, use->section, top->key, top->title,
                                       top->columns, top->column_count);
    top->table->rows_in_all = ++top->rows;
    return top->rows <= use->input->options->top ? table_add_row(use->results, top->table, 0)
                                                 : NULL;
}

/* Only matrix work: what is no product cannot run on these units, and its absence there is no
 * loss. */
static void tensor_core_use_add_operators(const struct unit_use *use)
{
    static const struct column columns[] = {OPERATORS_COLUMNS(COLUMN_DECLARED)};
    struct top_table top = {.key = "operators",
                            .title = "Products by operator and shape, most time first",
                            .columns = columns,
                            .column_count = sizeof columns / sizeof *columns};

    for (uint32_t i = 0; i < use->work->operator_count; i++) {
        const struct operator_work *row = &use->work->operators[i];
        struct value *cells;

        if (!use->efficiency->calls.calls[row->example].is_matrix)
            continue;
        cells = next_row(use, &top);
        if (cells)
            tensor_core_use_fill_operator(use, cells, row);
    }
}

#define SLOW_PRODUCTS_COLUMNS(COLUMN)                                                           \
    COLUMN("op", "operator", UNIT_TEXT, 0, BAR_NONE,                                            \
           value_text(results_text(use->results, trace_text(trace, op->name))))                 \
    COLUMN("shapes", "input shapes", UNIT_TEXT, 1, BAR_NONE, value_text(shapes_of(use, op)))    \
    COLUMN("time", "device time per step", UNIT_TIME_NS, 0, BAR_NONE,                           \
           value_time_ns(rounded_mean(row->kernel_ns, use->steps)))                             \
    COLUMN("of_peak", "of peak", UNIT_FRACTION, 2, BAR_NONE,                                    \
           call->matmul_cost->peak > 0                                                          \
               ? value_fraction(tensor_core_use_per_second(row->flops, row->kernel_ns) /        \
                                call->matmul_cost->peak)                                        \
               : value_none())                                                                  \
    COLUMN("reason", "why", UNIT_TEXT, 0, BAR_NONE, value_text(reason))                         \
    COLUMN("kernel", "longest kernel", UNIT_TEXT, 3, BAR_NONE,                                  \
           call->longest != NO_EVENT                                                            \
               ? value_text(results_text(use->results,                                          \
                                         trace_text(trace, trace->device[call->longest].name))) \
               : value_none())

static void fill_slow_product(const struct unit_use *use, struct value *cells,
                              const struct operator_work *row, const char *reason)
{
    const struct trace *trace = use->efficiency->trace;
    const struct matrix_call *call = &use->efficiency->calls.calls[row->example];
    const struct event *op = &trace->host[call->op];

    FILL_ROW(cells, SLOW_PRODUCTS_COLUMNS);
}

/* Products that miss the matrix units, or run far below others like them. */
static void add_slow_products(const struct unit_use *use)
{
    static const struct column columns[] = {SLOW_PRODUCTS_COLUMNS(COLUMN_DECLARED)};
    struct top_table top = {.key = "slow_products",
                            .title = "Products that miss the matrix units, or are slow on them",
                            .columns = columns,
                            .column_count = sizeof columns / sizeof *columns};

    for (uint32_t i = 0; i < use->work->operator_count; i++) {
        const char *reason = why_product_is_slow(use->results, use->efficiency, use->work, i);
        struct value *cells = reason ? next_row(use, &top) : NULL;

        if (cells)
            fill_slow_product(use, cells, &use->work->operators[i], reason);
    }
    if (top.table)
        top.table->note =
            "fp32: torch.set_float32_matmul_precision('high') or autocast. Sizes: pad to the "
            "multiple. Old instructions: newer libraries, larger or padded sizes.";
}

#define MODULES_COLUMNS(COLUMN)                                                            \
    COLUMN("module", "module", UNIT_TEXT, 0, BAR_NONE,                                     \
           value_text(results_text(use->results, module->own_name)))                       \
    COLUMN("time", "matmuls per step", UNIT_TIME_NS, 0, BAR_NONE,                          \
           value_time_ns(rounded_mean(row->kernel_ns, use->steps)))                        \
    COLUMN("on_units", "on matrix units", UNIT_FRACTION, 0, BAR_NONE,                      \
           value_fraction(fraction_of(row->unit_ns, row->kernel_ns)))                      \
    COLUMN("rate", "achieved", UNIT_FLOPS_PER_SECOND, 1, BAR_NONE,                         \
           value_flops_per_second(tensor_core_use_per_second(row->flops, row->kernel_ns))) \
    COLUMN("of_peak", "of peak", UNIT_FRACTION, 0, BAR,                                    \
           row->costed_ns > 0 ? value_fraction(row->ideal_ns / (double)row->costed_ns)     \
                              : value_none())                                              \
    COLUMN("name", "full name", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                \
           value_text(results_text(use->results, module->name)))

/* Three levels: below them, modules repeat (layers), and the table of operators says more. */
static void add_modules(const struct unit_use *use)
{
    enum { DEPTH_MAX = 3 };
    const struct module_tree *tree = &use->efficiency->costs->tree;
    struct table *table = NULL;

    for (uint32_t i = 0; i < tree->count; i++) {
        const struct module *module = &tree->modules[tree->order[i]];
        const struct module_work *row = &use->work->modules[tree->order[i]];
        struct value *cells;

        if (row->kernel_ns == 0 || module->depth >= DEPTH_MAX)
            continue;
        if (!table)
            table = section_add_table(use->results, use->section, "modules", "By module",
                                      COLUMNS_OF(MODULES_COLUMNS));
        cells = table_add_row(use->results, table, (int)module->depth);
        FILL_ROW(cells, MODULES_COLUMNS);
    }
}

/* Copies are left out of the time: a device that copies is not busy in the sense of this
 * section. */
static struct section *measure_unit_use(struct results *results, const struct analysis_input *input)
{
    struct unit_use use = {.results = results,
                           .input = input,
                           .efficiency = input->efficiency,
                           .work = input->work,
                           .steps = input->ledger->step_count};

    for (uint32_t i = 0; i < input->ledger->step_count; i++)
        /* The ledger's accounts, not durations summed: kernels of two streams at once are one
         * busy device. */
        use.busy_ns = saturated_sum(use.busy_ns,
                                    accounts_ns(&input->ledger->steps[i],
                                                1u << ACCOUNT_MATRIX | 1u << ACCOUNT_OTHER_COMPUTE |
                                                    1u << ACCOUNT_COMMUNICATION));
    if (input->ledger->is_cpu_only || use.busy_ns == 0)
        return NULL;
    use.section = section_new(
        results, "tensor_core_use", "Tensor Cores",
        "Three numbers that are often mixed up: how long kernels run that use matrix units (Tensor "
        "Cores), how much of the peak they reach while they run, and for how "
        "much of it the rate itself is the proof. None is a hardware counter.");
    tensor_core_use_add_numbers(&use);
    tensor_core_use_add_operators(&use);
    add_slow_products(&use);
    add_modules(&use);
    return use.section;
}

const struct analysis tensor_core_use_analysis = {
    .name = "tensor_core_use",
    .summary = "Do matmuls run on the Tensor Cores, and how well?",
    .run = measure_unit_use,
};
