/* One pass over the host's events: who waits, allocates, collects, loads. */
#include "sections/advice/host_calls.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/text/prefix.h"
#include "ledger/host_activity.h"
#include "ledger/step_finder.h"

#include <stdlib.h>
#include <string.h>

static bool host_calls_is_in_a_step(const struct ledger *ledger, const struct event *event)
{
    uint32_t step = first_step_after(ledger, event->start_ns);

    return step < ledger->step_count && ledger->steps[step].window.start_ns < event_end_ns(event);
}

/* By track: it launches work of the device, or marks steps. Waits of other threads (a data
 * loader's, a logger's) do not keep the device idle. */
static bool *find_working_threads(const struct trace *trace, const struct ledger *ledger)
{
    bool *is_working = require_memory(calloc((size_t)trace->track_count + 1, sizeof *is_working));

    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (trace->launch[i] != NO_EVENT)
            is_working[trace->host[trace->launch[i]].track] = true;
    }
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        if (ledger->steps[i].window.track != NO_EVENT)
            is_working[ledger->steps[i].window.track] = true;
    }
    return is_working;
}

/* By host event: it set memory of the host, and so returned when that was done. CUDA's rule: a
 * memset of host memory is synchronous, one of device memory is not (CUDA Runtime API, "API
 * synchronization behavior"). */
static bool *find_waiting_memsets(const struct trace *trace)
{
    static const char *const kinds[] = {"Pinned", "Pageable", "Managed"};
    bool *is_waiting = large_array_new(((size_t)trace->host_count + 1) * sizeof *is_waiting);

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        if (event->kind != EVENT_MEMSET || trace->launch[i] == NO_EVENT ||
            strstr(trace_text(trace, trace->host[trace->launch[i]].name), "Async"))
            continue;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (strstr(trace_text(trace, event->name), kinds[k]))
                is_waiting[trace->launch[i]] = true;
    }
    return is_waiting;
}

/* A synchronizing call counts on threads that give the device work only: others wait without
 * delaying it. */
static enum host_call_kind host_calls_kind_of(struct host_activity *activity,
                                              const struct event *event, const bool *is_working,
                                              int64_t slow_ns)
{
    if (event->kind == EVENT_OVERHEAD)
        return CALLS_OVERHEAD;
    switch (host_activity_class(activity, event)) {
    case HOST_DATA:
        return CALLS_DATA;
    case HOST_SYNC:
        return is_working[event->track] ? CALLS_SYNC : CALLS_KIND_COUNT;
    case HOST_ALLOCATOR:
        return CALLS_ALLOCATOR;
    case HOST_GARBAGE:
        return CALLS_GARBAGE;
    case HOST_RUNTIME:
        return event->duration_ns >= slow_ns ? CALLS_SLOW : CALLS_KIND_COUNT;
    case HOST_COMPILATION:
        return is_working[event->track] ? CALLS_COMPILATION : CALLS_KIND_COUNT;
    case HOST_CAPTURE:
    case HOST_SYSTEM:
    case HOST_OPERATOR:
    case HOST_ANNOTATION:
    case HOST_PYTHON:
    case HOST_NOTHING:
        break;
    }
    return CALLS_KIND_COUNT;
}

static void host_calls_add_call(struct host_call_list *list, uint32_t event)
{
    ARRAY_ADD(list->events, list->count, event);
}

/* A part of the frame's name is enough: the path before it differs by machine and environment. */
static bool prepares_data(const char *frame)
{
    static const char *const texts[] = {
#define DATA_FRAME(text) text,
#include "sections/advice/data_frame_list.def"
#undef DATA_FRAME
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strstr(frame, texts[i]))
            return true;
    return false;
}

/* What the host itself works on, found in one walk in the order of the events: who lies in a range
 * that counts already does not count again. */
struct own_work {
    const struct trace *trace;
    uint32_t track;       /* of the event before */
    int64_t covered_ns;   /* until when a range of that track counts already */
    uint32_t next_call;   /* the first runtime call behind the event, where it was looked for */
    uint8_t *frame_kinds; /* by name: 0 not looked at, 1 prepares no data, 2 does */
    int64_t slow_ns;
};

/* Once per name: frames repeat thousands of times, and the list of names is long. */
static bool is_preparation(struct own_work *work, const struct event *event)
{
    uint8_t *kind;

    if (event->kind != EVENT_PYTHON_FUNCTION)
        return false;
    kind = &work->frame_kinds[event->name];
    if (!*kind)
        *kind = prepares_data(trace_text(work->trace, event->name)) ? 2 : 1;
    return *kind == 2;
}

/* Making a tensor without filling it computes nothing, however long it takes. An operator that
 * launches nothing within it computed on the host. Its calls are looked for with one pointer
 * that only moves on, so the whole walk is O(events). */
static bool is_computation(struct own_work *work, uint32_t index)
{
    const struct trace *trace = work->trace;
    const struct event *event = &trace->host[index];
    uint32_t end;

    if (event->kind != EVENT_OPERATOR || event->duration_ns < work->slow_ns ||
        has_prefix(trace_text(trace, event->name), "ProfilerStep") ||
        has_prefix(trace_text(trace, event->name), "aten::empty"))
        return false;
    end = trace->tracks[event->track].first_event + trace->tracks[event->track].event_count;
    if (work->next_call <= index)
        work->next_call = index + 1;
    while (work->next_call < end && trace->host[work->next_call].kind != EVENT_RUNTIME_CALL)
        work->next_call++; /* over each event once, however deep they lie in each other */
    return work->next_call >= end || trace->host[work->next_call].start_ns >= event_end_ns(event);
}

/* CALLS_KIND_COUNT: it is no work of the host's own, or lies in a range that counts. Outermost
 * ranges count, since events of a thread come in order of start, the outer first. */
static enum host_call_kind own_work_of(struct own_work *work, uint32_t index, bool is_known,
                                       bool is_working)
{
    const struct event *event = &work->trace->host[index];
    enum host_call_kind kind = CALLS_KIND_COUNT;

    if (event->track != work->track)
        work->covered_ns = INT64_MIN;
    work->track = event->track;
    if (event->start_ns < work->covered_ns)
        return CALLS_KIND_COUNT;
    if (is_preparation(work, event))
        kind = CALLS_PREPARATION;
    else if (!is_known && is_working && work->trace->device_count > 0 &&
             is_computation(work, index))
        kind = CALLS_COMPUTATION;
    if (kind != CALLS_KIND_COUNT || is_known)
        work->covered_ns = event_end_ns(event);
    return kind;
}

/* One event may be in two lists, as a wait and as the host's own work. */
void find_host_calls(struct host_calls *calls, const struct trace *trace,
                     const struct ledger *ledger, int64_t slow_ns)
{
    struct host_activity activity = {0};
    bool *is_working = find_working_threads(trace, ledger);
    bool *is_waiting = find_waiting_memsets(trace);
    struct own_work own = {
        .trace = trace, .track = NO_EVENT, .covered_ns = INT64_MIN, .slow_ns = slow_ns};

    own.frame_kinds =
        require_memory(calloc(string_pool_count(&trace->strings) + 1, sizeof *own.frame_kinds));
    host_activity_init(&activity, trace);
    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        enum host_call_kind kind = host_calls_kind_of(&activity, event, is_working, slow_ns);

        enum host_call_kind own_kind = own_work_of(
            &own, i, kind == CALLS_DATA || kind == CALLS_COMPILATION, is_working[event->track]);

        /* A memset may wait without a name that says so. */
        if (is_waiting[i])
            kind = CALLS_SYNC;
        calls->python_frames += event->kind == EVENT_PYTHON_FUNCTION;
        calls->operators += event->kind == EVENT_OPERATOR;
        if (kind != CALLS_KIND_COUNT && host_calls_is_in_a_step(ledger, event))
            host_calls_add_call(&calls->lists[kind], i);
        if (own_kind != CALLS_KIND_COUNT && host_calls_is_in_a_step(ledger, event))
            host_calls_add_call(&calls->lists[own_kind], i);
    }
    host_activity_clear(&activity);
    free(own.frame_kinds);
    large_array_free(is_waiting);
    free(is_working);
}

void host_calls_clear(struct host_calls *calls)
{
    for (int kind = 0; kind < CALLS_KIND_COUNT; kind++)
        free(calls->lists[kind].events);
    *calls = (struct host_calls){0};
}
