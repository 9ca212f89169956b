/* What the files that make a trace_graph share: tasks, and when work was launched. */
#include "replay/graph_building.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- marked time ----------------------------------------------------------------------------- */

/* When host threads were inside events of a kind: for asking how much of a stretch was. */

/* Marked events nest; the union per thread is kept, as host events come by thread and start.
 * Then the time in a range is a search and a short walk. */
void find_marked_time(struct marked_time *time, const struct trace *trace, const uint8_t *is_marked)
{
    size_t count = 0;

    for (uint32_t i = 0; is_marked && i < trace->host_count; i++)
        count += is_marked[i];
    time->intervals = require_memory(calloc(count + 1, sizeof *time->intervals));
    for (uint32_t i = 0; is_marked && i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        struct marked_interval *last = time->count ? &time->intervals[time->count - 1] : NULL;

        if (!is_marked[i])
            continue;
        if (last && last->track == event->track && event->start_ns <= last->end_ns) {
            if (event_end_ns(event) > last->end_ns)
                last->end_ns = event_end_ns(event);
            continue;
        }
        time->intervals[time->count++] =
            (struct marked_interval){event->track, event->start_ns, event_end_ns(event)};
    }
}

/* The first stretch that ends after `time_ns` on the track, or lies behind it. */
static size_t first_after(const struct marked_time *time, uint32_t track, int64_t time_ns)
{
    const struct marked_interval *intervals = time->intervals;

    return LOWER_BOUND(i, 0, time->count,
                       intervals[i].track != track ? intervals[i].track < track
                                                   : intervals[i].end_ns <= time_ns);
}

/* Intervals are sorted by track and start, so that the walk ends at the first that is beyond. */
int64_t marked_ns(const struct marked_time *time, uint32_t track, const int64_t range_ns[2])
{
    int64_t sum_ns = 0;

    for (size_t i = first_after(time, track, range_ns[0]); i < time->count; i++) {
        const struct marked_interval *interval = &time->intervals[i];
        int64_t start_ns = interval->start_ns > range_ns[0] ? interval->start_ns : range_ns[0];
        int64_t end_ns = interval->end_ns < range_ns[1] ? interval->end_ns : range_ns[1];

        if (interval->track != track || interval->start_ns >= range_ns[1])
            break;
        sum_ns += end_ns - start_ns;
    }
    return sum_ns;
}

void marked_time_clear(struct marked_time *time)
{
    free(time->intervals);
    *time = (struct marked_time){0};
}

/* ---- cuts of the host's time ----------------------------------------------------------------- */

/* Where the course of the host threads that drive a device is cut: at the calls that launch work or
 * wait for it, and where one thread hands over to another. */

/* Silence shorter than this is part of what the thread does. */
static const int64_t shortest_silence_ns = 20000;

static void add_cut(struct host_cuts *cuts, struct host_cut cut)
{
    LARGE_ARRAY_ADD(cuts->cuts, cuts->count, cut);
}

/* Longer first at one start: a call that encloses another comes before it, as everywhere in
 * traces. */
static int compare_cuts(const void *left, const void *right)
{
    const struct host_cut *a = left, *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (host_cut_end_ns(a) != host_cut_end_ns(b))
        return host_cut_end_ns(a) > host_cut_end_ns(b) ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Cuts come in order but for the last of them, so these alone are sorted, and put among the rest.
 */
static void sort_cuts(struct host_cuts *cuts)
{
    struct host_cut *late;
    size_t sorted = cuts->count > 0;
    size_t left, to, count;

    /* As far as the cuts are in order already. */
    while (sorted < cuts->count && compare_cuts(&cuts->cuts[sorted - 1], &cuts->cuts[sorted]) <= 0)
        sorted++;
    count = cuts->count - sorted;
    if (count == 0)
        return;
    qsort(cuts->cuts + sorted, count, sizeof *cuts->cuts, compare_cuts);
    late = array_resize(NULL, count, sizeof *late);
    memcpy(late, cuts->cuts + sorted, count * sizeof *late);
    left = sorted;
    to = cuts->count;
    while (count > 0)
        /* From the end, so that nothing is written over that is still to be moved. */
        cuts->cuts[--to] = left > 0 && compare_cuts(&cuts->cuts[left - 1], &late[count - 1]) > 0
                               ? cuts->cuts[--left]
                               : late[--count];
    free(late);
}

/* ---- calls ---- */

/* Threads are cut where something of the device depends on them or they on it: at launches and
 * at calls that wait. Between two cuts the host's time is one piece, so that the graph grows
 * with calls and not with events. */
static void host_cuts_add_calls(struct host_cuts *cuts, struct host_activity *activity,
                                const int64_t range_ns[2], const uint8_t *is_launch)
{
    const struct trace *trace = activity->trace;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        bool is_sync =
            event->kind == EVENT_RUNTIME_CALL && host_activity_class(activity, event) == HOST_SYNC;

        if (event->start_ns < range_ns[0] || event->start_ns >= range_ns[1])
            continue;
        if (is_launch[i] || is_sync)
            add_cut(cuts, (struct host_cut){.start_ns = event->start_ns,
                                            .end_ns = event_end_ns(event),
                                            .track = event->track,
                                            .host_event = i,
                                            .kind = is_launch[i] ? CUT_LAUNCH : CUT_SYNC});
    }
}

/* ---- hand-overs ---- */

struct busy_interval {
    int64_t start_ns;
    int64_t end_ns;
};

/* When a thread does anything that is recorded. */
struct busy_thread {
    uint32_t track;
    struct busy_interval *intervals; /* [count] */
    size_t count;
};

struct busy_threads {
    struct busy_thread *threads; /* [count] */
    size_t count;
};

/* Ranges and Python frames say nothing: they are open while the thread waits for another. */
static bool is_doing(enum host_class class)
{
    return class != HOST_NOTHING && class != HOST_ANNOTATION && class != HOST_PYTHON;
}

/* Short silences are bridged: a thread between two operators is not asleep. */
static void note_busy(void *context, enum host_class class, int64_t start_ns, int64_t end_ns)
{
    struct busy_thread *thread = context;

    if (!is_doing(class))
        return;
    if (thread->count > 0 &&
        start_ns - thread->intervals[thread->count - 1].end_ns < shortest_silence_ns) {
        thread->intervals[thread->count - 1].end_ns = end_ns;
        return;
    }
    LARGE_ARRAY_ADD(thread->intervals, thread->count, (struct busy_interval){start_ns, end_ns});
}

/* Cuts are sorted by track: each thread comes once. */
static void find_busy_threads(struct busy_threads *busy, const struct host_cuts *cuts,
                              struct host_activity *activity, const int64_t range_ns[2])
{
    busy->threads =
        require_memory(calloc(activity->trace->track_count + (size_t)1, sizeof *busy->threads));
    for (size_t i = 0; i < cuts->count; i++) {
        uint32_t track = cuts->cuts[i].track;
        struct busy_thread *thread;

        if (busy->count > 0 && busy->threads[busy->count - 1].track == track)
            continue;
        thread = &busy->threads[busy->count++];
        thread->track = track;
        host_activity_walk(activity, track, NO_EVENT, range_ns,
                           &(struct host_piece_visitor){note_busy, thread});
    }
}

static void busy_threads_clear(struct busy_threads *busy)
{
    for (size_t i = 0; i < busy->count; i++)
        large_array_free(busy->threads[i].intervals);
    free(busy->threads);
}

/* When the thread last fell silent at or before `time_ns`; INT64_MIN where it is busy then, or was
 * never. */
static int64_t silent_since(const struct busy_thread *thread, int64_t time_ns)
{
    size_t low = LOWER_BOUND(i, 0, thread->count, thread->intervals[i].start_ns <= time_ns);

    if (low == 0 || thread->intervals[low - 1].end_ns > time_ns)
        return INT64_MIN;
    return thread->intervals[low - 1].end_ns;
}

/* A thread that begins again after a silence in which another fell silent was woken by that. The
 * one that fell silent last before the waking is the one that woke it: whoever fell silent
 * before that waited itself. Autograd's engine thread and the main thread take turns so in each
 * step. */
static void add_hand_over(struct host_cuts *cuts, const struct busy_threads *busy, size_t woken,
                          const int64_t silence_ns[2])
{
    int64_t last_ns = INT64_MIN;
    uint32_t waker = NO_EVENT;

    for (size_t i = 0; i < busy->count; i++) {
        int64_t since_ns = i == woken ? INT64_MIN : silent_since(&busy->threads[i], silence_ns[1]);

        if (since_ns > silence_ns[0] && since_ns > last_ns) {
            last_ns = since_ns;
            waker = busy->threads[i].track;
        }
    }
    if (waker == NO_EVENT)
        return;
    add_cut(cuts, (struct host_cut){.start_ns = last_ns,
                                    .end_ns = last_ns,
                                    .track = waker & EVENT_TRACK_MAX,
                                    .host_event = NO_EVENT,
                                    .kind = CUT_HANDS_OVER});
    add_cut(cuts, (struct host_cut){.start_ns = silence_ns[1],
                                    .idle_since_ns = silence_ns[0],
                                    .track = busy->threads[woken].track & EVENT_TRACK_MAX,
                                    .partner = waker,
                                    .kind = CUT_TAKES_OVER});
}

/* O(silences * threads * log): a trace has two or three launching threads. */
static void add_hand_overs(struct host_cuts *cuts, const struct busy_threads *busy, int64_t from_ns)
{
    for (size_t t = 0; t < busy->count; t++) {
        const struct busy_thread *thread = &busy->threads[t];

        for (size_t i = 0; i < thread->count; i++)
            add_hand_over(cuts, busy, t,
                          (int64_t[2]){i == 0 ? from_ns : thread->intervals[i - 1].end_ns,
                                       thread->intervals[i].start_ns});
    }
}

/* Until here partners are tracks, and the moment of the hand-over is the latest there. Made by
 * track and moment first, as places of cuts change while they are sorted. */
static void join_partners(struct host_cuts *cuts)
{
    for (size_t i = 0; i < cuts->count; i++) {
        struct host_cut *cut = &cuts->cuts[i];
        size_t low;

        if (cut->kind != CUT_TAKES_OVER)
            continue;
        low = LOWER_BOUND(k, 0, cuts->count,
                          cuts->cuts[k].track != cut->partner
                              ? cuts->cuts[k].track < cut->partner
                              : cuts->cuts[k].start_ns <= cut->start_ns);
        while (low > 0 && cuts->cuts[low - 1].kind != CUT_HANDS_OVER)
            low--;
        require_invariant(low > 0 && cuts->cuts[low - 1].track == cut->partner,
                          "who takes over has a partner who hands over");
        cut->partner = (uint32_t)low - 1;
    }
}

/* Of trace->host, whether it launched chosen work. */
static uint8_t *find_launches(const struct trace *trace, const uint8_t *is_chosen)
{
    uint8_t *is_launch = large_array_new(trace->host_count + (size_t)1);

    for (uint32_t i = 0; i < trace->device_count; i++)
        if (is_chosen[i] && trace->launch[i] != NO_EVENT)
            is_launch[trace->launch[i]] = 1;
    return is_launch;
}

/* The end of the last step is a cut of its own: no launch and no wait need be there. */
static void host_cuts_add_end(struct host_cuts *cuts, const struct ledger *ledger)
{
    const struct step_window *last = &ledger->steps[ledger->step_count - 1].window;

    if (last->track != NO_EVENT)
        add_cut(cuts, (struct host_cut){.start_ns = last->end_ns,
                                        .end_ns = last->end_ns,
                                        .track = last->track & EVENT_TRACK_MAX,
                                        .host_event = NO_EVENT,
                                        .kind = CUT_END});
}

/* Sorted twice: hand-overs are found between threads in order, and are then sorted in among
 * the calls. */
void find_host_cuts(struct host_cuts *cuts, const struct ledger *ledger,
                    struct host_activity *activity, const int64_t range_ns[2],
                    const uint8_t *is_chosen)
{
    uint8_t *is_launch = find_launches(activity->trace, is_chosen);
    struct busy_threads busy = {0};

    host_cuts_add_calls(cuts, activity, range_ns, is_launch);
    host_cuts_add_end(cuts, ledger);
    large_array_free(is_launch);
    sort_cuts(cuts);
    find_busy_threads(&busy, cuts, activity, range_ns);
    add_hand_overs(cuts, &busy, range_ns[0]);
    busy_threads_clear(&busy);
    sort_cuts(cuts);
    join_partners(cuts);
}

void host_cuts_clear(struct host_cuts *cuts)
{
    large_array_free(cuts->cuts);
    *cuts = (struct host_cuts){0};
}

/* ---- graph building -------------------------------------------------------------------------- */

/* A damaged duration below zero would let what follows start before it. */
uint32_t add_task(struct graph_building *building, enum trace_task_kind kind, int64_t duration_ns)
{
    struct trace_graph *out = building->out;
    uint32_t task = task_graph_add(&out->graph);

    LARGE_ARRAY_RESERVE(out->tasks, task + (size_t)1);
    out->tasks[task] = (struct trace_task){
        .duration_ns = later_of(duration_ns, 0), .kind = kind & 7, .whose = TRACE_TASK_WHOSE_MAX};
    return task;
}

/* A place that nobody writes to takes no memory. */
void trace_task_set(int64_t **times_ns, uint32_t task, int64_t ns)
{
    if (ns == trace_task_time(*times_ns, task))
        return;
    LARGE_ARRAY_RESERVE(*times_ns, task + (size_t)1);
    (*times_ns)[task] = ns;
}

int64_t trace_task_time(int64_t *times_ns, uint32_t task)
{
    return large_array_bytes(times_ns) / sizeof *times_ns > task ? times_ns[task] : 0;
}

int64_t launch_start_ns(const struct trace *trace, uint32_t event)
{
    uint32_t launch = trace->launch[event];

    return launch == NO_EVENT ? trace->device[event].start_ns : trace->host[launch].start_ns;
}

/* A kernel that fills the device until another starts, seen from the other: a task that starts
 * with the kernel, needs what it needs, and lasts until room was made. The kernel's own task
 * goes on to its end. */
uint32_t add_room(struct graph_building *building, uint32_t running, int64_t until_ns)
{
    uint32_t room =
        add_task(building, TASK_ROOM, until_ns - building->trace->device[running].start_ns);
    struct trace_graph *out = building->out;
    uint32_t task = out->task_of_event[running];

    out->tasks[room].whose = running & TRACE_TASK_WHOSE_MAX;
    trace_task_set(&out->recompute_ns, room, trace_task_time(out->recompute_ns, task));
    out->tasks[room].delay_ns = out->tasks[task].delay_ns;
    trace_task_set(&out->floors_ns, room, trace_task_time(out->floors_ns, task));
    for (size_t i = building->first_edge[running];
         i < out->graph.edge_count && out->graph.edges[i].after == task; i++)
        task_graph_need(&out->graph, room, out->graph.edges[i].before);
    return room;
}
