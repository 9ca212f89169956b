/* What an Nsight Systems database holds of what the device counted: GPU_METRICS, of `nsys profile
 * --gpu-metrics-devices`; and page faults of unified memory, of `nsys profile
 * --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true`. */
#include "base/core/invariant.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys/nsys_sqlite_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_MAX = 4096, NOT_OURS = -1 };

struct metric_list {
    struct metric {
        int64_t type; /* which GPU, and what kind of metrics */
        int64_t number;
        int32_t series; /* index in the builder's; NOT_OURS: of a GPU that others work on */
    } metrics[METRICS_MAX];
    uint32_t count;
    uint32_t last; /* the one of the row before: rows go round in one order */
};

/* A machine's counters are sampled for all of its GPUs; those on which this process has no
 * track are another rank's. */
static bool works_on(const struct trace_builder *builder, int32_t device)
{
    for (uint32_t i = 0; i < builder->track_count; i++)
        if (builder->tracks[i].is_device && builder->tracks[i].device == device)
            return true;
    return false;
}

/* "SMs Active [Throughput %]" is "SMs Active" in "Throughput %". */
static void set_name(struct series *series, struct string_pool *strings, const char *text)
{
    const char *unit = strrchr(text, '[');
    size_t length = strlen(text);

    if (unit && unit > text && text[length - 1] == ']') {
        series->unit = string_pool_add(strings, unit + 1, (size_t)(text + length - unit) - 2);
        length = (size_t)(unit - text);
        while (length > 1 && text[length - 1] == ' ')
            length--;
    }
    series->name = string_pool_add(strings, text, length);
}

/* NULL where the list is full. */
static struct metric *add_metric(struct nsys_reading *reading, struct metric_list *list,
                                 const struct metric *metric, const char *name)
{
    struct series series = {
        .device = nsys_device_of_gpu(reading->database, reading->process, metric->type & 0xff),
        .number = (uint32_t)metric->number};
    struct metric *added;
    char text[32];

    if (list->count == METRICS_MAX)
        return NULL;
    added = &list->metrics[list->count++];
    *added = (struct metric){.type = metric->type, .number = metric->number, .series = NOT_OURS};
    if (!works_on(&reading->builder, series.device))
        return added;
    (void)snprintf(text, sizeof text, "metric %" PRId64, metric->number);
    set_name(&series, &reading->builder.strings, name && *name ? name : text);
    added->series = (int32_t)series_list_find(&reading->builder.series, &series);
    return added;
}

/* Samples come in rounds, one of each metric: the search begins behind the last one found, so
 * it is one step in a usual file. */
static struct metric *find_metric(struct metric_list *list, const struct metric *metric)
{
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t at = (list->last + 1 + i) % list->count;

        if (list->metrics[at].type == metric->type && list->metrics[at].number == metric->number) {
            list->last = at;
            return &list->metrics[at];
        }
    }
    return NULL;
}

/* The low byte of the type is the GPU's number, as TARGET_INFO_GPU has it. */
static void read_metric_names(struct nsys_reading *reading, struct metric_list *list)
{
    static const char *const columns[] = {"typeId", "metricId", "metricName", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &reading->database->file, "TARGET_INFO_GPU_METRICS", columns);
    while (sqlite_rows_next(&rows)) {
        struct metric metric = {.type = sqlite_integer(&rows, 0, 0),
                                .number = sqlite_integer(&rows, 1, -1)};

        if (!find_metric(list, &metric))
            (void)add_metric(reading, list, &metric, sqlite_text(&rows, 2));
    }
    sqlite_rows_clear(&rows);
}

/* A value of NULL is read as -1: what is counted is never negative, so one comparison finds
 * both. */
static void read_sample(struct nsys_reading *reading, const struct sqlite_rows *rows,
                        struct series *series)
{
    struct series_sample sample = {sqlite_integer(rows, 0, 0), sqlite_real(rows, 3, -1)};

    reading->builder.read.events++;
    trace_builder_count(&reading->builder, reading->category_name, 'C', sample.time_ns,
                        sample.time_ns);
    if (sqlite_is_null(rows, 0) || !isfinite(sample.value) || sample.value < 0)
        series->set_aside++;
    else
        series_add(series, &sample);
}

void nsys_read_gpu_metrics(struct nsys_reading *reading)
{
    static const char *const columns[] = {"timestamp", "typeId", "metricId", "value", NULL};
    struct metric_list *list;
    struct sqlite_rows rows = {0};

    /* without these nobody can tell what a sample is of */
    if (!sqlite_has_column(&reading->database->file, "GPU_METRICS", "typeId") ||
        !sqlite_has_column(&reading->database->file, "GPU_METRICS", "metricId"))
        return;
    list = require_memory(calloc(1, sizeof *list));
    read_metric_names(reading, list);
    nsys_reading_open(reading, &rows, "GPU_METRICS", columns, "globalPid");
    while (sqlite_rows_next(&rows)) {
        struct metric metric = {.type = sqlite_integer(&rows, 1, 0),
                                .number = sqlite_integer(&rows, 2, -1)};
        const struct metric *found = find_metric(list, &metric);

        if (!found)
            found = add_metric(reading, list, &metric, NULL);
        if (found && found->series != NOT_OURS)
            read_sample(reading, &rows, &reading->builder.series.series[found->series]);
    }
    sqlite_rows_clear(&rows);
    free(list);
}

enum { DEVICES_MAX = 1024 };

/* Adds the row; `faults` at `time_ns`. */
static void add_faults(struct nsys_reading *reading, const struct sqlite_rows *rows, int64_t device,
                       int64_t faults)
{
    struct series_list *list = &reading->builder.series;
    struct series key = {.kind = SERIES_PAGE_FAULTS, .device = (int32_t)device};
    struct series_sample sample = {sqlite_integer(rows, 0, 0), (double)faults};
    uint32_t index = series_list_find(list, &key);

    reading->builder.read.events++;
    trace_builder_count(&reading->builder, reading->category_name, 'i', sample.time_ns,
                        sample.time_ns);
    if (sqlite_is_null(rows, 0) || faults < 0)
        list->series[index].set_aside++;
    else
        series_add(&list->series[index], &sample);
}

/* One row is one fault of the host. */
static void read_faults_of_host(struct nsys_reading *reading)
{
    static const char *const columns[] = {"start", NULL};
    struct sqlite_rows rows = {0};

    nsys_reading_open(reading, &rows, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", columns, "globalPid");
    while (sqlite_rows_next(&rows))
        add_faults(reading, &rows, SERIES_OF_HOST, 1);
    sqlite_rows_clear(&rows);
}

/* The device reports faults in batches: a row has their number. */
static void read_faults_of_devices(struct nsys_reading *reading)
{
    static const char *const columns[] = {"start", "deviceId", "numberOfPageFaults", NULL};
    struct sqlite_rows rows = {0};

    nsys_reading_open(reading, &rows, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", columns, "globalPid");
    while (sqlite_rows_next(&rows)) {
        int64_t device = sqlite_integer(&rows, 1, -1);

        if (device >= 0 && device < DEVICES_MAX)
            add_faults(reading, &rows, device, sqlite_integer(&rows, 2, -1));
    }
    sqlite_rows_clear(&rows);
}

void nsys_read_page_faults(struct nsys_reading *reading)
{
    read_faults_of_host(reading);
    read_faults_of_devices(reading);
}
