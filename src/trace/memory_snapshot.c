/* A snapshot of PyTorch's CUDA allocator, and what was allocated and freed while a trace was
 * recorded. */
#include "trace/memory_snapshot.h"

#include "base/core/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void memory_list_add(struct memory_list *list, const struct memory_event *event)
{
    ARRAY_ADD(list->events, list->count, *event);
}

static bool memory_event_is_sorted(const struct memory_list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (list->events[i].time_ns < list->events[i - 1].time_ns)
            return false;
    return true;
}

/* `from` has two sorted halves, the second from `middle` on. */
static void memory_event_merge(struct memory_event *to, const struct memory_event *from,
                               size_t middle, size_t count)
{
    size_t left = 0;
    size_t right = middle;

    for (size_t i = 0; i < count; i++) {
        bool takes_left =
            left < middle && (right == count || from[left].time_ns <= from[right].time_ns);

        to[i] = takes_left ? from[left++] : from[right++];
    }
}

/* Bottom-up merge sort: stable, as a release and an allocation at one time must stay in their
 * order. Mostly the list is sorted. */
void memory_list_sort(struct memory_list *list)
{
    struct memory_event *other;

    if (memory_event_is_sorted(list))
        return;
    other = array_resize(NULL, array_room_of(list->count), sizeof *other);
    for (size_t width = 1; width < list->count; width *= 2) {
        struct memory_event *swapped = list->events;

        for (size_t start = 0; start < list->count; start += 2 * width) {
            size_t left = list->count - start;
            size_t count = left < 2 * width ? left : 2 * width;

            memory_event_merge(other + start, list->events + start, count < width ? count : width,
                               count);
        }
        list->events = other;
        other = swapped;
    }
    free(other);
}

void memory_list_clear(struct memory_list *list)
{
    free(list->events);
    *list = (struct memory_list){0};
}

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
