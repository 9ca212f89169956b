/* A snapshot of PyTorch's CUDA allocator. */
#include "trace/memory_snapshot.h"

#include <stdlib.h>

const char *snapshot_action_name(enum snapshot_action action)
{
    static const char *const names[SNAPSHOT_ACTION_COUNT] = {
        [SNAPSHOT_ALLOC] = "alloc",
        [SNAPSHOT_FREE_REQUESTED] = "free_requested",
        [SNAPSHOT_FREE_COMPLETED] = "free_completed",
        [SNAPSHOT_SEGMENT_ALLOC] = "segment_alloc",
        [SNAPSHOT_SEGMENT_FREE] = "segment_free",
        [SNAPSHOT_SEGMENT_MAP] = "segment_map",
        [SNAPSHOT_SEGMENT_UNMAP] = "segment_unmap",
        [SNAPSHOT_OOM] = "oom",
        [SNAPSHOT_TAKEN] = "snapshot",
        [SNAPSHOT_OTHER] = "other",
    };

    return names[action];
}

/* Segments may be of a device that has no history, and the other way round: both count. */
uint32_t snapshot_device_count(const struct memory_snapshot *snapshot)
{
    uint32_t count = snapshot->trace_count;

    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (snapshot->segments[i].device >= (int64_t)count)
            count = (uint32_t)snapshot->segments[i].device + 1;
    return count;
}

bool snapshot_has_device(const struct memory_snapshot *snapshot, uint32_t device)
{
    if (device < snapshot->trace_count && snapshot->traces[device].count > 0)
        return true;
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (snapshot->segments[i].device == (int64_t)device)
            return true;
    return false;
}

const char *snapshot_text(const struct memory_snapshot *snapshot, uint32_t id)
{
    return string_pool_text(&snapshot->strings, id);
}

void memory_snapshot_clear(struct memory_snapshot *snapshot)
{
    if (!snapshot)
        return;
    for (uint32_t i = 0; i < snapshot->trace_count; i++)
        free(snapshot->traces[i].events);
    free(snapshot->traces);
    free(snapshot->frames);
    free(snapshot->stack_frames);
    free(snapshot->stacks);
    free(snapshot->segments);
    free(snapshot->blocks);
    free(snapshot->pools);
    free(snapshot->annotations);
    free(snapshot->settings);
    string_pool_clear(&snapshot->strings);
    *snapshot = (struct memory_snapshot){0};
}
