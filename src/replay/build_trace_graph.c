/* The dependencies of one recorded run: who may start, and who ends, is in trace_graph.h; here the
 * tasks of the host threads, and what is made of them in which order; and which times of the host
 * go once launches that follow each other are one CUDA graph. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/search.h"
#include "replay/graph_building.h"
#include "replay/trace_graph.h"
#include "trace/name_answers.h"

#include <stdlib.h>
#include <string.h>

/* A run of launches, with nothing between them that a graph cannot hold. */
struct capture {
    const struct graph_building *building;
    uint8_t *is_outside; /* [cuts]: a launch that no graph holds */
    uint32_t next_step;  /* the first that starts after the last cut */
    uint32_t track;
    bool is_open;
};

/* A graph reads and writes the same memory each time, and pageable memory not at all. */
static void find_launches_outside(struct capture *capture)
{
    const struct graph_building *building = capture->building;
    const struct trace *trace = building->trace;

    capture->is_outside = require_memory(calloc(building->cuts.count + 1, 1));
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t cut = building->cut_of_event[i];

        if (cut != NO_EVENT && trace->device[i].kind == EVENT_MEMCPY &&
            strstr(trace_text(trace, trace->device[i].name), "Pageable"))
            capture->is_outside[cut] = 1;
    }
}

/* Whether a step begins between the last cut of the thread and this one. One graph replays one
 * step's launches; a run does not go on into the next step, since the loop between them is
 * Python that stays. */
static bool enters_step(struct capture *capture, const struct host_cut *cut)
{
    const struct ledger *ledger = capture->building->out->ledger;
    uint32_t before = capture->next_step;

    while (capture->next_step < ledger->step_count &&
           ledger->steps[capture->next_step].window.mark_start_ns <= cut->start_ns)
        capture->next_step++;
    return capture->next_step > before;
}

/* Takes the cut into the run that is open, opens one, or ends it. `host`: the thread's task before
 * the cut. The first launch of a run stays, as the launch of the graph itself; what follows
 * goes. A wait or a copy of pageable memory ends the run, since capture forbids them
 * (cudaErrorStreamCaptureUnsupported), as does loading a batch. */
static void collect_cut(struct capture *capture, size_t at, uint32_t host)
{
    const struct graph_building *building = capture->building;
    const struct host_cut *cut = &building->cuts.cuts[at];

    if (at == 0 || cut->track != capture->track)
        capture->next_step = 0;
    if (enters_step(capture, cut) || cut->track != capture->track ||
        trace_task_time(building->out->data_ns, host) > 0)
        capture->is_open = false;
    capture->track = cut->track;
    if (cut->kind == CUT_SYNC || capture->is_outside[at]) {
        capture->is_open = false;
        return;
    }
    building->out->tasks[host].is_captured = capture->is_open;
    if (cut->kind != CUT_LAUNCH)
        return;
    building->out->tasks[building->task_of_cut[at]].is_captured = capture->is_open;
    capture->is_open = true;
}

void mark_captured_tasks(struct graph_building *building)
{
    struct capture capture = {.building = building, .track = NO_EVENT};

    find_launches_outside(&capture);
    for (size_t i = 0; i < building->cuts.count; i++)
        collect_cut(&capture, i, task_before_cut(building, i));
    free(capture.is_outside);
}

/* Who did a task of the host, and when it was done. */
static void place_host_task(struct graph_building *building, uint32_t task, uint32_t track,
                            int64_t end_ns)
{
    building->out->tasks[task].whose = track & TRACE_TASK_WHOSE_MAX;
    building->out->tasks[task].end_ns = end_ns - building->range_ns[0];
}

/* ---- what is replayed ---- */

/* From the first step to the last; without steps, from the first launch. From the mark of the
 * first step or its window, whichever is earlier: by the device's clock a window begins after
 * its launches, and these must be in the graph. Without a thread of steps the first launch is
 * where the host's part begins. */
static void find_range(struct graph_building *building)
{
    const struct ledger *ledger = building->out->ledger;
    const struct step_window *first = &ledger->steps[0].window;
    const struct trace *trace = building->trace;

    building->range_ns[0] =
        first->mark_start_ns < first->start_ns ? first->mark_start_ns : first->start_ns;
    building->range_ns[1] = ledger->steps[ledger->step_count - 1].window.end_ns;
    for (uint32_t i = 0; i < trace->device_count && first->track == NO_EVENT; i++)
        if (trace->tracks[trace->device[i].track].device == ledger->device &&
            launch_start_ns(trace, i) < building->range_ns[0])
            building->range_ns[0] = launch_start_ns(trace, i);
}

/* Work of the device that was launched in the steps, or before them and runs into them. Two
 * passes: places in their streams, then the streams' lists, as each list is allocated once.
 * Events are in order of start, so are the lists. */
static void choose_events(struct graph_building *building)
{
    const struct trace *trace = building->trace;
    int32_t device = building->out->ledger->device;

    building->streams =
        require_memory(calloc(trace->track_count + (size_t)1, sizeof *building->streams));
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        /* By the end of its work and the begin of its launch: what was launched before and
         * still runs holds up the steps, what is launched behind them does not. */
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

/* ---- host threads ---- */

/* The thread's own time from `from_ns` to `to_ns`, after `last`. Loading and recomputing are
 * told of each task, since scenarios change them by factors of their own (changed_duration). */
static uint32_t add_host_task(struct graph_building *building, uint32_t track, uint32_t last,
                              int64_t from_ns, int64_t to_ns)
{
    uint32_t task = add_task(building, TASK_HOST, to_ns - from_ns);
    int64_t class_ns[HOST_CLASS_COUNT] = {0};

    if (to_ns > from_ns)
        host_activity_split(&building->activity, track, NO_EVENT, (int64_t[2]){from_ns, to_ns},
                            class_ns);
    place_host_task(building, task, track, later_of(from_ns, to_ns));
    trace_task_set(&building->out->data_ns, task, class_ns[HOST_DATA]);
    if (to_ns > from_ns)
        trace_task_set(&building->out->recompute_ns, task,
                       marked_ns(&building->recomputing, track, (int64_t[2]){from_ns, to_ns}));
    if (last != NO_EVENT)
        task_graph_need(&building->out->graph, task, last);
    return task;
}

/* Only calls that launch or wait are tasks of a kind of their own; every other cut ends a
 * piece of plain host work. */
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

/* A thread's time is cut at its calls: between two cuts is a host task, at the cut a call,
 * each needing the one before, so that a thread's tasks sum to its time. Cuts are sorted by
 * thread, so one walk is enough. */
static void add_thread_tasks(struct graph_building *building)
{
    struct trace_graph *out = building->out;
    uint32_t last = NO_EVENT;
    int64_t at_ns = 0;

    for (size_t i = 0; i < building->cuts.count; i++) {
        const struct host_cut *cut = &building->cuts.cuts[i];
        int64_t until_ns = cut->kind == CUT_TAKES_OVER ? cut->idle_since_ns : cut->start_ns;
        int64_t end_ns = host_cut_end_ns(cut);
        uint32_t task;

        if (i == 0 || cut[-1].track != cut->track) {
            last = NO_EVENT;
            at_ns = building->range_ns[0];
        }
        last = add_host_task(building, cut->track, last, at_ns, until_ns);
        at_ns = later_of(at_ns, cut->start_ns);
        task = add_task(building, task_kind_of_cut(cut), end_ns - at_ns);
        /* A call lies in recomputation or outside: its first nanosecond tells. */
        if (marked_ns(&building->recomputing, cut->track,
                      (int64_t[2]){cut->start_ns, cut->start_ns + 1}) > 0)
            trace_task_set(&out->recompute_ns, task, out->tasks[task].duration_ns);
        task_graph_need(&out->graph, task, last);
        building->task_of_cut[i] = task;
        if (cut->kind == CUT_END)
            out->measured[out->measured_count++] = task;
        last = task;
        at_ns = later_of(at_ns, end_ns);
        place_host_task(building, task, cut->track, at_ns);
    }
}

/* The hand-over takes what the recording shows between one thread's falling silent and the
 * other's waking; both threads keep their order besides. */
static void join_threads(struct graph_building *building)
{
    for (size_t i = 0; i < building->cuts.count; i++) {
        const struct host_cut *cut = &building->cuts.cuts[i];
        const struct host_cut *partner;
        uint32_t hand_over;

        if (cut->kind != CUT_TAKES_OVER)
            continue;
        partner = &building->cuts.cuts[cut->partner];
        hand_over = add_task(building, TASK_HOST, cut->start_ns - partner->start_ns);
        place_host_task(building, hand_over, NO_EVENT, cut->start_ns);
        task_graph_need(&building->out->graph, hand_over, building->task_of_cut[cut->partner]);
        task_graph_need(&building->out->graph, building->task_of_cut[i], hand_over);
    }
}

/* ---- all of it ---- */

/* What is measured ends the run: the thread of the steps, and the last work of each stream,
 * since either may be last. */
static void measure_ends(struct graph_building *building)
{
    struct trace_graph *out = building->out;
    const struct trace *trace = building->trace;
    const struct step_window *last = &out->ledger->steps[out->ledger->step_count - 1].window;
    int64_t end_ns = last->track == NO_EVENT ? building->range_ns[0] : last->end_ns;

    for (uint32_t i = 0; i < trace->track_count; i++) {
        const struct graph_stream *stream = &building->streams[i];
        uint32_t event;

        if (stream->count == 0)
            continue;
        event = stream->events[stream->count - 1];
        out->measured[out->measured_count++] = building->out->task_of_event[event];
        end_ns = later_of(end_ns, event_end_ns(&trace->device[event]));
    }
    out->recorded_ns = end_ns - building->range_ns[0];
}

static uint32_t *no_events(size_t count)
{
    uint32_t *events = large_array_in_memory((count + 1) * sizeof *events);

    memset(events, 0xff, (count + 1) * sizeof *events);
    return events;
}

/* Where the call is cut: near the last one looked up, mostly. */
static uint32_t cut_of_call(const struct graph_building *building, uint32_t call, size_t last)
{
    enum { LOOKED_AT = 8 };
    const struct event *event = &building->trace->host[call];
    const struct host_cut *cuts = building->cuts.cuts;
    size_t count = building->cuts.count;

    for (size_t i = last; i < count && i < last + LOOKED_AT; i++)
        if (is_cut_at_call(&cuts[i], call))
            return (uint32_t)i;
    for (size_t i = LOWER_BOUND(k, 0, count,
                                cuts[k].track != event->track ? cuts[k].track < event->track
                                                              : cuts[k].start_ns < event->start_ns);
         i < count && cuts[i].track == event->track && cuts[i].start_ns == event->start_ns; i++)
        if (is_cut_at_call(&cuts[i], call))
            return (uint32_t)i;
    return NO_EVENT;
}

/* By the work, of which there is far less than of host events. */
static void find_cuts_of_events(struct graph_building *building)
{
    const struct trace *trace = building->trace;
    uint32_t last = 0;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (trace->launch[i] == NO_EVENT || !building->is_chosen[i])
            continue;
        building->cut_of_event[i] = cut_of_call(building, trace->launch[i], last);
        if (building->cut_of_event[i] != NO_EVENT)
            last = building->cut_of_event[i];
    }
}

/* Marks of steps are left out of the host's activity, since they would make all time
 * "annotated". */
static void begin_building(struct graph_building *building)
{
    const struct trace *trace = building->trace;
    const struct ledger *ledger = building->out->ledger;

    building->is_chosen = require_memory(calloc(trace->device_count + (size_t)1, 1));
    building->out->task_of_event = no_events(trace->device_count);
    building->place = no_events(trace->device_count);
    building->cut_of_event = no_events(trace->device_count);
    building->first_edge =
        large_array_new((trace->device_count + (size_t)1) * sizeof *building->first_edge);
    host_activity_init(&building->activity, trace);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        host_activity_leave_out(&building->activity, ledger->steps[i].window.name);
    host_activity_know(&building->activity, ledger->activity);
    find_range(building);
    choose_events(building);
    find_host_cuts(&building->cuts, ledger, &building->activity, building->range_ns,
                   building->is_chosen);
    find_cuts_of_events(building);
    building->task_of_cut = no_events(building->cuts.count);
    building->delay_of_cut = no_events(building->cuts.count);
}

/* What is kept is in `out`; all of this was for building it. */
static void end_building(struct graph_building *building)
{
    for (uint32_t i = 0; i < building->trace->track_count; i++)
        free(building->streams[i].events);
    free(building->streams);
    free(building->is_chosen);
    large_array_free(building->place);
    large_array_free(building->first_edge);
    large_array_free(building->cut_of_event);
    large_array_free(building->task_of_cut);
    large_array_free(building->delay_of_cut);
    host_cuts_clear(&building->cuts);
    marked_time_clear(&building->recomputing);
    host_activity_clear(&building->activity);
}

static bool is_name_of_own_loader(const char *name)
{
    return makes_batches_itself(name) && is_data_loading(name);
}

/* A loader without workers makes batches on the launching thread; only then does moving it to
 * workers free time, see loader_moves(). */
static bool loads_itself(const struct trace *trace)
{
    struct name_answers own_loaders = {.ask = is_name_of_own_loader};
    bool is_named = false, has_one = false;

    for (uint32_t id = 0; id < string_pool_count(&trace->strings) && !is_named; id++)
        is_named = name_answer(&own_loaders, trace, id);
    for (uint32_t i = 0; i < trace->host_count && is_named && !has_one; i++) {
        const struct event *event = &trace->host[i];

        has_one = (event->kind == EVENT_OPERATOR || event->kind == EVENT_ANNOTATION) &&
                  name_answer(&own_loaders, trace, event->name);
    }
    free(own_loaders.answers);
    return has_one;
}

/* What is told of some tasks gets a place for each; what is told of none stays NULL. */
static void lay_out_terms(struct trace_graph *graph)
{
    int64_t **terms[] = {&graph->floors_ns, &graph->data_ns, &graph->recompute_ns};

    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        if (*terms[i])
            LARGE_ARRAY_RESERVE(*terms[i], graph->graph.task_count + 1);
}

/* The device's tasks first, as their numbers are what cuts link to; links last, when both
 * sides have tasks. A graph with a circle (damaged times, wrong links) is not replayed:
 * is_circular. */
void trace_graph_build(struct trace_graph *graph, const struct recorded_steps *steps)
{
    const struct trace *trace = steps->trace;
    struct graph_building building = {
        .out = graph, .trace = trace, .is_recomputed = steps->is_recomputed};
    uint32_t stuck;

    graph->trace = trace;
    graph->ledger = steps->ledger;
    graph->loads_itself = loads_itself(trace);
    /* Time that recomputes is known by the operators before any task is cut, as a task may be
     * half of it. */
    find_marked_time(&building.recomputing, trace, steps->is_recomputed);
    graph->measured =
        require_memory(calloc(trace->track_count + (size_t)2, sizeof *graph->measured));
    begin_building(&building);
    graph->start_ns = building.range_ns[0];
    add_device_tasks(&building);
    add_thread_tasks(&building);
    join_threads(&building);
    mark_captured_tasks(&building);
    link_device_tasks(&building);
    link_waiting_calls(&building);
    measure_ends(&building);
    end_building(&building);
    if (graph->tasks)
        large_array_trim(graph->tasks, graph->graph.task_count * sizeof *graph->tasks);
    graph->is_circular = !task_graph_finish(&graph->graph, &stuck);
    lay_out_terms(graph);
}

void trace_graph_clear(struct trace_graph *graph)
{
    task_graph_clear(&graph->graph);
    large_array_free(graph->tasks);
    large_array_free(graph->floors_ns);
    large_array_free(graph->data_ns);
    large_array_free(graph->recompute_ns);
    free(graph->measured);
    large_array_free(graph->task_of_event);
    *graph = (struct trace_graph){0};
}
