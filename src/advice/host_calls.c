/* One pass over the host's events: who waits, allocates, collects, loads. */
#include "advice/host_calls.h"

#include "base/invariant.h"
#include "base/large_array.h"
#include "ledger/host_activity.h"
#include "ledger/step_finder.h"

#include <stdlib.h>
#include <string.h>

static bool is_in_a_step(const struct ledger *ledger, const struct event *event)
{
    uint32_t step = first_step_after(ledger, event->start_ns);

    return step < ledger->step_count && ledger->steps[step].window.start_ns < event_end_ns(event);
}

/* By track: it launches work of the device, or marks steps. */
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

/* By host event: it set memory of the host, and so returned when that was done. */
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

static enum host_call_kind kind_of(struct host_activity *activity, const struct event *event,
                                   const bool *is_working, int64_t slow_ns)
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

static void add_call(struct host_call_list *list, uint32_t event)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->events = require_memory(realloc(list->events, list->capacity * sizeof *list->events));
    }
    list->events[list->count++] = event;
}

void find_host_calls(struct host_calls *calls, const struct trace *trace,
                     const struct ledger *ledger, int64_t slow_ns)
{
    struct host_activity activity = {0};
    bool *is_working = find_working_threads(trace, ledger);
    bool *is_waiting = find_waiting_memsets(trace);

    host_activity_init(&activity, trace);
    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        enum host_call_kind kind = kind_of(&activity, event, is_working, slow_ns);

        if (is_waiting[i])
            kind = CALLS_SYNC;
        calls->python_frames += event->kind == EVENT_PYTHON_FUNCTION;
        calls->operators += event->kind == EVENT_OPERATOR;
        if (kind != CALLS_KIND_COUNT && is_in_a_step(ledger, event))
            add_call(&calls->lists[kind], i);
    }
    host_activity_clear(&activity);
    large_array_free(is_waiting);
    free(is_working);
}

void host_calls_clear(struct host_calls *calls)
{
    for (int kind = 0; kind < CALLS_KIND_COUNT; kind++)
        free(calls->lists[kind].events);
    *calls = (struct host_calls){0};
}
