/* The work of the device in the graph of a trace: what each kernel, copy and memset waited for. */
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/percentile.h"
#include "replay/graph_building.h"

#include <stdlib.h>
#include <string.h>

/* The device's own hand-over from kernel to kernel is shorter. */
static const int64_t longest_hand_over_ns = 10000;

/* The nearest event before `event` on its stream that had ended when it started; NO_EVENT: none.
 * Concurrent kernels of one stream (graph nodes, programmatic dependent launch) overlap: the
 * first one back that had ended is what was waited for. LOOKED_AT bounds the search; wider
 * overlap has no clear predecessor. */
static uint32_t event_before(const struct graph_building *building, uint32_t event)
{
    enum { LOOKED_AT = 16 };
    const struct event *device = building->trace->device;
    const struct graph_stream *stream = &building->streams[device[event].track];
    uint32_t place = building->place[event];

    for (uint32_t back = 1; back <= place && back <= LOOKED_AT; back++) {
        uint32_t before = stream->events[place - back];

        if (event_end_ns(&device[before]) <= device[event].start_ns + CLOCK_TOLERANCE_NS)
            return before;
    }
    return NO_EVENT;
}

/* ---- what is usual ---- */

/* Two numbers stand for what the device does between pieces of work: the median time from a
 * launch call to its kernel where the stream was idle (latency), and the median gap where the
 * next kernel lay in the queue already. Medians, because both have long tails of which each
 * belongs to something else that the graph has as a need of its own. A gap cannot be longer than
 * the latency, of which it is a part. */
static void device_links_find_usual_times(struct graph_building *building)
{
    const struct trace *trace = building->trace;
    int64_t *latencies = large_array_new((trace->device_count + (size_t)1) * sizeof *latencies);
    int64_t *gaps = large_array_new((trace->device_count + (size_t)1) * sizeof *gaps);
    size_t latency_count = 0, gap_count = 0;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        int64_t start_ns = trace->device[i].start_ns, launched_ns, gap_ns;
        uint32_t before;

        if (!building->is_chosen[i] || trace->launch[i] == NO_EVENT ||
            trace->device[i].kind == EVENT_MEMCPY)
            continue;
        before = event_before(building, i);
        launched_ns = launch_start_ns(trace, i);
        gap_ns = before == NO_EVENT ? INT64_MAX : start_ns - event_end_ns(&trace->device[before]);
        /* The stream was idle when this was launched: what lies between is the way from the
         * host to the device. */
        if (before == NO_EVENT || start_ns - gap_ns < launched_ns)
            latencies[latency_count++] = later_of(start_ns - launched_ns, 0);
        else if (gap_ns <= longest_hand_over_ns)
            gaps[gap_count++] = later_of(gap_ns, 0);
    }
    building->latency_ns = percentile_of(latencies, latency_count, 50);
    building->gap_ns = percentile_of(gaps, gap_count, 50);
    if (building->gap_ns > building->latency_ns)
        building->gap_ns = building->latency_ns;
    large_array_free(latencies);
    large_array_free(gaps);
}

/* ---- what each piece of work waits for ---- */

/* In the order of the trace: the task of each event is known from then on. */
void add_device_tasks(struct graph_building *building)
{
    const struct trace *trace = building->trace;
    struct trace_graph *out = building->out;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t task;

        if (!building->is_chosen[i])
            continue;
        task = add_task(building, TASK_DEVICE, trace->device[i].duration_ns);
        out->task_of_event[i] = task;
        out->tasks[task].whose = i & TRACE_TASK_WHOSE_MAX;
        if (building->is_recomputed && trace_operator_of(trace, i) != NO_EVENT &&
            building->is_recomputed[trace_operator_of(trace, i)])
            trace_task_set(&out->recompute_ns, task, trace->device[i].duration_ns);
    }
}

/* From a launching call to the device: as long as usual. A copy is different each time. */
static uint32_t launch_delay(struct graph_building *building, uint32_t cut, uint32_t event)
{
    const struct event *device = &building->trace->device[event];
    bool is_copy = device->kind == EVENT_MEMCPY;
    int64_t own_ns = device->start_ns - building->cuts.cuts[cut].start_ns;
    uint32_t before = event_before(building, event);
    uint32_t task;

    if (building->delay_of_cut[cut] != NO_EVENT)
        return building->delay_of_cut[cut];
    if (!is_copy ||
        (before != NO_EVENT &&
         device->start_ns - event_end_ns(&building->trace->device[before]) <= longest_hand_over_ns))
        own_ns = building->latency_ns;
    task = add_task(building, TASK_DELAY, own_ns - building->gap_ns);
    task_graph_need(&building->out->graph, task, task_before_cut(building, cut));
    building->delay_of_cut[cut] = task;
    return task;
}

/* The work of another stream that ended last before `event` started, if it was just before. Of
 * each stream only the last started one and the one before it matter: streams run in order, so
 * an earlier one ended earlier. O(streams) per event. */
static uint32_t other_stream_before(const struct graph_building *building, uint32_t event,
                                    const uint32_t *last_started)
{
    const struct trace *trace = building->trace;
    const struct event *device = trace->device;
    int64_t limit_ns = device[event].start_ns + CLOCK_TOLERANCE_NS;
    int64_t latest_ns = device[event].start_ns - longest_hand_over_ns;
    uint32_t found = NO_EVENT;

    for (uint32_t track = 0; track < trace->track_count; track++) {
        uint32_t last = last_started[track];

        if (last == NO_EVENT || track == device[event].track)
            continue;
        /* The last that started there still runs: the one before it may have ended in time. */
        if (event_end_ns(&device[last]) > limit_ns)
            last = event_before(building, last);
        if (last == NO_EVENT || event_end_ns(&device[last]) > limit_ns ||
            event_end_ns(&device[last]) < latest_ns)
            continue;
        latest_ns = event_end_ns(&device[last]);
        found = last;
    }
    return found;
}

/* A kernel of another stream that ran from before `free_ns`, when `event` could have started, until
 * after it did: the device had no room for both. Only compute fills the device; a collective or
 * a copy leaves room for kernels. */
static uint32_t full_device_before(const struct graph_building *building, uint32_t event,
                                   int64_t free_ns, const uint32_t *last_started)
{
    const struct trace *trace = building->trace;
    const uint8_t *classes = building->out->ledger->classes;
    uint32_t found = NO_EVENT;

    for (uint32_t track = 0; track < trace->track_count; track++) {
        uint32_t last = last_started[track];
        const struct event *running;

        if (last == NO_EVENT || track == trace->device[event].track ||
            !kernel_class_is_compute((enum kernel_class)classes[last]))
            continue;
        running = &trace->device[last];
        if (running->start_ns <= free_ns + longest_hand_over_ns &&
            event_end_ns(running) > trace->device[event].start_ns &&
            (found == NO_EVENT || running->start_ns < trace->device[found].start_ns))
            found = last;
    }
    return found;
}

/* What held `event` up, which could have started at `free_ns`: its task, or NO_EVENT, and how long
 * after that it started. What ended just before first: that is what an event wait looks like,
 * while a device that was full is a guess. */
static uint32_t what_held_up(struct graph_building *building, uint32_t event, int64_t free_ns,
                             const uint32_t *last_started, int64_t *delay_ns)
{
    const struct event *device = building->trace->device;
    uint32_t other = other_stream_before(building, event, last_started);

    if (other != NO_EVENT) {
        *delay_ns = later_of(device[event].start_ns - event_end_ns(&device[other]), 0);
        return building->out->task_of_event[other];
    }
    other = full_device_before(building, event, free_ns, last_started);
    if (other == NO_EVENT)
        return NO_EVENT;
    *delay_ns = 0;
    return add_room(building, other, device[event].start_ns);
}

/* Side by side among the edges, so that add_room finds them. */
static void need_all(struct graph_building *building, uint32_t event, const uint32_t needs[3])
{
    struct trace_graph *out = building->out;

    building->first_edge[event] = (uint32_t)out->graph.edge_count;
    for (size_t i = 0; i < 3; i++)
        if (needs[i] != NO_EVENT)
            task_graph_need(&out->graph, out->task_of_event[event], needs[i]);
}

/* What one piece of work waits for, and how long after it starts.
 *
 * Work starts when the work before it on its stream has ended and its launch has reached the
 * device; what it starts later than that is explained, in this order: by work of another stream
 * that ended just before (an event was waited for), by a kernel that filled the device until
 * then, else by nothing that the trace tells, and then the usual gap stands for it. A need that did
 * not decide in the recording stays in the graph, so that it decides once another task is made
 * faster. */
static void link_device_task(struct graph_building *building, uint32_t event,
                             const uint32_t *last_started)
{
    const struct trace *trace = building->trace;
    const struct event *device = trace->device;
    struct trace_graph *out = building->out;
    uint32_t task = out->task_of_event[event], before = event_before(building, event);
    uint32_t launch = trace->launch[event], cut = building->cut_of_event[event];
    uint32_t needs[] = {NO_EVENT, NO_EVENT, NO_EVENT}; /* on its stream, its launch, another */
    int64_t start_ns = device[event].start_ns, delay_ns = building->gap_ns, free_ns = INT64_MIN;
    int64_t arrived_ns = INT64_MIN;
    bool is_first_of_cut = cut != NO_EVENT && building->delay_of_cut[cut] == NO_EVENT;

    if (before == NO_EVENT && cut == NO_EVENT) {
        need_all(building, event, needs);
        trace_task_set(&out->floors_ns, task, start_ns - building->range_ns[0]);
        return;
    }
    if (before != NO_EVENT) {
        needs[0] = out->task_of_event[before];
        free_ns = event_end_ns(&device[before]);
    }
    if (cut != NO_EVENT) {
        needs[1] = launch_delay(building, cut, event);
        arrived_ns =
            building->cuts.cuts[cut].start_ns + building->gap_ns + out->tasks[needs[1]].duration_ns;
    }
    if (free_ns >= arrived_ns && start_ns - free_ns <= longest_hand_over_ns)
        delay_ns = later_of(start_ns - free_ns, 0);
    else if (start_ns - later_of(free_ns, arrived_ns) > longest_hand_over_ns)
        needs[2] =
            what_held_up(building, event, later_of(free_ns, arrived_ns), last_started, &delay_ns);
    if (is_first_of_cut) /* its own delay is a part of the way from the call */
        out->tasks[needs[1]].duration_ns =
            later_of(out->tasks[needs[1]].duration_ns + building->gap_ns - delay_ns, 0);
    need_all(building, event, needs);
    if (cut == NO_EVENT && launch != NO_EVENT)
        trace_task_set(&out->floors_ns, task, start_ns - building->range_ns[0] - delay_ns);
    out->tasks[task].delay_ns = delay_ns;
}

/* In order of start, so last_started[] holds what each stream began before the event that is
 * looked at. */
void link_device_tasks(struct graph_building *building)
{
    const struct trace *trace = building->trace;
    uint32_t *last_started =
        require_memory(malloc((trace->track_count + (size_t)1) * sizeof *last_started));

    device_links_find_usual_times(building);
    memset(last_started, 0xff, (trace->track_count + (size_t)1) * sizeof *last_started);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (!building->is_chosen[i])
            continue;
        link_device_task(building, i, last_started);
        last_started[trace->device[i].track] = i;
    }
    free(last_started);
}
