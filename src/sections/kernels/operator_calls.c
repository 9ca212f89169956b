/* Every call of an operator with its self and total times, by the rules of torch's key_averages().
 */
#include "sections/kernels/operator_calls.h"

#include "sections/tally.h"

#include <string.h>

bool *find_left_out_names(const struct trace *trace)
{
    static const char *const names[] = {"[memory]",
                                        "[OutOfMemory]",
                                        "profiler::_record_function_enter",
                                        "profiler::_record_function_enter_new",
                                        "profiler::_record_function_exit",
                                        "aten::is_leaf",
                                        "aten::output_nr",
                                        "aten::_version"};
    bool *is_left_out = zeroed_array(string_pool_count(&trace->strings), sizeof *is_left_out);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t id = string_pool_find(&trace->strings, names[i], strlen(names[i]));

        if (id != UINT32_MAX)
            is_left_out[id] = true;
    }
    return is_left_out;
}

static bool takes_part(const struct event *event, const bool *is_left_out)
{
    return (event->kind == EVENT_OPERATOR || event->kind == EVENT_ANNOTATION ||
            event->kind == EVENT_RUNTIME_CALL) &&
           !is_left_out[event->name];
}

/* Finds each call's parent: the stack of open calls runs along the parents. */
static void operator_calls_find_parents(struct operator_call *calls, const struct event *events,
                                        uint32_t count, const bool *is_left_out)
{
    uint32_t top = NO_EVENT;

    for (uint32_t i = 0; i < count; i++) {
        calls[i] = (struct operator_call){.parent = NO_EVENT};
        if (!takes_part(&events[i], is_left_out))
            continue;
        while (top != NO_EVENT && (events[i].start_ns >= event_end_ns(&events[top]) ||
                                   event_end_ns(&events[i]) > event_end_ns(&events[top])))
            top = calls[top].parent;
        calls[i].parent = top;
        calls[i].is_counted = true;
        if (top != NO_EVENT)
            calls[top].child_count++;
        top = i;
    }
}

/* Merges only children of the same name into their parents; parents come before their children. A
 * merged call keeps in `parent` the call that it became part of. */
static void merge_same_names(struct operator_call *calls, const struct event *events,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = calls[i].parent;

        if (!calls[i].is_counted || parent == NO_EVENT)
            continue;
        if (!calls[parent].is_counted) /* was merged itself */
            parent = calls[i].parent = calls[parent].parent;
        if (calls[parent].child_count != 1 || events[parent].name != events[i].name ||
            events[parent].kind != events[i].kind)
            continue;
        calls[i].is_counted = false;
        calls[parent].child_count = calls[i].child_count;
    }
}

static void operator_calls_add_device_time(struct operator_call *call, int64_t device_ns)
{
    call->total_device_ns = saturated_sum(call->total_device_ns, device_ns);
}

struct thread_interval next_interval(const struct trace *trace, uint32_t first, uint32_t end,
                                     const bool *is_left_out)
{
    struct thread_interval interval = {.first = first};
    int64_t open_until_ns = INT64_MIN;

    for (uint32_t i = first; i < end; i++) {
        const struct event *event = &trace->host[i];

        if (takes_part(event, is_left_out)) {
            if (i > first && event->start_ns >= open_until_ns)
                break;
            if (event_end_ns(event) > open_until_ns)
                open_until_ns = event_end_ns(event);
        }
        interval.count++;
    }
    return interval;
}

void measure_operator_calls(struct operator_call *calls, const struct trace *trace,
                            struct thread_interval interval, const int64_t *device_ns,
                            const bool *is_left_out)
{
    uint32_t first = interval.first, count = interval.count;
    const struct event *events = &trace->host[first];

    operator_calls_find_parents(calls, events, count, is_left_out);
    merge_same_names(calls, events, count);
    for (uint32_t i = 0; i < count; i++) {
        struct operator_call *call = &calls[i];
        struct operator_call *parent = call->parent == NO_EVENT ? NULL : &calls[call->parent];

        if (call->is_counted) {
            call->self_cpu_ns = saturated_sum(call->self_cpu_ns, events[i].duration_ns);
            call->self_device_ns = saturated_sum(call->self_device_ns, device_ns[first + i]);
            if (parent)
                parent->self_cpu_ns = saturated_sum(parent->self_cpu_ns, -events[i].duration_ns);
        } else if (parent) { /* merged into it */
            parent->self_device_ns = saturated_sum(parent->self_device_ns, device_ns[first + i]);
        }
    }
    for (uint32_t i = count; i-- > 0;) { /* children before their parents */
        if (!calls[i].is_counted)
            continue;
        operator_calls_add_device_time(&calls[i], calls[i].self_device_ns);
        if (calls[i].parent != NO_EVENT)
            operator_calls_add_device_time(&calls[calls[i].parent], calls[i].total_device_ns);
    }
}
