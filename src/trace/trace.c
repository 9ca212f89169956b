/* The one event model. */
#include "trace/trace.h"

#include "trace/event_store.h"

#include <stdlib.h>

uint32_t trace_operator_of(const struct trace *trace, uint32_t device_event)
{
    return trace->launch_operator ? trace->launch_operator[device_event] : NO_EVENT;
}

void trace_clear(struct trace *trace)
{
    if (!trace)
        return;
    string_pool_clear(&trace->strings);
    large_array_free(trace->host);
    large_array_free(trace->device);
    large_array_free(trace->launch);
    large_array_free(trace->launch_operator);
    large_array_free(trace->device_notes);
    free(trace->tracks);
    free(trace->details);
    free(trace->devices);
    memory_list_clear(&trace->memory);
    series_list_clear(&trace->series);
    *trace = (struct trace){0};
}
