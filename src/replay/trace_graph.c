/* The dependencies of one recorded run: who may start, and who ends, is in trace_graph.h; here the
 * tasks and what each waits for are found. */
#include "replay/trace_graph.h"

#include "base/invariant.h"
#include "base/percentile.h"
#include "replay/host_cuts.h"
#include "replay/marked_time.h"

#include <stdlib.h>
#include <string.h>

/* Clocks of host and device, and of traces in whole microseconds, are this far apart at most. */
static const int64_t clock_tolerance_ns = 2000;
/* The device's own hand-over from kernel to kernel is shorter. */
static const int64_t longest_hand_over_ns = 10000;
/* A launching call this far ahead of its kernel may have waited for a place in the queue. */
enum { FULL_QUEUE = 512 };
static const int64_t shortest_blocked_launch_ns = 100000;

/* The work of one stream, in order of its starts. */
struct stream {
    uint32_t *events; /* [count], indices in trace->device */
    uint32_t count;
};

/* The tasks that one piece of work waits for; NO_EVENT: none. */
struct needs {
    uint32_t before; /* on its stream */
    uint32_t launch;
    uint32_t other; /* on another stream */
};

struct building {
    struct trace_graph *out;
    const struct trace *trace;
    const uint8_t *is_recomputed; /* of trace->host, or NULL */
    struct marked_time recomputing;
    struct host_activity activity;
    struct host_cuts cuts;
    int64_t range_ns[2];
    uint8_t *is_chosen;      /* [device_count] */
    uint32_t *task_of_event; /* [device_count] */
    uint32_t *place;         /* [device_count]: in its stream */
    struct needs *needs;     /* [device_count]: what each waits for */
    struct stream *streams;  /* by track */
    uint32_t *cut_of_host;   /* [host_count]: of calls that are cuts, else NO_EVENT */
    uint32_t *before_cut;    /* [cuts]: the task that ends where the cut starts */
    uint32_t *task_of_cut;   /* [cuts]: the task that ends where the cut ends */
    uint32_t *delay_of_cut;  /* [cuts]: from the call to the device; NO_EVENT until asked for */
    int64_t latency_ns;      /* usual, from a call's start to its kernel's on an idle stream */
    int64_t gap_ns;          /* usual, from a kernel's end to the next one's start */
};

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint32_t add_task(struct building *building, enum trace_task_kind kind, int64_t duration_ns)
{
    struct trace_graph *out = building->out;
    uint32_t task = task_graph_add(&out->graph);

    if (task >= out->task_capacity) {
        out->task_capacity = out->task_capacity ? 2 * out->task_capacity : 1024;
        out->tasks = require_memory(realloc(out->tasks, out->task_capacity * sizeof *out->tasks));
    }
    out->tasks[task] = (struct trace_task){
        .duration_ns = later_of(duration_ns, 0), .event = NO_EVENT, .kind = (uint8_t)kind};
    return task;
}

/* ---- what is replayed ---- */

static int64_t launch_start_ns(const struct trace *trace, uint32_t event)
{
    uint32_t launch = trace->launch[event];

    return launch == NO_EVENT ? trace->device[event].start_ns : trace->host[launch].start_ns;
}

/* From the first step to the last; without steps, from the first launch. */
static void find_range(struct building *building)
{
    const struct ledger *ledger = building->out->ledger;
    const struct step_window *first = &ledger->steps[0].window;
    const struct trace *trace = building->trace;

    building->range_ns[0] = first->start_ns;
    building->range_ns[1] = ledger->steps[ledger->step_count - 1].window.end_ns;
    for (uint32_t i = 0; i < trace->device_count && first->track == NO_EVENT; i++)
        if (trace->tracks[trace->device[i].track].device == ledger->device &&
            launch_start_ns(trace, i) < building->range_ns[0])
            building->range_ns[0] = launch_start_ns(trace, i);
}

/* Work of the device that was launched in the steps, or before them and runs into them. */
static void choose_events(struct building *building)
{
    const struct trace *trace = building->trace;
    int32_t device = building->out->ledger->device;

    building->streams =
        require_memory(calloc(trace->track_count + (size_t)1, sizeof *building->streams));
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        building->is_chosen[i] = trace->tracks[event->track].device == device &&
                                 event_end_ns(event) > building->range_ns[0] &&
                                 launch_start_ns(trace, i) < building->range_ns[1];
        if (building->is_chosen[i])
            building->place[i] = building->streams[event->track].count++;
    }
    for (uint32_t i = 0; i < trace->track_count; i++)
        building->streams[i].events = require_memory(
            calloc(building->streams[i].count + (size_t)1, sizeof *building->streams[i].events));
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (building->is_chosen[i])
            building->streams[trace->device[i].track].events[building->place[i]] = i;
}

/* The nearest event before `event` on its stream that had ended when it started; NO_EVENT: none. */
static uint32_t event_before(const struct building *building, uint32_t event)
{
    enum { LOOKED_AT = 16 };
    const struct event *device = building->trace->device;
    const struct stream *stream = &building->streams[device[event].track];
    uint32_t place = building->place[event];

    for (uint32_t back = 1; back <= place && back <= LOOKED_AT; back++) {
        uint32_t before = stream->events[place - back];

        if (event_end_ns(&device[before]) <= device[event].start_ns + clock_tolerance_ns)
            return before;
    }
    return NO_EVENT;
}

/* ---- what is usual ---- */

static void find_usual_times(struct building *building)
{
    const struct trace *trace = building->trace;
    int64_t *latencies = require_memory(calloc(trace->device_count + (size_t)1, sizeof *latencies));
    int64_t *gaps = require_memory(calloc(trace->device_count + (size_t)1, sizeof *gaps));
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
        if (before == NO_EVENT || start_ns - gap_ns < launched_ns)
            latencies[latency_count++] = later_of(start_ns - launched_ns, 0);
        else if (gap_ns <= longest_hand_over_ns)
            gaps[gap_count++] = later_of(gap_ns, 0);
    }
    building->latency_ns = percentile_of(latencies, latency_count, 50);
    building->gap_ns = percentile_of(gaps, gap_count, 50);
    if (building->gap_ns > building->latency_ns)
        building->gap_ns = building->latency_ns;
    free(latencies);
    free(gaps);
}

/* ---- host threads ---- */

/* The thread's own time from `from_ns` to `to_ns`, after `last`. */
static uint32_t add_host_task(struct building *building, uint32_t track, uint32_t last,
                              int64_t from_ns, int64_t to_ns)
{
    uint32_t task = add_task(building, TASK_HOST, to_ns - from_ns);
    int64_t class_ns[HOST_CLASS_COUNT] = {0};

    if (to_ns > from_ns)
        host_activity_split(&building->activity, track, NO_EVENT, (int64_t[2]){from_ns, to_ns},
                            class_ns);
    building->out->tasks[task].data_ns = class_ns[HOST_DATA];
    if (to_ns > from_ns)
        building->out->tasks[task].recompute_ns =
            marked_ns(&building->recomputing, track, (int64_t[2]){from_ns, to_ns});
    if (last != NO_EVENT)
        task_graph_need(&building->out->graph, task, last);
    return task;
}

static enum trace_task_kind task_kind_of_cut(const struct host_cut *cut)
{
    switch ((enum cut_kind)cut->kind) {
    case CUT_LAUNCH:
        return TASK_CALL;
    case CUT_SYNC:
        return TASK_SYNC;
    case CUT_HANDS_OVER:
    case CUT_TAKES_OVER:
    case CUT_END:
        break;
    }
    return TASK_HOST;
}

static void add_thread_tasks(struct building *building)
{
    struct trace_graph *out = building->out;
    uint32_t last = NO_EVENT;
    int64_t at_ns = 0;

    for (size_t i = 0; i < building->cuts.count; i++) {
        const struct host_cut *cut = &building->cuts.cuts[i];
        int64_t until_ns = cut->kind == CUT_TAKES_OVER ? cut->idle_since_ns : cut->start_ns;
        uint32_t task;

        if (i == 0 || cut[-1].track != cut->track) {
            last = NO_EVENT;
            at_ns = building->range_ns[0];
        }
        last = add_host_task(building, cut->track, last, at_ns, until_ns);
        at_ns = later_of(at_ns, cut->start_ns);
        building->before_cut[i] = last;
        task = add_task(building, task_kind_of_cut(cut), cut->end_ns - at_ns);
        if (marked_ns(&building->recomputing, cut->track,
                      (int64_t[2]){cut->start_ns, cut->start_ns + 1}) > 0)
            out->tasks[task].recompute_ns = out->tasks[task].duration_ns;
        task_graph_need(&out->graph, task, last);
        building->task_of_cut[i] = task;
        if (cut->host_event != NO_EVENT)
            building->cut_of_host[cut->host_event] = (uint32_t)i;
        if (cut->kind == CUT_END)
            out->measured[out->measured_count++] = task;
        last = task;
        at_ns = later_of(at_ns, cut->end_ns);
    }
}

static void join_threads(struct building *building)
{
    for (size_t i = 0; i < building->cuts.count; i++) {
        const struct host_cut *cut = &building->cuts.cuts[i];
        const struct host_cut *partner;
        uint32_t hand_over;

        if (cut->kind != CUT_TAKES_OVER)
            continue;
        partner = &building->cuts.cuts[cut->partner];
        hand_over = add_task(building, TASK_HOST, cut->start_ns - partner->start_ns);
        task_graph_need(&building->out->graph, hand_over, building->task_of_cut[cut->partner]);
        task_graph_need(&building->out->graph, building->task_of_cut[i], hand_over);
    }
}

/* ---- work of the device ---- */

static void add_device_tasks(struct building *building)
{
    const struct trace *trace = building->trace;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (!building->is_chosen[i])
            continue;
        building->task_of_event[i] = add_task(building, TASK_DEVICE, trace->device[i].duration_ns);
        building->out->tasks[building->task_of_event[i]].event = i;
        if (building->is_recomputed && trace_operator_of(trace, i) != NO_EVENT &&
            building->is_recomputed[trace_operator_of(trace, i)])
            building->out->tasks[building->task_of_event[i]].recompute_ns =
                trace->device[i].duration_ns;
    }
}

/* From a launching call to the device: as long as usual. A copy is different each time. */
static uint32_t launch_delay(struct building *building, uint32_t cut, uint32_t event)
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
    task_graph_need(&building->out->graph, task, building->before_cut[cut]);
    building->delay_of_cut[cut] = task;
    return task;
}

/* The work of another stream that ended last before `event` started, if it was just before. */
static uint32_t other_stream_before(const struct building *building, uint32_t event,
                                    const uint32_t *last_started)
{
    const struct trace *trace = building->trace;
    const struct event *device = trace->device;
    int64_t limit_ns = device[event].start_ns + clock_tolerance_ns;
    int64_t latest_ns = device[event].start_ns - longest_hand_over_ns;
    uint32_t found = NO_EVENT;

    for (uint32_t track = 0; track < trace->track_count; track++) {
        uint32_t last = last_started[track];

        if (last == NO_EVENT || track == device[event].track)
            continue;
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
 * after it did: the device had no room for both. */
static uint32_t full_device_before(const struct building *building, uint32_t event, int64_t free_ns,
                                   const uint32_t *last_started)
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

static void need_all(struct building *building, uint32_t task, const struct needs *needs)
{
    const uint32_t all[] = {needs->before, needs->launch, needs->other};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != NO_EVENT)
            task_graph_need(&building->out->graph, task, all[i]);
}

/* The task that ends when `running`, which starts as recorded, leaves room for `event`. */
static uint32_t add_room(struct building *building, uint32_t running, uint32_t event)
{
    const struct event *device = building->trace->device;
    uint32_t room =
        add_task(building, TASK_ROOM, device[event].start_ns - device[running].start_ns);
    const struct trace_task *task = &building->out->tasks[building->task_of_event[running]];

    building->out->tasks[room].event = running;
    building->out->tasks[room].recompute_ns = task->recompute_ns;
    building->out->tasks[room].delay_ns = task->delay_ns;
    building->out->tasks[room].floor_ns = task->floor_ns;
    need_all(building, room, &building->needs[running]);
    return room;
}

/* What held `event` up, which could have started at `free_ns`: its task, or NO_EVENT, and how long
 * after that it started. */
static uint32_t what_held_up(struct building *building, uint32_t event, int64_t free_ns,
                             const uint32_t *last_started, int64_t *delay_ns)
{
    const struct event *device = building->trace->device;
    uint32_t other = other_stream_before(building, event, last_started);

    if (other != NO_EVENT) {
        *delay_ns = later_of(device[event].start_ns - event_end_ns(&device[other]), 0);
        return building->task_of_event[other];
    }
    other = full_device_before(building, event, free_ns, last_started);
    if (other == NO_EVENT)
        return NO_EVENT;
    *delay_ns = 0;
    return add_room(building, other, event);
}

/* What one piece of work waits for, and how long after it starts. */
static void link_device_task(struct building *building, uint32_t event,
                             const uint32_t *last_started)
{
    const struct trace *trace = building->trace;
    const struct event *device = trace->device;
    struct needs *needs = &building->needs[event];
    uint32_t task = building->task_of_event[event], before = event_before(building, event);
    uint32_t launch = trace->launch[event];
    uint32_t cut = launch == NO_EVENT ? NO_EVENT : building->cut_of_host[launch];
    int64_t start_ns = device[event].start_ns, delay_ns = building->gap_ns, free_ns = INT64_MIN;
    int64_t arrived_ns = INT64_MIN;

    *needs = (struct needs){NO_EVENT, NO_EVENT, NO_EVENT};
    if (before == NO_EVENT && cut == NO_EVENT) {
        building->out->tasks[task].floor_ns = start_ns - building->range_ns[0];
        return;
    }
    if (before != NO_EVENT) {
        needs->before = building->task_of_event[before];
        free_ns = event_end_ns(&device[before]);
    }
    if (cut != NO_EVENT) {
        needs->launch = launch_delay(building, cut, event);
        arrived_ns = building->cuts.cuts[cut].start_ns + building->gap_ns +
                     building->out->tasks[needs->launch].duration_ns;
    }
    if (free_ns >= arrived_ns && start_ns - free_ns <= longest_hand_over_ns)
        delay_ns = later_of(start_ns - free_ns, 0);
    else if (start_ns - later_of(free_ns, arrived_ns) > longest_hand_over_ns)
        needs->other =
            what_held_up(building, event, later_of(free_ns, arrived_ns), last_started, &delay_ns);
    need_all(building, task, needs);
    if (cut == NO_EVENT && launch != NO_EVENT)
        building->out->tasks[task].floor_ns = start_ns - building->range_ns[0] - delay_ns;
    building->out->tasks[task].delay_ns = delay_ns;
}

static void link_device_tasks(struct building *building)
{
    const struct trace *trace = building->trace;
    uint32_t *last_started =
        require_memory(malloc((trace->track_count + (size_t)1) * sizeof *last_started));

    memset(last_started, 0xff, (trace->track_count + (size_t)1) * sizeof *last_started);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (!building->is_chosen[i])
            continue;
        link_device_task(building, i, last_started);
        last_started[trace->device[i].track] = i;
    }
    free(last_started);
}

/* ---- calls that wait ---- */

/* The last work on the stream that was launched before `launched_ns` and had ended at `end_ns`. */
static uint32_t last_ended(const struct building *building, const struct stream *stream,
                           int64_t launched_ns, int64_t end_ns)
{
    const struct event *device = building->trace->device;
    uint32_t low = 0, high = stream->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (event_end_ns(&device[stream->events[middle]]) <= end_ns + clock_tolerance_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0 && launch_start_ns(building->trace, stream->events[low - 1]) >= launched_ns)
        low--;
    return low == 0 ? NO_EVENT : stream->events[low - 1];
}

/* The cut's task returns after `event` has ended. */
static void wait_for_event(struct building *building, uint32_t task, uint32_t event)
{
    uint32_t wait = add_task(building, TASK_WAIT, 0);

    task_graph_need(&building->out->graph, wait, building->task_of_event[event]);
    task_graph_need(&building->out->graph, task, wait);
}

static void link_sync(struct building *building, size_t at)
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
 * of work that had not started. */
static uint32_t event_waited_for(const struct building *building, const struct host_cut *cut,
                                 uint32_t event)
{
    const struct event *device = building->trace->device;
    const struct stream *stream = &building->streams[device[event].track];
    uint32_t last;

    if (device[event].kind == EVENT_MEMCPY &&
        event_end_ns(&device[event]) <= cut->end_ns + clock_tolerance_ns)
        return event;
    if (cut->end_ns - cut->start_ns < shortest_blocked_launch_ns)
        return NO_EVENT;
    last = last_ended(building, stream, cut->start_ns, cut->end_ns);
    return last != NO_EVENT && building->place[event] >= building->place[last] + FULL_QUEUE
               ? last
               : NO_EVENT;
}

static void link_waiting_calls(struct building *building)
{
    const struct trace *trace = building->trace;
    uint32_t seen = NO_EVENT;

    for (size_t i = 0; i < building->cuts.count; i++)
        if (building->cuts.cuts[i].kind == CUT_SYNC)
            link_sync(building, i);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t cut = trace->launch[i] == NO_EVENT || !building->is_chosen[i]
                           ? NO_EVENT
                           : building->cut_of_host[trace->launch[i]];
        uint32_t event, task;

        if (cut == NO_EVENT || cut == seen)
            continue;
        event = event_waited_for(building, &building->cuts.cuts[cut], i);
        if (event == NO_EVENT)
            continue;
        seen = cut;
        task = building->task_of_cut[cut];
        building->out->tasks[task].kind = TASK_SYNC;
        building->out->tasks[task].duration_ns =
            later_of(building->cuts.cuts[cut].end_ns - later_of(event_end_ns(&trace->device[event]),
                                                                building->cuts.cuts[cut].start_ns),
                     0);
        wait_for_event(building, task, event);
    }
}

/* ---- all of it ---- */

static void measure_ends(struct building *building)
{
    struct trace_graph *out = building->out;
    const struct trace *trace = building->trace;
    const struct step_window *last = &out->ledger->steps[out->ledger->step_count - 1].window;
    int64_t end_ns = last->track == NO_EVENT ? building->range_ns[0] : last->end_ns;

    for (uint32_t i = 0; i < trace->track_count; i++) {
        const struct stream *stream = &building->streams[i];
        uint32_t event;

        if (stream->count == 0)
            continue;
        event = stream->events[stream->count - 1];
        out->measured[out->measured_count++] = building->task_of_event[event];
        end_ns = later_of(end_ns, event_end_ns(&trace->device[event]));
    }
    out->recorded_ns = end_ns - building->range_ns[0];
}

static uint32_t *no_events(size_t count)
{
    uint32_t *events = require_memory(malloc((count + 1) * sizeof *events));

    memset(events, 0xff, (count + 1) * sizeof *events);
    return events;
}

static void begin_building(struct building *building)
{
    const struct trace *trace = building->trace;
    const struct ledger *ledger = building->out->ledger;

    building->is_chosen = require_memory(calloc(trace->device_count + (size_t)1, 1));
    building->task_of_event = no_events(trace->device_count);
    building->place = no_events(trace->device_count);
    building->cut_of_host = no_events(trace->host_count);
    building->needs =
        require_memory(calloc(trace->device_count + (size_t)1, sizeof *building->needs));
    host_activity_init(&building->activity, trace);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        if (ledger->steps[i].window.name)
            host_activity_leave_out(&building->activity, ledger->steps[i].window.name);
    find_range(building);
    choose_events(building);
    find_host_cuts(&building->cuts, ledger, &building->activity, building->range_ns,
                   building->is_chosen);
    building->before_cut = no_events(building->cuts.count);
    building->task_of_cut = no_events(building->cuts.count);
    building->delay_of_cut = no_events(building->cuts.count);
}

static void end_building(struct building *building)
{
    for (uint32_t i = 0; i < building->trace->track_count; i++)
        free(building->streams[i].events);
    free(building->streams);
    free(building->is_chosen);
    free(building->task_of_event);
    free(building->place);
    free(building->needs);
    free(building->cut_of_host);
    free(building->before_cut);
    free(building->task_of_cut);
    free(building->delay_of_cut);
    host_cuts_clear(&building->cuts);
    marked_time_clear(&building->recomputing);
    host_activity_clear(&building->activity);
}

void trace_graph_build(struct trace_graph *graph, const struct recorded_steps *steps)
{
    const struct trace *trace = steps->trace;
    struct building building = {
        .out = graph, .trace = trace, .is_recomputed = steps->is_recomputed};
    uint32_t stuck;

    graph->trace = trace;
    graph->ledger = steps->ledger;
    find_marked_time(&building.recomputing, trace, steps->is_recomputed);
    graph->measured =
        require_memory(calloc(trace->track_count + (size_t)2, sizeof *graph->measured));
    begin_building(&building);
    graph->start_ns = building.range_ns[0];
    find_usual_times(&building);
    add_device_tasks(&building);
    add_thread_tasks(&building);
    join_threads(&building);
    link_device_tasks(&building);
    link_waiting_calls(&building);
    measure_ends(&building);
    end_building(&building);
    graph->is_circular = !task_graph_finish(&graph->graph, &stuck);
}

void trace_graph_clear(struct trace_graph *graph)
{
    task_graph_clear(&graph->graph);
    free(graph->tasks);
    free(graph->measured);
    *graph = (struct trace_graph){0};
}
