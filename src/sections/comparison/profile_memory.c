/* The most memory in each step, and what it was for. */
#include "sections/comparison/profile_trace.h"

#include <stdio.h>

static const struct memory_step *profile_memory_find_step(const struct memory_run *memory,
                                                          int64_t number)
{
    for (uint32_t i = 0; i < memory->step_count; i++)
        if (memory->steps[i].number == number)
            return &memory->steps[i];
    return NULL;
}

static void set_bytes(struct run_profile *profile, const char *name, const char *title,
                      int64_t bytes, uint32_t row)
{
    struct measure *measure = profile_measure(profile, MEASURE_MEMORY, name, "");

    measure->title = title;
    measure->unit = UNIT_BYTES;
    measure->values[row] = bytes;
}

void profile_memory(struct run_profile *profile, const struct profile_source *source)
{
    for (uint32_t row = 0; row < profile->step_count; row++) {
        const struct memory_step *step =
            profile_memory_find_step(source->memory, profile->numbers[row]);
        struct memory_peak peak;
        struct memory_sums sums;

        if (!step)
            continue;
        peak = memory_peak_between(source->memory, source->memory_device, step->first_change,
                                   step->last_change);
        sums = memory_alive(source->memory, source->memory_device, peak.change_count);
        set_bytes(profile, "peak", "at the peak", peak.bytes, row);
        for (int kind = 0; kind < MEMORY_KIND_COUNT; kind++)
            set_bytes(profile, memory_kind_key((enum memory_kind)kind),
                      memory_kind_title((enum memory_kind)kind), sums.bytes[kind], row);
    }
}
