/* How far ahead of the device does the host launch, and what do the launches cost? */
#include "base/core/large_array.h"
#include "base/core/percentile.h"
#include "base/core/saturated.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/kernels/launch_queue.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void launches_add_number(struct results *results, struct section *section, const char *key,
                                const char *title, struct value value)
{
    section_add_number(results, section,
                       (struct number){.key = key, .title = title, .value = value});
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
    launches_add_number(results, section, "delay_median", "launch delay, median",
                        value_time_ns(percentile_of(delays, count, 50)));
    launches_add_number(results, section, "delay_p90", "launch delay, p90",
                        value_time_ns(percentile_of(delays, count, 90)));
    launches_add_number(results, section, "delay_max", "launch delay, longest",
                        value_time_ns(percentile_of(delays, count, 100)));
}

/* Kernels shorter than the call that launched them show the limit of the host: a device that
 * gets only such ones waits, however fast it is. */
static void add_launch_numbers(struct results *results, struct section *section,
                               const struct launch_statistics *statistics)
{
    const struct tally *launches = &statistics->launch_calls;

    if (launches->count > 0) {
        launches_add_number(
            results, section, METRIC_NAMES(LAUNCHES_PER_STEP),
            value_number((double)launches->count / (double)statistics->input->ledger->step_count));
        launches_add_number(results, section, "call_mean", "duration of a launch call, mean",
                            value_time_ns(tally_mean_ns(launches)));
    }
    if (statistics->kernels > 0) {
        section_add_number(results, section,
                           (struct number){"short_kernels", "kernels shorter than their call",
                                           value_count(statistics->short_kernels), NULL});
        section_add_number(results, section,
                           (struct number){"short_share", "their share",
                                           value_fraction(fraction_of(statistics->short_kernels,
                                                                      statistics->kernels)),
                                           "of the kernels with a call of their own"});
    }
    /* Told apart, since the launch of a graph is one call for many kernels. */
    if (statistics->graph_launches.count > 0) {
        launches_add_number(results, section, "graph_launches", "graph launches",
                            value_count(statistics->graph_launches.count));
        launches_add_number(results, section, "events_per_graph",
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
