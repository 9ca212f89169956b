/* What rocprofv3's counters counted in single kernels. */
#include "base/core/array.h"
#include "readers/rocprof/rocprof_reading.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The place of what the file calls a counter or an agent by; new where it was not met. */
static uint32_t place_of_id(struct rocprof_ids *ids, int64_t id)
{
    uint32_t place = hash_map_add(&ids->index, (uint64_t)id, ids->count);

    if (place == ids->count)
        ARRAY_ADD(ids->ids, ids->count, (struct rocprof_id){.id = id});
    return place;
}

void rocprof_run_name_counter(struct rocprof_run *run, int64_t counter, uint32_t name)
{
    uint32_t place = place_of_id(&run->counters, counter);

    run->counters.ids[place].name = name;
}

/* A counter counts in each part of a device (engine, array): a kernel's value is their sum. By
 * kernel and counter, since rows of a kernel need not follow each other. */
void rocprof_run_count(struct rocprof_run *run, const struct rocprof_count *count)
{
    struct series_list *list = &run->builder.series;
    struct series series = {.kind = SERIES_OF_KERNELS,
                            .device = (int32_t)place_of_id(&run->counted_agents, count->agent),
                            .number = place_of_id(&run->counters, count->counter)};
    const struct series_sample sample = {count->time_ns, count->value};
    uint32_t place = series_list_find(list, &series);
    struct series *found = &list->series[place];
    uint64_t key = (uint64_t)count->kernel << 32 | series.number;
    uint32_t next = found->count < NO_VALUE ? (uint32_t)found->count : 0, of_kernel;

    if (!isfinite(sample.value)) {
        found->set_aside++;
        return;
    }
    of_kernel = hash_map_add(&run->counted_in, key, next);
    if (of_kernel == next)
        series_add(found, &sample);
    else
        found->samples[of_kernel].value += sample.value;
}

/* Named at the end, as a counter's name may come behind its values; one without a name keeps
 * its number. */
void rocprof_run_name_series(struct rocprof_run *run)
{
    struct series_list *list = &run->builder.series;
    char text[48];

    for (uint32_t i = 0; i < list->count; i++) {
        struct series *series = &list->series[i];
        const struct rocprof_id *counter = &run->counters.ids[series->number];

        (void)snprintf(text, sizeof text, "counter %" PRId64, counter->id);
        series->name = counter->name ? counter->name
                                     : string_pool_add(&run->builder.strings, text, strlen(text));
    }
}
