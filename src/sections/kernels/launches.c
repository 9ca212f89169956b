/* How far ahead of the device does the host launch, and what do the launches cost? */
#include "sections/kernels/launches.h"

#include "base/core/hash_map.h"
#include "base/core/large_array.h"
#include "base/core/percentile.h"
#include "base/core/saturated.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Runtime calls of one name. */
struct call_group {
    struct tally tally;
    int64_t device_events; /* launched by them */
};

struct launch_statistics {
    const struct analysis_input *input;
    uint32_t *events_of; /* by trace->host: device events that the call launched, in the ledger's
                            steps or not */
    struct call_group *calls; /* by name */
    bool *is_graph_launch;    /* by name */
    int64_t *delays_ns;       /* from the start of a launch call to its first kernel */
    size_t delay_count;
    int64_t delay_sum_ns;
    struct tally launch_calls; /* calls that launched at least one device event */
    struct tally graph_launches;
    int64_t graph_events;
    int64_t kernels;       /* launched by a call of their own */
    int64_t short_kernels; /* ... that run shorter than that call */
};

/* By string id: the call launches a graph. free() it. Once per name, of which there are few,
 * instead of a search in each call's text. */
static bool *find_graph_launch_names(const struct trace *trace)
{
    size_t count = string_pool_count(&trace->strings);
    bool *is_graph_launch = zeroed_array(count, sizeof *is_graph_launch);

    for (uint32_t id = 0; id < count; id++)
        is_graph_launch[id] = strstr(trace_text(trace, id), "GraphLaunch") != NULL;
    return is_graph_launch;
}

/* The delay is from the call's start to its first kernel; later kernels of a graph wait for
 * the ones before them, not for the call. */
static void add_device_event(struct launch_statistics *statistics, uint32_t index)
{
    const struct trace *trace = statistics->input->trace;
    uint32_t launch = trace->launch[index];
    const struct event *event = &trace->device[index], *call = &trace->host[launch];
    bool is_first = statistics->events_of[launch]++ == 0;

    if (event->kind != EVENT_KERNEL)
        return;
    if (is_first && event->start_ns >= call->start_ns) {
        statistics->delays_ns[statistics->delay_count++] = event->start_ns - call->start_ns;
        statistics->delay_sum_ns =
            saturated_sum(statistics->delay_sum_ns, event->start_ns - call->start_ns);
    }
    if (statistics->is_graph_launch[call->name])
        return;
    statistics->kernels++;
    if (event->duration_ns < call->duration_ns)
        statistics->short_kernels++;
}

/* Each call counts among its name; only one that put something on the device is a launch. A
 * graph launch is a launch of many. */
static void launches_add_call(struct launch_statistics *statistics, uint32_t index)
{
    const struct event *call = &statistics->input->trace->host[index];
    struct call_group *group = &statistics->calls[call->name];

    tally_add(&group->tally, call->duration_ns);
    group->device_events += statistics->events_of[index];
    if (statistics->events_of[index] == 0)
        return;
    tally_add(&statistics->launch_calls, call->duration_ns);
    if (statistics->is_graph_launch[call->name]) {
        tally_add(&statistics->graph_launches, call->duration_ns);
        statistics->graph_events += statistics->events_of[index];
    }
}

/* Device events first, so that for each call it is known what it launched when the calls are
 * walked. */
static void launches_collect(struct launch_statistics *statistics)
{
    const struct trace *trace = statistics->input->trace;
    struct step_finder finder = {.ledger = statistics->input->ledger};

    statistics->events_of = large_array_new(trace->host_count * sizeof *statistics->events_of);
    statistics->delays_ns = large_array_new(trace->device_count * sizeof *statistics->delays_ns);
    statistics->calls = zeroed_array(string_pool_count(&trace->strings), sizeof *statistics->calls);
    statistics->is_graph_launch = find_graph_launch_names(trace);
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (trace->launch[i] != NO_EVENT && is_chosen_device_event(&finder, trace, i))
            add_device_event(statistics, i);
    for (uint32_t i = 0; i < trace->host_count; i++)
        if (trace->host[i].kind == EVENT_RUNTIME_CALL &&
            step_finder_of_host(&finder, trace->host[i].start_ns) != NO_STEP)
            launches_add_call(statistics, i);
}

static void launches_clear(struct launch_statistics *statistics)
{
    large_array_free(statistics->events_of);
    large_array_free(statistics->delays_ns);
    free(statistics->calls);
    free(statistics->is_graph_launch);
}

/* A mean alone would hide the form: a queue that runs ahead has long delays and loses nothing
 * by them, so median and p90 stand beside it. */
static void add_delay_numbers(struct results *results, struct section *section,
                              struct launch_statistics *statistics)
{
    size_t count = statistics->delay_count;
    int64_t *delays = statistics->delays_ns;

    if (count == 0)
        return;
    section_add_number(results, section,
                       (struct number){"delay_mean", "launch delay, mean",
                                       value_time_ns(statistics->delay_sum_ns / (int64_t)count),
                                       "from the start of the call to the start of its kernel"});
    section_add_value(results, section, "delay_median", "launch delay, median",
                      value_time_ns(percentile_of(delays, count, 50)));
    section_add_value(results, section, "delay_p90", "launch delay, p90",
                      value_time_ns(percentile_of(delays, count, 90)));
    section_add_value(results, section, "delay_max", "launch delay, longest",
                      value_time_ns(percentile_of(delays, count, 100)));
}

/* Kernels shorter than the call that launched them show the limit of the host: a device that
 * gets only such ones waits, however fast it is. */
static void add_launch_numbers(struct results *results, struct section *section,
                               const struct launch_statistics *statistics)
{
    const struct tally *launches = &statistics->launch_calls;

    if (launches->count > 0) {
        section_add_value(
            results, section, METRIC_NAMES(LAUNCHES_PER_STEP),
            value_number((double)launches->count / (double)statistics->input->ledger->step_count));
        section_add_value(results, section, "call_mean", "duration of a launch call, mean",
                          value_time_ns(tally_mean_ns(launches)));
    }
    if (statistics->kernels > 0) {
        section_add_value(results, section, "short_kernels", "kernels shorter than their call",
                          value_count(statistics->short_kernels));
        section_add_number(results, section,
                           (struct number){"short_share", "their share",
                                           value_fraction(fraction_of(statistics->short_kernels,
                                                                      statistics->kernels)),
                                           "of the kernels with a call of their own"});
    }
    /* Told apart, since the launch of a graph is one call for many kernels. */
    if (statistics->graph_launches.count > 0) {
        section_add_value(results, section, "graph_launches", "graph launches",
                          value_count(statistics->graph_launches.count));
        section_add_value(results, section, "events_per_graph",
                          "kernels and copies per graph launch",
                          value_number((double)statistics->graph_events /
                                       (double)statistics->graph_launches.count));
    }
}

#define STREAMS_COLUMNS(COLUMN)                                                                    \
    COLUMN("stream", "stream", UNIT_COUNT, 0, BAR_NONE, value_count(queues[i].stream))             \
    COLUMN("events", "kernels and copies", UNIT_COUNT, 1, BAR_NONE, value_count(queues[i].events)) \
    COLUMN("duration", "their time", UNIT_TIME_NS, 1, BAR_NONE,                                    \
           value_time_ns(queues[i].duration_ns))                                                   \
    COLUMN("launches", "launches", UNIT_COUNT, 2, BAR_NONE, value_count(queues[i].launches))       \
    COLUMN("depth_mean", "mean queue", UNIT_NUMBER, 0, BAR_NONE,                                   \
           value_number(fraction_of(queues[i].waiting_ns, window_ns)))                             \
    COLUMN("depth_max", "longest queue", UNIT_COUNT, 0, BAR_NONE, value_count(queues[i].max_depth))

/* A stream's mean queue is the one figure that tells whether the host keeps up: near 0 each
 * kernel waits for its launch, however short the launch call itself is. */
static void launches_add_streams(struct results *results, struct section *section,
                                 const struct analysis_input *input)
{
    uint32_t count;
    struct stream_queue *queues = measure_launch_queues(input, &count);
    int64_t window_ns = ledger_total_ns(input->ledger);

    if (count > 0) {
        struct table *table = section_add_table(results, section, "streams", "Queue of each stream",
                                                COLUMNS_OF(STREAMS_COLUMNS));

        table->note =
            "queue: launches whose call has begun and whose first kernel has not; a graph launch "
            "counts once. "
            "The mean is over the time of the steps. Near 0: the device waits for the host.";
        for (uint32_t i = 0; i < count; i++)
            FILL_ROW(table_add_row(results, table, 0), STREAMS_COLUMNS);
    }
    free(queues);
}

#define CALLS_COLUMNS(COLUMN)                                                                  \
    COLUMN("call", "runtime call", UNIT_TEXT, 0, BAR_NONE,                                     \
           value_text(results_text(results, rows[i].name)))                                    \
    COLUMN("count", "count", UNIT_COUNT, 0, BAR_NONE, value_count(rows[i].tally.count))        \
    COLUMN("total", "total", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(rows[i].tally.total_ns)) \
    COLUMN("mean", "mean", UNIT_TIME_NS, 1, BAR_NONE,                                          \
           value_time_ns(tally_mean_ns(&rows[i].tally)))                                       \
    COLUMN("max", "max", UNIT_TIME_NS, 2, BAR_NONE, value_time_ns(rows[i].tally.max_ns))       \
    COLUMN("device_events", "kernels and copies launched", UNIT_COUNT, 1, BAR_NONE,            \
           value_count(statistics->calls[rows[i].group].device_events))

/* All calls, not launches alone: a synchronizing call in the list is what a reader looks for. */
static void launches_add_calls(struct results *results, struct section *section,
                               const struct launch_statistics *statistics)
{
    const struct trace *trace = statistics->input->trace;
    size_t names = string_pool_count(&trace->strings), count = 0, shown;
    struct sorted_row *rows;
    struct table *table;

    for (size_t name = 0; name < names; name++)
        count += statistics->calls[name].tally.count > 0;
    if (count == 0)
        return;
    rows = zeroed_array(count, sizeof *rows);
    count = 0;
    for (size_t name = 0; name < names; name++)
        if (statistics->calls[name].tally.count > 0)
            rows[count++] = (struct sorted_row){.tally = statistics->calls[name].tally,
                                                .name = trace_text(trace, (uint32_t)name),
                                                .group = (uint32_t)name};
    sort_rows(rows, count, statistics->input->options->sort);
    table = section_add_table(results, section, "calls", "Runtime calls of the host",
                              COLUMNS_OF(CALLS_COLUMNS));
    table->rows_in_all = count;
    shown = rows_to_show(statistics->input->options, count);
    for (size_t i = 0; i < shown; i++)
        FILL_ROW(table_add_row(results, table, 0), CALLS_COLUMNS);
    free(rows);
}

/* A call that launched, both in a step. */
static bool has_launches(const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct step_finder finder = {.ledger = input->ledger};

    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t launch = trace->launch[i];

        if (launch != NO_EVENT && trace->host[launch].kind == EVENT_RUNTIME_CALL &&
            is_chosen_device_event(&finder, trace, i) &&
            step_finder_of_host(&finder, trace->host[launch].start_ns) != NO_STEP)
            return true;
    }
    return false;
}

/* Without steps there is no "per step", and so no section. */
static struct section *describe_launches(struct results *results,
                                         const struct analysis_input *input)
{
    struct launch_statistics statistics = {.input = input};
    struct section *section = NULL;

    if (input->ledger->step_count == 0)
        return NULL;
    launches_collect(&statistics);
    if (statistics.launch_calls.count > 0 || statistics.delay_count > 0) {
        section = section_new(results, "launches", "Launches",
                              chosen_events_text(results, input->ledger));
        add_launch_numbers(results, section, &statistics);
        add_delay_numbers(results, section, &statistics);
        launches_add_streams(results, section, input);
        launches_add_calls(results, section, &statistics);
    }
    launches_clear(&statistics);
    return section;
}

const struct analysis launches_analysis = {
    .name = "launches",
    .summary = "How far ahead of the device does the host launch, and what do launches cost?",
    .run = describe_launches,
    .has_section = has_launches,
};
