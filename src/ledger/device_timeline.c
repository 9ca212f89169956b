/* What a device runs when: its kernels, or on a CPU its operators, as one timeline of classes. */
#include "ledger/device_timeline.h"

#include "base/core/array.h"
#include "base/text/prefix.h"
#include "ledger/kernel_class.h"
#include "ledger/step_ledger.h"
#include "trace/optimizer_time.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What an event of a CPU thread can be beside the classes of the ledger. */
enum {
    NO_WORK = LEDGER_CLASS_COUNT,
    DATA_LOADING, /* inside the data loader: idle for the step, whatever runs in it */
};

static bool is_input_copy(struct host_activity *activity, uint32_t index, uint32_t step_thread)
{
    const struct trace *trace = activity->trace;
    const struct event *event = &trace->device[index];
    const struct event *launch;
    uint32_t data = (uint32_t)1 << HOST_DATA;

    if (event->kind != EVENT_MEMCPY || trace->launch[index] == NO_EVENT)
        return false;
    if (!strstr(trace_text(trace, event->name), "HtoD"))
        return false;
    launch = &trace->host[trace->launch[index]];
    return host_activity_is_open(activity, launch->track, data, launch->start_ns) ||
           host_activity_is_open(activity, step_thread, data, launch->start_ns);
}

void build_device_timeline(struct class_timeline *timeline, struct host_activity *activity,
                           const uint8_t *classes, int32_t device, uint32_t step_thread)
{
    const struct trace *trace = activity->trace;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        unsigned class = classes[i];

        if (trace->tracks[event->track].device != device)
            continue;
        if (is_input_copy(activity, i, step_thread))
            class = LEDGER_DATA_COPY;
        class_timeline_add(timeline, class, event->start_ns, event_end_ns(event));
    }
    class_timeline_finish(timeline);
}

/* A stretch of one thread in which one operator is the innermost. */
struct interval {
    int64_t start_ns;
    int64_t end_ns;
    unsigned class;
};

struct intervals {
    struct interval *items;
    size_t count;
};

static void device_timeline_add_interval(struct intervals *intervals, struct interval interval)
{
    if (interval.start_ns >= interval.end_ns || interval.class == DATA_LOADING)
        return;
    ARRAY_ADD(intervals->items, intervals->count, interval);
}

enum { OPEN_OPERATORS_MAX = 512 };

/* The operators open on one thread, outermost first. */
struct open_operators {
    int64_t end_ns[OPEN_OPERATORS_MAX];
    unsigned class[OPEN_OPERATORS_MAX];
    unsigned depth;
    int64_t reached_ns; /* all before is cut into stretches */
};

/* Cuts the time up to `time_ns` into stretches, closing the operators that end on the way. */
static void advance(struct open_operators *open, int64_t time_ns, struct intervals *intervals)
{
    while (open->depth) {
        unsigned top = open->depth - 1;
        int64_t until_ns = open->end_ns[top] < time_ns ? open->end_ns[top] : time_ns;

        device_timeline_add_interval(
            intervals, (struct interval){open->reached_ns, until_ns, open->class[top]});
        if (until_ns > open->reached_ns)
            open->reached_ns = until_ns;
        if (open->end_ns[top] > time_ns)
            break;
        open->depth--;
    }
    if (time_ns > open->reached_ns)
        open->reached_ns = time_ns;
}

/* The class of a range or operator on a CPU, or NO_WORK where the event is no work at all.
 * `inside`: the class of what encloses it, or NO_WORK. */
static unsigned cpu_class(const struct trace *trace, const struct event *event, unsigned inside)
{
    const char *name = trace_text(trace, event->name);
    enum kernel_class class;

    if (event->kind != EVENT_OPERATOR && event->kind != EVENT_ANNOTATION)
        return NO_WORK;
    if (has_prefix(name, "ProfilerStep"))
        return NO_WORK;
    if (inside == DATA_LOADING || is_data_loading(name))
        return DATA_LOADING;
    class = operator_class(name);
    /* On a CPU the processor itself moves the bytes: that is work, no copy beside it. */
    if (class == KERNEL_COPY)
        class = KERNEL_INDEXING;
    if (class == KERNEL_MEMSET)
        class = KERNEL_ELEMENTWISE;
    if (event->kind == EVENT_ANNOTATION)
        return class == KERNEL_COMMUNICATION ? (unsigned)class : (unsigned)NO_WORK;
    if (inside == KERNEL_COMMUNICATION || kernel_class_is_matrix(class))
        return inside == KERNEL_COMMUNICATION ? inside : (unsigned)class;
    /* What a matrix operator calls to do its work is part of it, as what an optimizer calls. */
    if (inside < NO_WORK && class == KERNEL_COMPUTE_OTHER)
        return inside;
    return class;
}

/* gloo and MPI transfer and reduce on the processor: what runs inside their ranges is of the
 * transfer. A range of another backend only lies around the calls that launch it on a device. */
static bool transfers_on_the_processor(const char *range)
{
    return has_prefix(range, "gloo:") || has_prefix(range, "mpi:");
}

/* A range that is called like a collective and holds other operators is of the program. */
static bool holds_operators(const struct trace *trace, uint32_t thread, uint32_t range)
{
    const struct track *track = &trace->tracks[thread];
    int64_t end_ns = event_end_ns(&trace->host[track->first_event + range]);

    for (uint32_t i = range + 1; i < track->event_count; i++) {
        const struct event *event = &trace->host[track->first_event + i];

        if (event->start_ns >= end_ns)
            break;
        if (event->kind == EVENT_OPERATOR)
            return operator_class(trace_text(trace, event->name)) != KERNEL_COMMUNICATION;
    }
    return false;
}

static void cut_thread(const struct trace *trace, uint32_t thread,
                       const struct optimizer_time *optimizer, struct intervals *intervals)
{
    const struct track *track = &trace->tracks[thread];
    struct open_operators open = {.reached_ns = INT64_MIN};

    for (uint32_t i = 0; i < track->event_count; i++) {
        const struct event *event = &trace->host[track->first_event + i];
        unsigned inside = NO_WORK;
        unsigned class;

        advance(&open, event->start_ns, intervals);
        if (open.depth)
            inside = open.class[open.depth - 1];
        class = cpu_class(trace, event, inside);
        if (event->kind == EVENT_ANNOTATION && class == KERNEL_COMMUNICATION &&
            !transfers_on_the_processor(trace_text(trace, event->name)) &&
            holds_operators(trace, thread, i))
            continue;
        if (class == NO_WORK || open.depth == OPEN_OPERATORS_MAX)
            continue;
        if (class < KERNEL_COMMUNICATION && !kernel_class_is_matrix((enum kernel_class) class) &&
            is_optimizer_time(optimizer, thread, event->start_ns))
            class = KERNEL_OPTIMIZER;
        open.end_ns[open.depth] = event_end_ns(event);
        open.class[open.depth++] = class;
    }
    advance(&open, INT64_MAX, intervals);
}

static int compare_intervals(const void *left, const void *right)
{
    const struct interval *a = left;
    const struct interval *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

void build_cpu_timeline(struct class_timeline *timeline, const struct trace *trace)
{
    struct intervals intervals = {0};
    struct optimizer_time optimizer = {0};

    find_optimizer_time(&optimizer, trace);
    for (uint32_t i = 0; i < trace->track_count; i++) {
        if (!trace->tracks[i].is_device)
            cut_thread(trace, i, &optimizer, &intervals);
    }
    optimizer_time_clear(&optimizer);
    if (intervals.count)
        qsort(intervals.items, intervals.count, sizeof(*intervals.items), compare_intervals);
    for (size_t i = 0; i < intervals.count; i++)
        class_timeline_add(timeline, intervals.items[i].class, intervals.items[i].start_ns,
                           intervals.items[i].end_ns);
    class_timeline_finish(timeline);
    free(intervals.items);
}
