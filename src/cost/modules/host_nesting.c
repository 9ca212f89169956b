/* Nests host events by their times. */
#include "cost/modules/host_nesting.h"

#include "base/core/invariant.h"
#include "base/core/large_array.h"

#include <stdlib.h>

/* At least one, so that NULL means that memory ended. */
static void nest_thread(uint32_t *parents, const struct trace *trace, const struct track *track)
{
    uint32_t top = NO_EVENT; /* the latest event that may still be open */

    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        int64_t start_ns = trace->host[i].start_ns;
        int64_t end_ns = event_end_ns(&trace->host[i]);

        while (
            top != NO_EVENT && event_end_ns(&trace->host[top]) <= start_ns &&
            !(event_end_ns(&trace->host[top]) == end_ns && trace->host[top].start_ns == start_ns))
            top = parents[top];
        while (top != NO_EVENT && event_end_ns(&trace->host[top]) < end_ns)
            top = parents[top];
        parents[i] = top;
        top = i;
    }
}

/* Copies of captured events lie in the call that launched their graph. A captured event has no
 * time of its own in a replay; it lies where the graph was launched. */
static void nest_copies(uint32_t *parents, const struct graph_replays *graphs)
{
    for (size_t c = 0; graphs && c < graphs->copy_count; c++) {
        const struct graph_copy *copy = &graphs->copies[c];

        for (uint32_t i = copy->first; i < copy->first + copy->count; i++)
            if (parents[i] == NO_EVENT)
                parents[i] = copy->call;
    }
}

/* Per thread, as events of one thread nest and those of two do not: O(events), each pushed and
 * popped once. */
uint32_t *find_host_parents(const struct trace *trace)
{
    uint32_t *parents = large_array_new(trace->host_count * sizeof *parents);

    for (uint32_t i = 0; i < trace->track_count; i++)
        if (!trace->tracks[i].is_device)
            nest_thread(parents, trace, &trace->tracks[i]);
    nest_copies(parents, trace->graphs);
    return parents;
}

/* Negative where children overlap by clock rounding; 0 is nearer to the truth. */
int64_t *measure_own_times(const struct trace *trace, const uint32_t *parents)
{
    int64_t *own_ns = large_array_new(trace->host_count * sizeof *own_ns);

    uint32_t recorded = trace_recorded_host_count(trace); /* copies took no time of a host */

    for (uint32_t i = 0; i < recorded; i++) {
        own_ns[i] += trace->host[i].duration_ns;
        if (parents[i] != NO_EVENT)
            own_ns[parents[i]] -= trace->host[i].duration_ns;
    }
    for (uint32_t i = 0; i < recorded; i++)
        if (own_ns[i] < 0)
            own_ns[i] = 0;
    return own_ns;
}
