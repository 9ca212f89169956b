/* Calls of the host that wait for the device, in the graph of a trace. */
#include "base/core/search.h"
#include "replay/graph_building.h"

#include <string.h>

/* A launching call this far ahead of its kernel may have waited for a place in the queue. */
enum { FULL_QUEUE = 512 };
static const int64_t shortest_blocked_launch_ns = 100000;

/* The last work on the stream that was launched before `launched_ns` and had ended at `end_ns`.
 * Ends on a stream rise with starts, as it runs in order, so the last that had ended is a binary
 * search away; those launched after the call are passed over, since nobody waits for what is not
 * there yet. */
static uint32_t last_ended(const struct graph_building *building, const struct graph_stream *stream,
                           int64_t launched_ns, int64_t end_ns)
{
    const struct event *device = building->trace->device;
    uint32_t low =
        LOWER_BOUND(i, 0, stream->count,
                    event_end_ns(&device[stream->events[i]]) <= end_ns + CLOCK_TOLERANCE_NS);

    while (low > 0 && launch_start_ns(building->trace, stream->events[low - 1]) >= launched_ns)
        low--;
    return low == 0 ? NO_EVENT : stream->events[low - 1];
}

/* `task`, of a cut, returns after `done`, a task of the device, has ended. */
static void wait_for_task(struct graph_building *building, uint32_t task, uint32_t done)
{
    uint32_t wait = add_task(building, TASK_WAIT, 0);

    task_graph_need(&building->out->graph, wait, done);
    task_graph_need(&building->out->graph, task, wait);
}

static void wait_for_event(struct graph_building *building, uint32_t task, uint32_t event)
{
    wait_for_task(building, task, building->out->task_of_event[event]);
}

/* A synchronizing call returns when all work launched before it has ended. Which work that was
 * is not recorded: of each stream it is the last that was launched before the call and had ended
 * when it returned, for a stream runs in order. What the call itself takes is only the time
 * after the last of these ends; the rest follows from the device, and shrinks in a replay in
 * which the device is faster. */
static void link_sync(struct graph_building *building, size_t at)
{
    const struct trace *trace = building->trace;
    const struct host_cut *cut = &building->cuts.cuts[at];
    int64_t waited_until_ns = cut->start_ns;

    for (uint32_t i = 0; i < trace->track_count; i++) {
        uint32_t event = last_ended(building, &building->streams[i], cut->start_ns, cut->end_ns);

        if (event == NO_EVENT)
            continue;
        wait_for_event(building, building->task_of_cut[at], event);
        waited_until_ns = later_of(waited_until_ns, event_end_ns(&trace->device[event]));
    }
    building->out->tasks[building->task_of_cut[at]].duration_ns =
        later_of(cut->end_ns - waited_until_ns, 0);
}

/* A launching call waits where it returns after its own copy has ended, or where the queue was full
 * of work that had not started. A launch that takes longer than shortest_blocked_launch_ns and
 * lies FULL_QUEUE pieces ahead of what had ended by then: CUDA's launch queue holds about a
 * thousand, and shorter launches are just slow. */
static uint32_t event_waited_for(const struct graph_building *building, const struct host_cut *cut,
                                 uint32_t event)
{
    const struct event *device = building->trace->device;
    const struct graph_stream *stream = &building->streams[device[event].track];
    uint32_t last;

    if (device[event].kind == EVENT_MEMCPY &&
        event_end_ns(&device[event]) <= cut->end_ns + CLOCK_TOLERANCE_NS)
        return event;
    if (cut->end_ns - cut->start_ns < shortest_blocked_launch_ns)
        return NO_EVENT;
    last = last_ended(building, stream, cut->start_ns, cut->end_ns);
    return last != NO_EVENT && building->place[event] >= building->place[last] + FULL_QUEUE
               ? last
               : NO_EVENT;
}

/* The call moves the bytes itself, piece by piece, while its copy runs: a plain copy, or one of
 * pageable memory. The last piece may still be on its way when it returns. */
static bool moves_bytes_itself(const struct trace *trace, uint32_t event)
{
    const char *call = trace_text(trace, trace->host[trace->launch[event]].name);

    return trace->device[event].kind == EVENT_MEMCPY &&
           ((strstr(call, "Memcpy") && !strstr(call, "Async")) ||
            strstr(trace_text(trace, trace->device[event].name), "Pageable"));
}

/* A call that returned before its copy had ended, and waited for the part that had run by then;
 * false where it did not. */
static bool link_blocking_copy(struct graph_building *building, uint32_t cut, uint32_t event)
{
    const struct event *copy = &building->trace->device[event];
    struct trace_task *task = &building->out->tasks[building->task_of_cut[cut]];
    int64_t until_ns = building->cuts.cuts[cut].end_ns;

    if (!moves_bytes_itself(building->trace, event) || until_ns <= copy->start_ns)
        return false;
    task->kind = TASK_SYNC;
    task->duration_ns = 0;
    wait_for_task(building, building->task_of_cut[cut], add_room(building, event, until_ns));
    return true;
}

/* Calls that synchronize by their name come first; then launches that waited though their names
 * do not say so: a queue that was full, a copy of pageable memory. Of a call that launches
 * several pieces of work only one wait is kept (`seen`), since it returns once. */
void link_waiting_calls(struct graph_building *building)
{
    const struct trace *trace = building->trace;
    uint32_t seen = NO_EVENT;

    for (size_t i = 0; i < building->cuts.count; i++)
        if (building->cuts.cuts[i].kind == CUT_SYNC)
            link_sync(building, i);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t cut = building->cut_of_event[i];
        uint32_t event, task;

        if (cut == NO_EVENT || cut == seen)
            continue;
        event = event_waited_for(building, &building->cuts.cuts[cut], i);
        if (event == NO_EVENT) {
            if (link_blocking_copy(building, cut, i))
                seen = cut;
            continue;
        }
        seen = cut;
        task = building->task_of_cut[cut];
        /* The call's own part is what is left of it once the waiting is over. */
        building->out->tasks[task].kind = TASK_SYNC;
        building->out->tasks[task].duration_ns =
            later_of(building->cuts.cuts[cut].end_ns - later_of(event_end_ns(&trace->device[event]),
                                                                building->cuts.cuts[cut].start_ns),
                     0);
        wait_for_event(building, task, event);
    }
}
