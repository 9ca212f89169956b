/* What did the device's own counters say: multiprocessors, Tensor Cores, memory? */
#include "base/text/prefix.h"
#include "ledger/step_finder.h"
#include "sections/analysis.h"
#include "sections/measured_clock.h"
#include "sections/tally.h"

#include <stdlib.h>
#include <string.h>

/* Those that training asks for, first; a metric is any that begins so. */
static const char *const first_metrics[] = {
    "SM Active", "SMs Active", "SM Issue",       "Tensor Active", "Compute Warps", "DRAM Active",
    "DRAM Read", "DRAM Write", "DRAM Bandwidth", "GPC Clock",     "NVLink",        "PCIe",
};
enum { FIRST_METRIC_COUNT = sizeof first_metrics / sizeof *first_metrics };

struct metric_row {
    const struct series *series;
    size_t place; /* in first_metrics */
};

static struct value gpu_metrics_mean_of(const struct sample_sum *sum, const char *needs)
{
    return sum->count > 0 ? value_number(sum->sum / (double)sum->count) : value_not_known(needs);
}

/* From the first to the last sample of the whole recording. n samples have n - 1 distances. */
static struct value gpu_metrics_rate_of(const struct series *series)
{
    double seconds;

    if (series->count < 2)
        return value_not_known("needs two samples");
    seconds =
        ((double)series->samples[series->count - 1].time_ns - (double)series->samples[0].time_ns) /
        1e9;
    return seconds > 0 ? value_number((double)(series->count - 1) / seconds)
                       : value_not_known("needs samples of different times");
}

#define BY_METRIC_COLUMNS(COLUMN)                                                                 \
    COLUMN("metric", "metric", UNIT_TEXT, 0, BAR_NONE,                                            \
           value_text(results_text(results, trace_text(input->trace, series->name))))             \
    COLUMN("metric_unit", "unit", UNIT_TEXT, 1, BAR_NONE,                                         \
           series->unit                                                                           \
               ? value_text(results_text(results, trace_text(input->trace, series->unit)))        \
               : value_none())                                                                    \
    COLUMN("mean", "mean", UNIT_NUMBER, 0, BAR_NONE, gpu_metrics_mean_of(&inside, needs_samples)) \
    COLUMN("mean_busy", "while busy", UNIT_NUMBER, 0, BAR_NONE,                                   \
           gpu_metrics_mean_of(&busy, "needs samples while the device works"))                    \
    COLUMN("min", "min", UNIT_NUMBER, 2, BAR_NONE,                                                \
           inside.count > 0 ? value_number(inside.min) : value_not_known(needs_samples))          \
    COLUMN("max", "max", UNIT_NUMBER, 1, BAR_NONE,                                                \
           inside.count > 0 ? value_number(inside.max) : value_not_known(needs_samples))          \
    COLUMN("samples", "samples", UNIT_COUNT, 2, BAR_NONE, value_count(inside.count))              \
    COLUMN("rate", "samples a second", UNIT_NUMBER, 3, BAR_NONE, gpu_metrics_rate_of(series))     \
    COLUMN("set_aside", "set aside", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                 \
           value_count(series->set_aside))

static void gpu_metrics_fill_row(struct results *results, struct value *cells,
                                 const struct analysis_input *input, const struct series *series)
{
    static const char needs_samples[] = "needs samples inside the steps";
    struct sample_sum inside = {0}, busy = {0};

    sum_samples_in_steps(input->ledger, series, &inside, &busy);
    FILL_ROW(cells, BY_METRIC_COLUMNS);
}

/* Known names first, the others as the file has them. */
static int gpu_metrics_compare_rows(const void *a, const void *b)
{
    const struct metric_row *left = a;
    const struct metric_row *right = b;

    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return (left->series > right->series) - (left->series < right->series);
}

/* The counters of that kind of the ledger's device, at most as many as `rows` has room for. */
static size_t gpu_metrics_collect(struct metric_row *rows, const struct analysis_input *input,
                                  enum series_kind kind)
{
    const struct series_list *list = &input->trace->series;
    size_t count = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = trace_text(input->trace, list->series[i].name);
        size_t place = 0;

        if (list->series[i].kind != kind || list->series[i].device != input->ledger->device ||
            (list->series[i].count == 0 && list->series[i].set_aside == 0))
            continue;
        while (place < FIRST_METRIC_COUNT && !has_prefix(name, first_metrics[place]))
            place++;
        rows[count++] = (struct metric_row){.series = &list->series[i], .place = place};
    }
    qsort(rows, count, sizeof *rows, gpu_metrics_compare_rows);
    return count;
}

static void gpu_metrics_add_table(struct results *results, struct section *section,
                                  const struct analysis_input *input, const struct metric_row *rows,
                                  size_t count)
{
    struct table *table = section_add_table(results, section, "by_metric", "By metric",
                                            COLUMNS_OF(BY_METRIC_COLUMNS));
    size_t shown = rows_to_show(input->options, count);

    for (size_t i = 0; i < shown; i++)
        gpu_metrics_fill_row(results, table_add_row(results, table, 0), input, rows[i].series);
    table->rows_in_all = count;
}

/* Counts are called by the block that counts, in capitals (SQ_WAVES), and stay counts as sums over
 * its parts (TCC_HIT_sum, TCC_HIT[3]). What is derived from them (MfmaUtil, TCC_BUSY_avr) may be a
 * ratio, a mean or a percentage, and only some are known to be sums: of two kernels at 50 % each,
 * 100 % is wrong, so no sum is told where it is not known to be one. */
static bool counter_adds_up(const char *name)
{
    static const char *const derived_sums[] = {"FetchSize", "WriteSize", "Wavefronts"};
    static const char *const ratios[] = {"UTIL", "PERCENT", "RATE", "RATIO", "NUM"};
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t length = strspn(name, capitals);
    const char *last = name; /* of its words; a count has more than one */

    for (size_t i = 0; i < sizeof derived_sums / sizeof *derived_sums; i++)
        if (strcmp(name, derived_sums[i]) == 0)
            return true;
    for (size_t i = 1; i < length; i++)
        if (name[i - 1] == '_' && name[i] != '_')
            last = name + i;
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
        if (has_prefix(last, ratios[i]))
            return false;
    if (strcmp(name + length, "sum") != 0 && name[length] != '\0' && name[length] != '[')
        return false;
    return last > name && !has_prefix(name, "MAX_");
}

/* `needs`: what the sum lacks where no kernel was counted. */
static struct value sum_per_step(const struct analysis_input *input, const struct series *series,
                                 const struct sample_sum *inside, const char *needs)
{
    if (inside->count == 0)
        return value_not_known(needs);
    if (!counter_adds_up(trace_text(input->trace, series->name)))
        return value_not_known("needs a count: a ratio or a mean of kernels has no sum");
    return value_number(inside->sum / (double)input->ledger->step_count);
}

#define BY_COUNTER_COLUMNS(COLUMN)                                                       \
    COLUMN("counter", "counter", UNIT_TEXT, 0, BAR_NONE,                                 \
           value_text(results_text(results, trace_text(input->trace, series->name))))    \
    COLUMN("kernels", "kernels", UNIT_COUNT, 0, BAR_NONE, value_count(inside.count))     \
    COLUMN("per_step", "in a step", UNIT_NUMBER, 0, BAR_NONE,                            \
           sum_per_step(input, series, &inside, needs_kernels))                          \
    COLUMN("mean", "in a kernel", UNIT_NUMBER, 0, BAR_NONE,                              \
           gpu_metrics_mean_of(&inside, needs_kernels))                                  \
    COLUMN("min", "min", UNIT_NUMBER, 1, BAR_NONE,                                       \
           inside.count > 0 ? value_number(inside.min) : value_not_known(needs_kernels)) \
    COLUMN("max", "max", UNIT_NUMBER, 1, BAR_NONE,                                       \
           inside.count > 0 ? value_number(inside.max) : value_not_known(needs_kernels)) \
    COLUMN("set_aside", "set aside", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,        \
           value_count(series->set_aside))

static void fill_counter_row(struct results *results, struct value *cells,
                             const struct analysis_input *input, const struct series *series)
{
    static const char needs_kernels[] = "needs kernels inside the steps";
    struct sample_sum inside = {0}, busy = {0};

    sum_samples_in_steps(input->ledger, series, &inside, &busy);
    FILL_ROW(cells, BY_COUNTER_COLUMNS);
}

/* The list is sorted before, so that the rows which are cut off are the ones of least weight;
 * `rows_in_all` tells that there are more. */
static void add_counters_table(struct results *results, struct section *section,
                               const struct analysis_input *input, const struct metric_row *rows,
                               size_t count)
{
    struct table *table = section_add_table(results, section, "by_counter", "Counted in kernels",
                                            COLUMNS_OF(BY_COUNTER_COLUMNS));
    size_t shown = rows_to_show(input->options, count);

    table->note = "Sums over all parts of the device that count. What is a ratio or a percentage "
                  "has a meaning in a kernel only, and no sum in a step.";
    for (size_t i = 0; i < shown; i++)
        fill_counter_row(results, table_add_row(results, table, 0), input, rows[i].series);
    table->rows_in_all = count;
}

/* Counted and sampled metrics differ in whose work they see: counters of kernels are of this
 * process, but each kernel ran alone (not so on Ascend's devices); samples are of the whole device,
 * in its usual course. */
static struct section *metrics_section(struct results *results, const struct analysis_input *input,
                                       bool is_sampled)
{
    if (!is_sampled && input->trace->facts.platform == PLATFORM_NPU)
        return section_new(results, "gpu_metrics", "Counters of kernels",
                           "What the counters of the device counted in the kernels inside the "
                           "steps.");
    if (!is_sampled)
        return section_new(results, "gpu_metrics", "Counters of kernels",
                           "What the counters of the device counted in the kernels inside the "
                           "steps, each of which the profiler ran by itself: times may be longer "
                           "than without it.");
    return section_new(
        results, "gpu_metrics", "Sampled GPU metrics",
        results_format(results,
                       "What the counters of the device said inside the %ss, as the profiler "
                       "sampled them; they count the work of all processes on it.",
                       step_word(input->ledger)));
}

/* Sampled and counted ones have different meanings, so they are two tables. */
static struct section *list_metrics(struct results *results, const struct analysis_input *input)
{
    struct section *section = NULL;
    struct metric_row *sampled, *counted;
    size_t count, counter_count;

    if (input->ledger->step_count == 0 || input->trace->series.count == 0)
        return NULL;
    sampled = zeroed_array(input->trace->series.count, sizeof *sampled);
    counted = zeroed_array(input->trace->series.count, sizeof *counted);
    count = gpu_metrics_collect(sampled, input, SERIES_METRIC);
    counter_count = gpu_metrics_collect(counted, input, SERIES_OF_KERNELS);
    if (count + counter_count > 0)
        section = metrics_section(results, input, count > 0);
    if (count > 0) {
        add_device_clock(results, section, input);
        gpu_metrics_add_table(results, section, input, sampled, count);
    }
    if (counter_count > 0)
        add_counters_table(results, section, input, counted, counter_count);
    free(sampled);
    free(counted);
    return section;
}

const struct analysis gpu_metrics_analysis = {
    .name = "gpu_metrics",
    .summary = "What did the device's own counters say?",
    .run = list_metrics,
};
