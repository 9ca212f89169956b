/* Page faults of unified memory in an Nsight Systems database, of
 * `nsys profile --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true`. */
#include "readers/nsys/nsys_sqlite_reading.h"

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
