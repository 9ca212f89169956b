/* Work of devices that a profiler summed up, in sections of a report. */
#include "sections/kernels/call_sums_sections.h"

#include "base/text/format.h"
#include "sections/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t sums_whole(double number)
{
    return number < 9e18 ? llround(number) : INT64_MAX;
}

/* Written with "not greater" so that a NaN of the file gives no rate, either. */
static struct value sums_rate(double amount, double ns, bool is_flops)
{
    double rate = ns > 0 ? amount / (ns / 1e9) : 0;

    if (!(amount > 0) || !(ns > 0))
        return value_none();
    return is_flops ? value_flops_per_second(rate) : value_bytes_per_second(rate);
}

/* ---- roofs ----------------------------------------------------------------------------------- */

/* The least time that the FLOPs take at the peaks, in ns; 0 where a peak is not known. What of 32
 * bits means TF32 or FP32, and FLOPs of no width, are not known. Widths add up one after the
 * other: a kernel of two formats takes at least the time of both. */
static double compute_ns(const struct call_sum *sum, const struct device_peak *device)
{
    static const enum peak_type types[SUM_WIDTHS] = {PEAK_FP8, PEAK_BF16, PEAK_TYPE_COUNT,
                                                     PEAK_FP64_MATRIX, PEAK_TYPE_COUNT};
    double ns = 0;

    for (int width = 0; width < SUM_WIDTHS; width++) {
        if (!(sum->flops[width] > 0))
            continue;
        if (!device || types[width] == PEAK_TYPE_COUNT ||
            device_peak_state(device, types[width]) != PEAK_KNOWN)
            return 0;
        ns += sum->flops[width] / device->peaks[types[width]] * 1e9;
    }
    return ns;
}

static const struct device_peak *peak_of(const struct call_sum *sum, const struct sums_peaks *peaks)
{
    return sum->device == SIZE_MAX ? NULL : peaks->devices[sum->device];
}

static double memory_ns(const struct call_sum *sum, const struct call_sums *sums)
{
    double rate = sum->device == SIZE_MAX ? 0 : sums->devices[sum->device].memory_bytes_per_second;

    return rate > 0 ? sum->bytes / rate * 1e9 : 0;
}

static struct value sums_share_of_roof(double roof_ns, double ns)
{
    return roof_ns > 0 && ns > 0 ? value_fraction(roof_ns / ns) : value_none();
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A profile of sums cannot tell idle time, and the first sentence must say so. */
const char *call_sums_headline(struct results *results, const struct call_sums *sums)
{
    const struct call_sum *all = &sums->sums[0];
    const struct summed_kernel *longest = &sums->kernels[0];

    return results_format(results,
                          "%s of kernels, %s of it %s (%s). The file sums up times: when the "
                          "devices were idle, and how long a step took, is not in it",
                          format_short_time(sums_whole(all->time_ns)).text,
                          longest->time_ns > all->time_ns / 2 ? "most" : "the largest part",
                          longest->name, format_fraction(longest->time_ns / all->time_ns).text);
}

/* A device without time is listed by the profiler and did nothing. */
static void add_device_numbers(struct results *results, struct section *section,
                               const struct call_sums *sums, const struct sums_peaks *peaks)
{
    for (size_t i = 0; i < sums->device_count; i++) {
        const struct call_sums_device *device = &sums->devices[i];
        const char *name = results_format(results, "%s %s", device->kind, device->id);
        const struct device_peak *peak = peaks->devices[i];

        if (!(device->time_ns > 0))
            continue;
        section_add_number(
            results, section,
            (struct number){
                results_format(results, "device_%zu_time", i), name,
                value_time_ns(sums_whole(device->time_ns)),
                results_format(results, "of kernels; %s%s",
                               peak ? peak->name : "device not known: --device NAME",
                               device->memory_bytes_per_second > 0 ? "" : ", bandwidth not told")});
    }
}

/* ---- kernels by name ------------------------------------------------------------------------- */

#define SUMMED_KERNEL_COLUMNS(COLUMN)                                                            \
    COLUMN("kernel", "kernel", UNIT_TEXT, 0, BAR_NONE, value_text(row->name))                    \
    COLUMN("total", "time", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(sums_whole(row->time_ns)))  \
    COLUMN("share", "share", UNIT_FRACTION, 0, BAR, value_fraction(row->time_ns / all_ns))       \
    COLUMN("count", "launches", UNIT_COUNT, 1, BAR_NONE, value_count(sums_whole(row->launches))) \
    COLUMN("mean", "mean", UNIT_TIME_NS, 1, BAR_NONE,                                            \
           row->launches > 0 ? value_time_ns(sums_whole(row->time_ns / row->launches))           \
                             : value_none())                                                     \
    COLUMN("places", "scopes", UNIT_COUNT, 2, BAR_NONE, value_count((int64_t)row->places))

/* The first sum is that of everything, so that shares are of the whole also where the table is
 * cut. */
struct section *describe_summed_kernels(struct results *results, const struct call_sums *sums,
                                        const struct sums_peaks *peaks)
{
    struct section *section =
        section_new(results, "kernels", "Kernels", "Times of kernels, summed up by the profiler.");
    struct table *table = section_add_table(results, section, "by_name", "By name",
                                            COLUMNS_OF(SUMMED_KERNEL_COLUMNS));
    double all_ns = sums->sums[0].time_ns;

    add_device_numbers(results, section, sums, peaks);
    for (size_t i = 0; i < sums->kernel_count && i < peaks->top; i++) {
        const struct summed_kernel *row = &sums->kernels[i];

        FILL_ROW(table_add_row(results, table, 0), SUMMED_KERNEL_COLUMNS);
    }
    table->rows_in_all = sums->kernel_count;
    return section;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

#define SUMMED_SCOPE_COLUMNS(COLUMN)                                                           \
    COLUMN("scope", "scope", UNIT_TEXT, 0, BAR_NONE, value_text(sum->name))                    \
    COLUMN("time", "time", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(sums_whole(sum->time_ns))) \
    COLUMN("rate", "achieved", UNIT_FLOPS_PER_SECOND, 0, BAR_NONE,                             \
           sums_rate(call_sum_flops(sum), sum->time_ns, true))                                 \
    COLUMN("bandwidth", "memory", UNIT_BYTES_PER_SECOND, 0, BAR_NONE,                          \
           sums_rate(sum->bytes, sum->time_ns, false))                                         \
    COLUMN("intensity", "FLOPs per byte", UNIT_NUMBER, 1, BAR_NONE,                            \
           sum->bytes > 0 && call_sum_flops(sum) > 0                                           \
               ? value_number(call_sum_flops(sum) / sum->bytes)                                \
               : value_none())                                                                 \
    COLUMN("peak_share", "of peak", UNIT_FRACTION, 0, BAR_NONE,                                \
           sums_share_of_roof(compute_ns(sum, peak_of(sum, peaks)), sum->time_ns))             \
    COLUMN("bandwidth_share", "of bandwidth", UNIT_FRACTION, 0, BAR_NONE,                      \
           sums_share_of_roof(memory_ns(sum, sums), sum->time_ns))

/* A scope holds the kernels of the scopes in it, so that rows of different depth are not to be
 * added. Those with work inside them are kept; the FLOPs of one without stand with no time to
 * divide them by. */
struct section *describe_summed_scopes(struct results *results, const struct call_sums *sums,
                                       const struct sums_peaks *peaks)
{
    struct section *section = section_new(
        results, "roofline", "Roofline",
        "What the program says of its FLOPs and bytes, by the time of all kernels inside a scope: "
        "kernels without FLOPs make the rate of a scope lower than that of the others in it.");
    struct table *table =
        section_add_table(results, section, "by_scope", "By scope, as they are nested",
                          COLUMNS_OF(SUMMED_SCOPE_COLUMNS));

    for (size_t i = 1; i < sums->count && i - 1 < peaks->top; i++) {
        const struct call_sum *sum = &sums->sums[i];

        FILL_ROW(table_add_row(results, table, sum->depth - 1), SUMMED_SCOPE_COLUMNS);
    }
    table->rows_in_all = sums->timed_count;
    if (read_is_partial(&sums->read))
        section_add_warning(results, section,
                            "the file is cut or damaged: times are of what stands before", NULL,
                            NULL);
    if (sums->not_read > 0)
        section_add_warning(results, section,
                            results_format(results, "%lld values are no numbers that can be",
                                           (long long)sums->not_read),
                            NULL, NULL);
    return section;
}
