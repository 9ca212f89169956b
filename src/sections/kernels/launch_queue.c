/* How many launched kernels wait on each stream. */
#include "sections/kernels/launch_queue.h"

#include "base/core/hash_map.h"
#include "base/core/large_array.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

#include <stdlib.h>

/* The launches of one stream in the order of their starts on the device. */
struct stream_launches {
    int64_t *call_ns;
    int64_t *start_ns;
    uint32_t count;
};

/* By index in trace->device: the event is the first on its stream that its launch call put there.
 * free() it. */
static uint8_t *find_first_of_launch(const struct trace *trace)
{
    uint8_t *is_first = large_array_new(trace->device_count * sizeof *is_first);
    uint32_t *first_track = large_array_new(trace->host_count * sizeof *first_track); /* by launch:
                                                                                     track + 1 */
    struct hash_map other_tracks = {0}; /* graph launches that put work on several streams */

    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t launch = trace->launch[i], track = trace->device[i].track;

        if (launch == NO_EVENT)
            continue;
        if (first_track[launch] == 0) {
            first_track[launch] = track + 1;
            is_first[i] = 1;
        } else if (first_track[launch] != track + 1) {
            is_first[i] = hash_map_add(&other_tracks, pair_key(launch, track), i) == i;
        }
    }
    large_array_free(first_track);
    hash_map_clear(&other_tracks);
    return is_first;
}

static int launch_queue_ascending(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Streams run in order, so arrays are sorted nearly always, and the check is one pass. */
static void sort_if_needed(int64_t *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (values[i] < values[i - 1]) {
            qsort(values, count, sizeof *values, launch_queue_ascending);
            return;
        }
}

/* A sweep over both sorted arrays: each call adds one, each start up to it takes one off. What
 * starts at the very time of a call has left the queue. O(n log n) at worst. */
static int64_t find_max_depth(struct stream_launches *launches)
{
    int64_t depth = 0, most = 0;
    uint32_t started = 0;

    sort_if_needed(launches->call_ns, launches->count);
    for (uint32_t called = 0; called < launches->count; called++) {
        depth++;
        for (;
             started < launches->count && launches->start_ns[started] <= launches->call_ns[called];
             started++)
            depth--;
        if (depth > most)
            most = depth;
    }
    return most;
}

/* The part of [start_ns, end_ns) inside the steps; `step` is the one that holds `end_ns`.
 * Backward from the step that holds the start: waits are short, so few steps are met. */
static int64_t waiting_inside_ns(const struct ledger *ledger, uint32_t step, int64_t start_ns,
                                 int64_t end_ns)
{
    int64_t inside_ns = 0;

    for (uint32_t i = step + 1; i-- > 0 && ledger->steps[i].window.end_ns > start_ns;) {
        const struct step_window *window = &ledger->steps[i].window;
        int64_t from_ns = start_ns > window->start_ns ? start_ns : window->start_ns;
        int64_t to_ns = end_ns < window->end_ns ? end_ns : window->end_ns;

        if (to_ns > from_ns)
            inside_ns += to_ns - from_ns;
    }
    return inside_ns;
}

/* A kernel cannot start before its call: where clocks say so, it starts with it and waits for
 * nothing. By Little's law the mean queue is the summed waiting time over the time of the
 * steps. */
static void launch_queue_add_event(struct stream_queue *queue, struct stream_launches *launches,
                                   const struct analysis_input *input, uint32_t index,
                                   uint32_t step)
{
    const struct trace *trace = input->trace;
    int64_t start_ns = trace->device[index].start_ns;
    int64_t call_ns = trace->host[trace->launch[index]].start_ns;

    queue->launches++;
    launches->call_ns[launches->count] = call_ns;
    launches->start_ns[launches->count++] = start_ns > call_ns ? start_ns : call_ns;
    queue->waiting_ns =
        saturated_sum(queue->waiting_ns, waiting_inside_ns(input->ledger, step, call_ns, start_ns));
}

static void measure_stream(struct stream_queue *queue, const struct analysis_input *input,
                           const uint32_t *events, uint32_t count, const uint8_t *is_first)
{
    struct step_finder finder = {.ledger = input->ledger};
    struct stream_launches launches = {.call_ns = large_array_new(count * sizeof(int64_t)),
                                       .start_ns = large_array_new(count * sizeof(int64_t))};

    for (uint32_t i = 0; i < count; i++) {
        const struct event *event = &input->trace->device[events[i]];
        uint32_t step = step_finder_at(&finder, event->start_ns);

        if (step == NO_STEP)
            continue;
        queue->events++;
        queue->duration_ns = saturated_sum(queue->duration_ns, event->duration_ns);
        if (is_first[events[i]])
            launch_queue_add_event(queue, &launches, input, events[i], step);
    }
    sort_if_needed(launches.start_ns, launches.count); /* early kernels were moved to their call */
    queue->max_depth = find_max_depth(&launches);
    large_array_free(launches.call_ns);
    large_array_free(launches.start_ns);
}

static int by_stream(const void *left, const void *right)
{
    const struct stream_queue *a = left, *b = right;

    return a->stream != b->stream ? (a->stream > b->stream) - (a->stream < b->stream)
                                  : (a->track > b->track) - (a->track < b->track);
}

/* Indexes of the ledger's device events, stream by stream; events of track t begin at first[t].
 * A counting sort by track: two passes over the events, stable, so each stream stays in order of
 * start. */
static uint32_t *sort_by_stream(const struct trace *trace, int32_t device, uint32_t *first)
{
    uint32_t *events = large_array_new(trace->device_count * sizeof *events);
    uint32_t sum = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        if (trace->tracks[trace->device[i].track].device == device)
            first[trace->device[i].track]++;
    for (uint32_t t = 0; t < trace->track_count; t++) {
        uint32_t count = first[t];

        first[t] = sum;
        sum += count;
    }
    first[trace->track_count] = sum;
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (trace->tracks[trace->device[i].track].device == device)
            events[first[trace->device[i].track]++] = i;
    for (uint32_t t = trace->track_count; t > 0; t--) /* each now stands where the next begins */
        first[t] = first[t - 1];
    first[0] = 0;
    return events;
}

/* By stream, for a stream alone is a queue: what is launched on one waits for nothing of
 * another. */
struct stream_queue *measure_launch_queues(const struct analysis_input *input, uint32_t *count)
{
    const struct trace *trace = input->trace;
    struct stream_queue *queues = zeroed_array(trace->track_count, sizeof *queues);
    uint32_t *first = zeroed_array((size_t)trace->track_count + 1, sizeof *first);
    uint32_t *events = sort_by_stream(trace, input->ledger->device, first);
    uint8_t *is_first = find_first_of_launch(trace);

    *count = 0;
    for (uint32_t t = 0; t < trace->track_count; t++) {
        struct stream_queue queue = {.track = t, .stream = trace->tracks[t].stream};

        if (first[t + 1] == first[t])
            continue;
        measure_stream(&queue, input, &events[first[t]], first[t + 1] - first[t], is_first);
        if (queue.events > 0)
            queues[(*count)++] = queue;
    }
    free(first);
    large_array_free(events);
    large_array_free(is_first);
    if (*count > 1)
        qsort(queues, *count, sizeof *queues, by_stream);
    return queues;
}
