/* What `flopledger device` says of devices. */
#include "sections/model/device_sections.h"

static const char why_no_peak[] = "no figure that can be relied on: see conflicts";
static const char why_no_figure[] = "not in the table";

static struct value figure(double number, struct value value)
{
    return number > 0.0 ? value : value_not_known(why_no_figure);
}

/* The peak of one type in TFLOP/s: UNIT_NONE where the device has no unit for it. A device
 * without a unit and one whose figure is in doubt are told apart: the first is empty, the second
 * not known. */
static struct value peak_value(const struct device_peak *device, enum peak_type type)
{
    switch (device_peak_state(device, type)) {
    case PEAK_KNOWN:
        return value_number(device->peaks[type] / 1e12);
    case PEAK_NO_UNIT:
        return value_none();
    case PEAK_NOT_KNOWN:
        break;
    }
    return value_not_known(why_no_peak);
}

#define PEAKS_COLUMNS(COLUMN)                                                              \
    COLUMN("type", "type", UNIT_TEXT, 0, BAR_NONE, value_text(peak_type_name(type)))       \
    COLUMN("peak", "TFLOP/s, dense", UNIT_NUMBER, 0, BAR_NONE, peak_value(device, type))   \
    COLUMN("units", "", UNIT_TEXT, 0, BAR_NONE,                                            \
           value_text(device_peak_state(device, type) == PEAK_NO_UNIT                      \
                          ? "the device has no unit for it"                                \
                      : device_peak_state(device, type) == PEAK_NOT_KNOWN ? ""             \
                      : is_vector                                         ? "vector units" \
                      : type == PEAK_INT8 ? "matrix units; operations, not FLOPs"          \
                                          : "matrix units"))

static void add_peaks(struct results *results, struct section *section,
                      const struct device_peak *device)
{
    struct table *table =
        section_add_table(results, section, "peaks", "Peak rates", COLUMNS_OF(PEAKS_COLUMNS));

    for (int i = 0; i < PEAK_TYPE_COUNT; i++) {
        enum peak_type type = (enum peak_type)i;
        bool is_vector = type == PEAK_FP64 || type == PEAK_FP32;

        FILL_ROW(table_add_row(results, table, 0), PEAKS_COLUMNS);
    }
}

/* The source and where sources disagree stand with the figures: a peak without them is a
 * rumor. */
struct section *describe_device_peak(struct results *results, const struct device_peak *device,
                                     const char *how)
{
    struct section *section = section_new(results, "device", "Device", NULL);

    section_add_value(results, section, "name", "device", value_text(device->name));
    section_add_value(results, section, "matched_by", "matched by", value_text(how));
    section_add_value(results, section, "architecture", "architecture",
                      value_text(device->architecture));
    section_add_value(results, section, "one_is", "one device is", value_text(device->one_is));
    section_add_value(results, section, "memory", "memory",
                      figure((double)device->memory_bytes, value_bytes(device->memory_bytes)));
    section_add_value(results, section, "memory_bandwidth", "memory bandwidth",
                      figure(device->memory_bytes_per_second,
                             value_bytes_per_second(device->memory_bytes_per_second)));
    section_add_value(results, section, "link_bandwidth", "links to other devices, one way",
                      figure(device->link_bytes_per_second,
                             value_bytes_per_second(device->link_bytes_per_second)));
    section_add_value(results, section, "multiprocessors", "multiprocessors",
                      figure(device->multiprocessors, value_count(device->multiprocessors)));
    section_add_value(results, section, "clock", "clock of the peaks, MHz",
                      figure(device->clock_hz, value_number(device->clock_hz / 1e6)));
    section_add_value(results, section, "source", "source", value_text(device->source));
    if (device->conflict)
        section_add_value(results, section, "conflicts", "conflicts", value_text(device->conflict));
    add_peaks(results, section, device);
    return section;
}

enum list_column {
    LIST_NAME,
    LIST_ARCHITECTURE,
    LIST_PEAKS, /* one for each type */
    LIST_MEMORY = LIST_PEAKS + PEAK_TYPE_COUNT,
    LIST_MEMORY_BANDWIDTH,
    LIST_LINK_BANDWIDTH,
    LIST_MULTIPROCESSORS,
    LIST_CLOCK,
    LIST_ONE_IS,
    LIST_SOURCE,
    LIST_CONFLICTS,
    LIST_COLUMNS
};

static const struct column list_columns[LIST_COLUMNS] = {
    [LIST_NAME] = {.key = "name", .title = "device", .unit = UNIT_TEXT},
    [LIST_ARCHITECTURE] = {.key = "architecture",
                           .title = "architecture",
                           .unit = UNIT_TEXT,
                           .priority = 8},
    [LIST_PEAKS + PEAK_FP64] = {"fp64", "fp64", UNIT_NUMBER, 7, BAR_NONE},
    [LIST_PEAKS + PEAK_FP64_MATRIX] = {"fp64_matrix", "fp64 matrix", UNIT_NUMBER, 9, BAR_NONE},
    [LIST_PEAKS + PEAK_FP32] = {"fp32", "fp32", UNIT_NUMBER, 4, BAR_NONE},
    [LIST_PEAKS + PEAK_TF32] = {"tf32", "tf32", UNIT_NUMBER, 5, BAR_NONE},
    [LIST_PEAKS + PEAK_FP16] = {"fp16", "fp16", UNIT_NUMBER, 2, BAR_NONE},
    [LIST_PEAKS + PEAK_BF16] = {"bf16", "bf16", UNIT_NUMBER, 0, BAR_NONE},
    [LIST_PEAKS + PEAK_FP8] = {"fp8", "fp8", UNIT_NUMBER, 1, BAR_NONE},
    [LIST_PEAKS + PEAK_FP4] = {"fp4", "fp4", UNIT_NUMBER, 7, BAR_NONE},
    [LIST_PEAKS + PEAK_INT8] = {"int8", "int8", UNIT_NUMBER, 8, BAR_NONE},
    [LIST_MEMORY] = {"memory", "memory", UNIT_BYTES, 2, BAR_NONE},
    [LIST_MEMORY_BANDWIDTH] = {"memory_bandwidth", "memory bandwidth", UNIT_BYTES_PER_SECOND, 3,
                               BAR_NONE},
    [LIST_LINK_BANDWIDTH] = {"link_bandwidth", "links, one way", UNIT_BYTES_PER_SECOND, 5,
                             BAR_NONE},
    [LIST_MULTIPROCESSORS] = {"multiprocessors", "multi-processors", UNIT_COUNT, 9, BAR_NONE},
    [LIST_CLOCK] = {"clock", "clock, MHz", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    [LIST_ONE_IS] = {"one_is", "one device is", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    [LIST_SOURCE] = {"source", "source", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    [LIST_CONFLICTS] = {"conflicts", "conflicts", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
};

/* What a maker does not publish is an empty cell, never a guess. The clock is in MHz here, as
 * data sheets have it. */
static void device_sections_fill_row(struct value *cells, const struct device_peak *device)
{
    cells[LIST_NAME] = value_text(device->name);
    cells[LIST_ARCHITECTURE] = value_text(device->architecture);
    for (int i = 0; i < PEAK_TYPE_COUNT; i++)
        cells[LIST_PEAKS + i] = peak_value(device, (enum peak_type)i);
    cells[LIST_MEMORY] = figure((double)device->memory_bytes, value_bytes(device->memory_bytes));
    cells[LIST_MEMORY_BANDWIDTH] = figure(device->memory_bytes_per_second,
                                          value_bytes_per_second(device->memory_bytes_per_second));
    cells[LIST_LINK_BANDWIDTH] = figure(device->link_bytes_per_second,
                                        value_bytes_per_second(device->link_bytes_per_second));
    cells[LIST_MULTIPROCESSORS] =
        figure(device->multiprocessors, value_count(device->multiprocessors));
    cells[LIST_CLOCK] = figure(device->clock_hz, value_number(device->clock_hz / 1e6));
    cells[LIST_ONE_IS] = value_text(device->one_is);
    cells[LIST_SOURCE] = value_text(device->source);
    if (device->conflict)
        cells[LIST_CONFLICTS] = value_text(device->conflict);
}

/* Peaks are dense ones throughout: data sheets like to print the figures with sparsity, which
 * are twice as large and which no training reaches. */
struct section *describe_device_list(struct results *results)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    struct section *section = section_new(
        results, "device_list", "Devices",
        "What one device can do at most, dense: never a figure with sparsity. 'flopledger device "
        "NAME' says more of one, with the sources and where they disagree.");
    struct table *table = section_add_table(
        results, section, "devices", "Peak rates, memory, links", list_columns, LIST_COLUMNS);

    table->note = "Peaks in TFLOP/s; empty: the device has no unit for the type.";
    for (size_t i = 0; i < count; i++)
        device_sections_fill_row(table_add_row(results, table, 0), &devices[i]);
    return section;
}

#define MATMULS_COLUMNS(COLUMN)                                                              \
    COLUMN("type", "type", UNIT_TEXT, 0, BAR_NONE, value_text(peak_type_name(matmul->type))) \
    COLUMN("m", "m", UNIT_COUNT, 0, BAR_NONE, value_count(matmul->m))                        \
    COLUMN("k", "k", UNIT_COUNT, 0, BAR_NONE, value_count(matmul->k))                        \
    COLUMN("n", "n", UNIT_COUNT, 0, BAR_NONE, value_count(matmul->n))                        \
    COLUMN("rate", "reached", UNIT_FLOPS_PER_SECOND, 0, BAR,                                 \
           value_flops_per_second(matmul->flops_per_second))

/* The fastest repetition, as anything that runs beside makes others slower; nothing makes one
 * too fast. */
struct section *describe_measured_rates(struct results *results, const struct measured_rates *rates)
{
    struct section *section = section_new(
        results, "measured_rates", "Measured rates",
        "The fastest repetition of each. What runs beside them makes them too low: measure on a "
        "machine that does nothing else.");
    struct table *table;

    section_add_value(results, section, "name", "device",
                      value_text(results_text(results, rates->device)));
    if (rates->threads > 0)
        section_add_value(results, section, "threads", "threads", value_count(rates->threads));
    for (int i = 0; i < PEAK_TYPE_COUNT; i++)
        if (rates->peaks[i] > 0)
            section_add_value(
                results, section,
                results_format(results, "peak_%s", peak_type_name((enum peak_type)i)),
                results_format(results, "peak, %s", peak_type_name((enum peak_type)i)),
                value_flops_per_second(rates->peaks[i]));
    section_add_value(results, section, "memory_bandwidth", "memory bandwidth, read and written",
                      figure(rates->memory_bytes_per_second,
                             value_bytes_per_second(rates->memory_bytes_per_second)));
    if (rates->reduced_devices > 0) {
        section_add_value(results, section, "all_reduce_devices", "devices that reduced together",
                          value_count(rates->reduced_devices));
        section_add_value(results, section, "all_reduce_bandwidth",
                          "sent by each in the largest all-reduce",
                          value_bytes_per_second(rates->reduced_bytes_per_second));
        section_add_value(results, section, "all_reduce_latency", "of the smallest all-reduce",
                          value_time_ns((int64_t)(rates->reduced_seconds * 1e9)));
    }
    section_add_value(results, section, "file", "written to",
                      value_text(results_text(results, rates->path)));
    table = section_add_table(results, section, "matmuls", "Matmuls, [m, k] by [k, n]",
                              COLUMNS_OF(MATMULS_COLUMNS));
    for (size_t i = 0; i < rates->count; i++) {
        const struct measured_matmul *matmul = &rates->matmuls[i];

        FILL_ROW(table_add_row(results, table, 0), MATMULS_COLUMNS);
    }
    return section;
}
