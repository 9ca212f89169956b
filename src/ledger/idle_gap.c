/* Why a device was idle: the next piece of work is found, then the call that launched it, then what
 * its thread did.
 *
 * A gap ends when the next work begins, so whatever held that work up is the gap's cause. Where its
 * launch came before the gap began, the work was there already and waited on the device (in a
 * graph, behind the hand-over of a queue, or for longer). Else the host was late: from the launch
 * on the gap is the launch's own latency, and before it what the launching thread did, cut at each
 * moment at which that changes, the most specific activity that is open counting
 * (docs/metrics/idle.md has the order). Without a launch, the step's thread is asked.
 *
 * What holds: the parts of a gap sum to the gap; one gap's cause does not hang on another's. O(log
 * n) for the next work, and O(changes of the thread in the gap). */
#include "ledger/idle_gap.h"

#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/search.h"
#include "base/text/prefix.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A shorter gap between kernels that were launched before is the device's own hand-over. */
enum { QUEUE_GAP_LIMIT_NS = 10000 };

static const enum account accounts_of_host_classes[HOST_CLASS_COUNT] = {
    [HOST_CAPTURE] = ACCOUNT_IDLE_CAPTURE,     [HOST_COMPILATION] = ACCOUNT_IDLE_COMPILATION,
    [HOST_DATA] = ACCOUNT_IDLE_DATA,           [HOST_SYNC] = ACCOUNT_IDLE_SYNC,
    [HOST_ALLOCATOR] = ACCOUNT_IDLE_ALLOCATOR, [HOST_GARBAGE] = ACCOUNT_IDLE_GARBAGE,
    [HOST_RUNTIME] = ACCOUNT_IDLE_RUNTIME,     [HOST_SYSTEM] = ACCOUNT_IDLE_SYSTEM,
    [HOST_OPERATOR] = ACCOUNT_IDLE_OPERATOR,   [HOST_ANNOTATION] = ACCOUNT_IDLE_ANNOTATION,
    [HOST_PYTHON] = ACCOUNT_IDLE_PYTHON,       [HOST_NOTHING] = ACCOUNT_IDLE_NOTHING,
};

enum account account_of_host_class(enum host_class class)
{
    return accounts_of_host_classes[class];
}

/* Marks the nodes of graph launches, all but the first of each. */
static void mark_graph_nodes(struct device_work *work)
{
    const struct trace *trace = work->trace;
    uint8_t *seen = large_array_new((size_t)trace->host_count + 1);
    bool *is_graph_name = require_memory(calloc(string_pool_count(&trace->strings), 1));

    for (uint32_t id = 0; id < string_pool_count(&trace->strings); id++)
        is_graph_name[id] = strstr(trace_text(trace, id), "GraphLaunch") != NULL;
    for (uint32_t i = 0; i < work->count; i++) {
        uint32_t launch = trace->launch[work->events[i]];

        if (launch == NO_EVENT || !is_graph_name[trace->host[launch].name])
            continue;
        work->is_in_graph[i] = seen[launch];
        seen[launch] = 1;
    }
    large_array_free(seen);
    free(is_graph_name);
}

/* The thread with the most launches; of equals the one that comes first in the trace. */
static void find_main_thread(struct device_work *work)
{
    const struct trace *trace = work->trace;
    uint32_t *launches = require_memory(calloc((size_t)trace->track_count + 1, sizeof(*launches)));
    uint32_t most = 0;

    work->main_thread = NO_EVENT;
    for (uint32_t i = 0; i < work->count; i++) {
        uint32_t launch = trace->launch[work->events[i]];

        if (launch != NO_EVENT)
            launches[trace->host[launch].track]++;
    }
    for (uint32_t track = 0; track < trace->track_count; track++) {
        if (launches[track] > most) {
            most = launches[track];
            work->main_thread = track;
        }
    }
    free(launches);
}

/* The first of those that are equal, so that the same trace has the same answer each time. */
uint32_t busiest_thread(const struct trace *trace)
{
    uint32_t best = NO_EVENT;

    for (uint32_t i = 0; i < trace->track_count; i++) {
        if (!trace->tracks[i].is_device && trace->tracks[i].event_count &&
            (best == NO_EVENT || trace->tracks[i].event_count > trace->tracks[best].event_count))
            best = i;
    }
    return best;
}

/* Events of one device, gathered once: each gap asks for its neighbors. */
void device_work_init(struct device_work *work, const struct trace *trace, int32_t device)
{
    *work = (struct device_work){.trace = trace, .main_thread = NO_EVENT};
    work->events = large_array_new(((size_t)trace->device_count + 1) * sizeof(*work->events));
    for (uint32_t i = 0; device >= 0 && i < trace->device_count; i++) {
        if (trace->tracks[trace->device[i].track].device == device)
            work->events[work->count++] = i;
    }
    work->is_in_graph = large_array_new((size_t)work->count + 1);
    mark_graph_nodes(work);
    find_main_thread(work);
}

void device_work_clear(struct device_work *work)
{
    large_array_free(work->events);
    large_array_free(work->is_in_graph);
    *work = (struct device_work){0};
}

/* Index in work->events of the first that starts at or after `time_ns`; work->count where none
 * does. */
static uint32_t first_from(struct device_work *work, int64_t time_ns)
{
    const struct event *device = work->trace->device;
    uint32_t low = work->found, high, step = 1;

    /* Gaps are asked in order of time mostly: from the last answer on, in doubling steps. */
    if (low > 0 && device[work->events[low - 1]].start_ns >= time_ns)
        low = 0;
    for (high = low; high < work->count && device[work->events[high]].start_ns < time_ns;) {
        low = high + 1;
        high = step < work->count - high ? high + step : work->count;
        step *= 2;
    }
    work->found = LOWER_BOUND(i, low, high, device[work->events[i]].start_ns < time_ns);
    return work->found;
}

/* The account with the largest part names the gap. Larger, not as large: of equal parts the
 * launch wins, then the class that is more specific, as they are attributed in that order. */
static void idle_gap_attribute(struct step_ledger *step, struct idle_gap *gap, enum account account,
                               int64_t *most_ns, int64_t ns)
{
    step->account_ns[account] += ns;
    if (ns > *most_ns) {
        *most_ns = ns;
        gap->main_account = account;
    }
}

/* The next work was launched before the gap began: it waits on the device. */
static enum account queued_account(const struct idle_gap *gap, bool is_in_graph)
{
    if (is_in_graph)
        return ACCOUNT_IDLE_GRAPH;
    return gap->end_ns - gap->start_ns < QUEUE_GAP_LIMIT_NS ? ACCOUNT_IDLE_QUEUE_GAP
                                                            : ACCOUNT_IDLE_QUEUED_WAIT;
}

/* What the host did in a gap: how much of each class, and when. */
struct host_part {
    int64_t class_ns[HOST_CLASS_COUNT];
    struct account_pieces *pieces;
    uint32_t step;
};

static void add_to_host_part(void *context, enum host_class class, int64_t start_ns, int64_t end_ns)
{
    struct host_part *part = context;

    part->class_ns[class] += end_ns - start_ns;
    account_pieces_add(part->pieces, (struct account_piece){start_ns, end_ns, part->step,
                                                            accounts_of_host_classes[class]});
}

/* The launch's own part is the one to beat: the gap's main account is what takes most of it. */
static void attribute_host_part(struct step_ledger *step, struct idle_gap *gap,
                                struct host_activity *activity, struct account_pieces *pieces,
                                int64_t until_ns)
{
    int64_t range_ns[2] = {gap->start_ns, until_ns};
    struct host_part part = {.pieces = pieces, .step = gap->step};
    struct host_piece_visitor visitor = {add_to_host_part, &part};
    int64_t *class_ns = part.class_ns;
    int64_t most_ns = gap->end_ns - until_ns;

    if (pieces)
        host_activity_walk(activity, gap->thread, step->window.track, range_ns, &visitor);
    else
        host_activity_split(activity, gap->thread, step->window.track, range_ns, class_ns);
    for (unsigned class = 0; class < HOST_CLASS_COUNT; class ++)
        idle_gap_attribute(step, gap, accounts_of_host_classes[class], &most_ns, class_ns[class]);
}

/* The device ends its work and the call returns at nearly the same moment, in either order by
 * some nanoseconds of clock conversion: the instant before counts, too. */
static bool is_in_sync(struct host_activity *activity, uint32_t thread, int64_t time_ns)
{
    return host_activity_is_just_open(activity, thread, (uint32_t)1 << HOST_SYNC, time_ns);
}

/* A synchronising call was open when the device ran dry, on the launching thread or on the step's.
 */
static bool is_opened_by_sync(const struct step_ledger *step, const struct idle_gap *gap,
                              struct host_activity *activity)
{
    if (is_in_sync(activity, gap->thread, gap->start_ns))
        return true;
    return step->window.track != gap->thread &&
           is_in_sync(activity, step->window.track, gap->start_ns);
}

int64_t find_gap_launch(struct idle_gap *gap, struct device_work *work, uint32_t step_track)
{
    const struct trace *trace = work->trace;
    uint32_t next = first_from(work, gap->end_ns);
    const struct event *launch;

    gap->next_event = next < work->count ? work->events[next] : NO_EVENT;
    gap->launch = gap->next_event == NO_EVENT ? NO_EVENT : trace->launch[gap->next_event];
    gap->thread = step_track == NO_EVENT ? work->main_thread : step_track;
    gap->main_account = ACCOUNT_IDLE_LAUNCH;
    if (gap->launch == NO_EVENT)
        return gap->end_ns;
    launch = &trace->host[gap->launch];
    gap->thread = launch->track;
    /* The work was there before the gap began, so the host cannot have held it up. */
    if (launch->start_ns < gap->start_ns)
        gap->main_account = queued_account(gap, work->is_in_graph[next] != 0);
    return launch->start_ns < gap->end_ns ? launch->start_ns : gap->end_ns;
}

void attribute_idle_gap(struct step_ledger *step, struct idle_gap *gap, struct device_work *work,
                        struct host_activity *activity)
{
    int64_t launch_ns = find_gap_launch(gap, work, step->window.track);
    enum account rest = gap->main_account; /* of what is behind the launch */

    /* What is idle at the end of a step is often the wait for the host to end it, with no next
     * work that could be blamed: it is reported beside the accounts, not as one. */
    if (gap->end_ns == step->window.end_ns)
        step->tail_ns += gap->end_ns - gap->start_ns;
    if (launch_ns < gap->start_ns) {
        step->account_ns[gap->main_account] += gap->end_ns - gap->start_ns;
        launch_ns = gap->start_ns;
    } else {
        step->account_ns[ACCOUNT_IDLE_LAUNCH] += gap->end_ns - launch_ns;
        if (is_opened_by_sync(step, gap, activity))
            step->sync_opened_ns += gap->end_ns - gap->start_ns;
        attribute_host_part(step, gap, activity, work->pieces, launch_ns);
    }
    if (work->pieces)
        account_pieces_add(work->pieces,
                           (struct account_piece){launch_ns, gap->end_ns, gap->step, rest});
}
