/* Arrows of Ascend's JSON from operators to the tasks that they put on the device. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/search.h"
#include "readers/ascend/ascend_rows.h"

#include <stdlib.h>

/* Newer recorders write times of flows as floating-point microseconds since 1970, which are a
 * quarter of a microsecond apart. */
enum { FLOW_TOLERANCE_NS = 512 };

/* Builders have strings of their own: what the others' flows name is put into the first one's
 * pool, which is the one that the trace gets. */
uint32_t ascend_rows_take_flows(struct ascend_rows *rows, struct trace_builder *builders,
                                unsigned count, struct ascend_flow **flows)
{
    struct string_pool *strings = &builders[0].strings;
    uint32_t total = 0;

    *flows = count > 0 ? rows[0].flows : NULL; /* whose strings are the right ones */
    if (count > 0) {
        total = rows[0].flow_count;
        rows[0].flows = NULL;
        rows[0].flow_count = 0;
    }
    for (unsigned b = 1; b < count; b++) {
        const struct string_pool *from = &builders[b].strings;

        for (uint32_t i = 0; i < rows[b].flow_count; i++) {
            struct ascend_flow flow = rows[b].flows[i];
            uint32_t *const texts[] = {&flow.process, &flow.thread, &flow.id};

            for (size_t t = 0; t < 3; t++)
                *texts[t] = string_pool_add(strings, string_pool_text(from, *texts[t]),
                                            string_pool_length(from, *texts[t]));
            ARRAY_ADD(*flows, total, flow);
        }
    }
    return total;
}

/* Of what lies in [first, end) and starts within the tolerance that which starts nearest to the
 * time; of several the last. `is_wanted` is an expression of `i`; NO_EVENT where there is none. */
#define NEAREST(i, first, end, events, time_ns, is_wanted)                                       \
    __extension__({                                                                              \
        uint32_t nearest_ = NO_EVENT;                                                            \
        int64_t distance_ = FLOW_TOLERANCE_NS;                                                   \
                                                                                                 \
        for (uint32_t i = LOWER_BOUND(i##_low, first, end,                                       \
                                      (events)[i##_low].start_ns < (time_ns)-FLOW_TOLERANCE_NS); \
             i < (end) && (events)[i].start_ns <= (time_ns) + FLOW_TOLERANCE_NS; i++) {          \
            int64_t from_ = llabs((long long)((events)[i].start_ns - (time_ns)));                \
                                                                                                 \
            if (from_ <= distance_ && (is_wanted)) {                                             \
                distance_ = from_;                                                               \
                nearest_ = i;                                                                    \
            }                                                                                    \
        }                                                                                        \
        nearest_;                                                                                \
    })

/* The operator of a thread that starts at the time. Arrows name threads and times, not events;
 * the times are rounded, so the nearest start within the tolerance is meant. */
static uint32_t operator_at(const struct trace *trace, const struct track *track, int64_t time_ns)
{
    return NEAREST(i, track->first_event, track->first_event + track->event_count, trace->host,
                   time_ns, trace->host[i].kind == EVENT_OPERATOR);
}

static uint32_t task_at(const struct trace *trace, uint32_t track, int64_t time_ns)
{
    return NEAREST(i, 0, trace->device_count, trace->device, time_ns,
                   trace->device[i].track == track);
}

enum { CALLS_BACK_MAX = 64 };

/* The innermost call of a thread that is open at the time: the task's own call is recorded at the
 * higher levels only. Of so many events before it, not of all where none is open. */
static uint32_t call_around(const struct trace *trace, const struct track *track, int64_t time_ns)
{
    const uint32_t first = track->first_event, end = first + track->event_count;
    uint32_t behind = LOWER_BOUND(i, first, end, trace->host[i].start_ns <= time_ns);

    for (uint32_t i = behind; i > first && behind - i < CALLS_BACK_MAX; i--)
        if (trace->host[i - 1].kind == EVENT_RUNTIME_CALL &&
            event_end_ns(&trace->host[i - 1]) >= time_ns)
            return i - 1;
    return NO_EVENT;
}

static void link_call(struct trace *trace, uint32_t task, uint32_t call)
{
    if (call == NO_EVENT || trace->launch[task] != NO_EVENT)
        return;
    trace->launch[task] = call;
    if (trace->read.unlinked_device_events > 0)
        trace->read.unlinked_device_events--;
}

/* An arrow links only where both its ends are found: one with a missing end says nothing.
 * O(flows * log events). */
void ascend_link_flows(struct trace *trace, struct ascend_flow *flows, uint32_t count)
{
    struct hash_map tracks = {0};
    struct hash_map starts = {0};

    for (uint32_t i = 0; i < trace->track_count && count > 0; i++)
        (void)hash_map_add(&tracks, pair_key(trace->tracks[i].process, trace->tracks[i].thread), i);
    for (uint32_t i = 0; i < count; i++)
        if (!flows[i].is_end)
            /* The last start of an id counts, should one be used again. */
            (void)hash_map_set(&starts, pair_key(flows[i].id, flows[i].is_launch), i);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = flows[i].is_end
                             ? hash_map_find(&starts, pair_key(flows[i].id, flows[i].is_launch))
                             : NO_VALUE;
        uint32_t from, to, task, op;

        if (start == NO_VALUE)
            continue;
        from = hash_map_find(&tracks, pair_key(flows[start].process, flows[start].thread));
        to = hash_map_find(&tracks, pair_key(flows[i].process, flows[i].thread));
        if (from == NO_VALUE || to == NO_VALUE)
            continue;
        task = task_at(trace, to, flows[i].time_ns);
        if (flows[i].is_launch) {
            if (task != NO_EVENT)
                link_call(trace, task,
                          call_around(trace, &trace->tracks[from], flows[start].time_ns));
            continue;
        }
        if (!trace->launch_operator) /* not asked for */
            continue;
        op = operator_at(trace, &trace->tracks[from], flows[start].time_ns);
        if (task != NO_EVENT && op != NO_EVENT)
            trace->launch_operator[task] = op;
    }
    hash_map_clear(&tracks);
    hash_map_clear(&starts);
}
