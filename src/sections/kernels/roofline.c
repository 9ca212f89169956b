/* Which work is bound by arithmetic, which by memory, and how near is it to its roof? */
#include "base/core/apportion.h"
#include "cost/efficiency/matrix_calls.h"
#include "sections/analysis.h"
#include "sections/measured_clock.h"
#include "sections/shape_text.h"
#include "sections/tally.h"

#include <math.h>
#include <stddef.h>

struct roofs {
    struct results *results;
    struct section *section;
    const struct analysis_input *input;
    double bandwidth; /* bytes/s; 0: not known */
    int64_t steps;
    double clock_share; /* of the clock at which the peaks hold; 0: not known */
};

static const char needs_device[] = "needs the device: --device NAME";
static const char needs_peak[] = "needs the peak of the device: --peak TFLOPS";

static double roofline_per_second(double amount, int64_t ns)
{
    return ns > 0 ? amount / ((double)ns / 1e9) : 0;
}

/* The longer of both times binds; "" where one is not known. */
static const char *bound_by(double compute_ns, double memory_ns)
{
    return compute_ns > memory_ns ? "compute" : "memory";
}

/* Figures of more than 100 % are told with what may be behind them. */
static const char excess_note[] =
    "More than 100 % of a roof: bound by memory, the tensors fit in caches, or only a part of them "
    "is read (a window, a shared prefix). Bound by compute, the device, its number format, the "
    "FLOPs or the clock are not those taken.";

static void roofline_add_numbers(const struct roofs *roofs)
{
    section_add_number(roofs->results, roofs->section,
                       (struct number){"memory_bandwidth", "memory bandwidth",
                                       roofs->bandwidth > 0
                                           ? value_bytes_per_second(roofs->bandwidth)
                                           : value_not_known(needs_device),
                                       memory_roof_source(roofs->input->efficiency)});
    add_device_clock(roofs->results, roofs->section, roofs->input);
}

static struct value intensity(double flops, double bytes)
{
    return bytes > 0 ? value_number(flops / bytes) : value_none();
}

/* Of a class whose FLOPs and bytes are known of none of its kernels there is nothing to say. */
static struct value roofline_if_known(const struct class_work *class, struct value value)
{
    return class->known_ns > 0 ? value : value_none();
}

#define CLASSES_COLUMNS(COLUMN)                                                                    \
    COLUMN("class", "kind of work", UNIT_TEXT, 0, BAR_NONE,                                        \
           value_text(kernel_class_title((enum kernel_class)c)))                                   \
    COLUMN("time", "kernels per step", UNIT_TIME_NS, 0, BAR_NONE,                                  \
           value_time_ns(rounded_mean(class->kernel_ns, roofs->steps)))                            \
    COLUMN("known", "with known FLOPs and bytes", UNIT_FRACTION, 3, BAR_NONE,                      \
           value_fraction(fraction_of(class->known_ns, class->kernel_ns)))                         \
    COLUMN("rate", "achieved", UNIT_FLOPS_PER_SECOND, 1, BAR_NONE,                                 \
           roofline_if_known(                                                                      \
               class, value_flops_per_second(roofline_per_second(class->flops, class->known_ns)))) \
    COLUMN("bandwidth", "memory", UNIT_BYTES_PER_SECOND, 1, BAR_NONE,                              \
           roofline_if_known(                                                                      \
               class, value_bytes_per_second(roofline_per_second(class->bytes, class->known_ns)))) \
    COLUMN("intensity", "FLOPs per byte", UNIT_NUMBER, 0, BAR_NONE,                                \
           roofline_if_known(class, intensity(class->flops, class->bytes)))                        \
    COLUMN("bound", "bound by", UNIT_TEXT, 0, BAR_NONE,                                            \
           roofline_if_known(class,                                                                \
                             class->roof_ns <= 0                                                   \
                                 ? value_none()                                                    \
                                 : value_text(bound_by(class->compute_ns,                          \
                                                       class->bytes / roofs->bandwidth * 1e9))))   \
    COLUMN("of_roof", "of its roof", UNIT_FRACTION, 0, BAR,                                        \
           roofline_if_known(                                                                      \
               class, class->roof_ns <= 0                                                          \
                          ? value_not_known(roofs->bandwidth > 0 ? needs_peak : needs_device)      \
                          : value_fraction(class->roof_ns / (double)class->known_ns)))

/* Work above its roof cannot be: the note says so where it happens, which is where a peak or a
 * count is wrong. */
static void roofline_add_classes(const struct roofs *roofs)
{
    struct table *table = section_add_table(roofs->results, roofs->section, "classes",
                                            "By kind of work", COLUMNS_OF(CLASSES_COLUMNS));

    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        const struct class_work *class = &roofs->input->work->classes[c];
        struct value *cells;

        if (class->kernel_ns == 0)
            continue;
        cells = table_add_row(roofs->results, table, 0);
        FILL_ROW(cells, CLASSES_COLUMNS);
        if (class->roof_ns > (double)class->known_ns)
            table->note = excess_note;
    }
}

static struct value if_sized(const struct operator_work *row, struct value value)
{
    return row->bytes >= 0 ? value : value_none();
}

#define OPERATORS_COLUMNS(COLUMN)                                                                  \
    COLUMN("op", "operator", UNIT_TEXT, 0, BAR_NONE,                                               \
           value_text(results_text(roofs->results, trace_text(efficiency->trace, op->name))))      \
    COLUMN("shapes", "input shapes", UNIT_TEXT, 2, BAR_NONE,                                       \
           shapes                                                                                  \
               ? value_text(short_shapes(roofs->results, trace_text(efficiency->trace, shapes)))   \
               : value_none())                                                                     \
    COLUMN("time", "device time per step", UNIT_TIME_NS, 0, BAR_NONE,                              \
           value_time_ns(rounded_mean(row->kernel_ns, roofs->steps)))                              \
    COLUMN("flops", "FLOPs", UNIT_FLOPS, 3, BAR_NONE,                                              \
           value_flops(row->flops / (double)roofs->steps))                                         \
    COLUMN("bytes", "bytes", UNIT_BYTES, 3, BAR_NONE,                                              \
           if_sized(row, value_bytes(llround(fmin(row->bytes / (double)roofs->steps, 9e18)))))     \
    COLUMN("intensity", "FLOPs per byte", UNIT_NUMBER, 1, BAR_NONE,                                \
           if_sized(row, intensity(row->flops, row->bytes)))                                       \
    COLUMN(                                                                                        \
        "bound", "bound by", UNIT_TEXT, 0, BAR_NONE,                                               \
        if_sized(row, memory_ns < 0 ? value_none() : value_text(bound_by(compute_ns, memory_ns)))) \
    COLUMN(                                                                                        \
        "of_roof", "of its roof", UNIT_FRACTION, 0, BAR_NONE,                                      \
        if_sized(row, memory_ns < 0 || row->kernel_ns <= 0                                         \
                          ? value_none()                                                           \
                          : value_fraction(fmax(compute_ns, memory_ns) / (double)row->kernel_ns))) \
    COLUMN("of_roof_at_clock", "at the clock that ran", UNIT_FRACTION, 5, BAR_NONE,                \
           if_sized(row, memory_ns < 0 || row->kernel_ns <= 0 || roofs->clock_share <= 0           \
                             ? value_none()                                                        \
                             : value_fraction(fmax(compute_ns / roofs->clock_share, memory_ns) /   \
                                              (double)row->kernel_ns)))                            \
    COLUMN("bandwidth", "memory", UNIT_BYTES_PER_SECOND, 4, BAR_NONE,                              \
           if_sized(row, value_bytes_per_second(roofline_per_second(row->bytes, row->kernel_ns))))

/* True where the operator was faster than its roof. roof = max(FLOPs / peak, bytes / bandwidth)
 * (Williams, Waterman and Patterson 2009). The peak holds at one clock: at the clock that ran
 * only the arithmetic's side scales, as memory has a clock of its own. */
static bool roofline_fill_operator(const struct roofs *roofs, struct value *cells,
                                   const struct operator_work *row)
{
    const struct efficiency *efficiency = roofs->input->efficiency;
    const struct matrix_call *call = &efficiency->calls.calls[row->example];
    const struct event *op = &efficiency->trace->host[call->op];
    uint32_t shapes = efficiency->trace->details[op->detail].input_shapes;
    double peak = compute_roof(efficiency, call);
    double compute_ns = peak > 0 ? row->flops / peak * 1e9 : 0;
    double memory_ns = /* -1: a roof is not known */
        roofs->bandwidth <= 0 || peak <= 0 ? -1 : row->bytes / roofs->bandwidth * 1e9;

    FILL_ROW(cells, OPERATORS_COLUMNS);
    return row->bytes >= 0 && memory_ns >= 0 &&
           fmax(compute_ns, memory_ns) > (double)row->kernel_ns;
}

/* One row above its roof is enough for the note: what is above 100 % is shown as it is, with
 * the reasons that it can have, instead of being cut to a figure that looks right. */
static void roofline_add_operators(const struct roofs *roofs)
{
    const struct work_totals *work = roofs->input->work;
    size_t shown = rows_to_show(roofs->input->options, work->operator_count);
    struct table *table =
        section_add_table(roofs->results, roofs->section, "operators",
                          "By operator and shape, most time first", COLUMNS_OF(OPERATORS_COLUMNS));

    table->rows_in_all = work->operator_count;
    for (size_t i = 0; i < shown; i++)
        if (roofline_fill_operator(roofs, table_add_row(roofs->results, table, 0),
                                   &work->operators[i]))
            table->note = excess_note;
}

/* A roof is of a device's peaks, of which a trace of a CPU alone has none. */
static struct section *measure_roofs(struct results *results, const struct analysis_input *input)
{
    struct roofs roofs = {.results = results,
                          .input = input,
                          .bandwidth = memory_roof(input->efficiency),
                          .steps = input->ledger->step_count};

    if (input->ledger->is_cpu_only || input->work->operator_count == 0)
        return NULL;
    roofs.clock_share = measured_clock_share(input);
    roofs.section = section_new(
        results, "roofline", "Roofline",
        "No work is faster than its FLOPs at the peak and its bytes at full memory bandwidth; the "
        "slower of both is its roof. Bytes: what an operator must read and write at least, each "
        "once.");
    roofline_add_numbers(&roofs);
    roofline_add_classes(&roofs);
    roofline_add_operators(&roofs);
    return roofs.section;
}

const struct analysis roofline_analysis = {
    .name = "roofline",
    .summary = "Which work is bound by arithmetic, which by memory?",
    .run = measure_roofs,
};
