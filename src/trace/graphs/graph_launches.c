/* Finds the launches of graphs in a trace, and which of them are of one kind. */
#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/sort.h"
#include "base/text/prefix.h"
#include "trace/graphs/captured_graphs.h"
#include "trace/graphs/graph_matching.h"

#include <stdlib.h>
#include <string.h>

uint32_t graph_symbol_of(const struct trace *trace, uint32_t device_event)
{
    const struct event *event = &trace->device[device_event];

    /* ROCm copies and sets memory in graphs with kernels of its own */
    if (event->kind != EVENT_KERNEL || has_prefix(trace_text(trace, event->name), "__amd_rocclr_"))
        return SYMBOL_COPY;
    return event->name;
}

static int64_t node_of(const struct trace *trace, uint32_t device_event)
{
    return trace->details[trace->device[device_event].detail].graph_node;
}

/* For qsort_r, which takes no pointer to what is constant. */
struct launch_order {
    const struct trace *trace;
};

static int compare_graph_nodes(const void *a, const void *b, void *argument)
{
    const struct launch_order *order = argument;
    int64_t left = node_of(order->trace, *(const uint32_t *)a);
    int64_t right = node_of(order->trace, *(const uint32_t *)b);

    return ORDER_OF(left, right);
}

/* Nodes are numbered as they were captured. False where not all have a number of their own. */
static bool order_by_node(const struct trace *trace, uint32_t *events, uint32_t count)
{
    uint32_t *sorted;
    bool is_ordered = true;

    if (!trace->detail_count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (node_of(trace, events[i]) < 0)
            return false;
    sorted = require_memory(malloc((count + (size_t)1) * sizeof *sorted));
    memcpy(sorted, events, count * sizeof *sorted);
    qsort_r(sorted, count, sizeof *sorted, compare_graph_nodes, &(struct launch_order){trace});
    for (uint32_t i = 1; i < count; i++)
        is_ordered = is_ordered && node_of(trace, sorted[i]) != node_of(trace, sorted[i - 1]);
    if (is_ordered)
        memcpy(events, sorted, count * sizeof *sorted);
    free(sorted);
    return is_ordered;
}

static bool runs_on_several_streams(const struct trace *trace, const uint32_t *events,
                                    uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (trace->device[events[i]].track != trace->device[events[0]].track)
            return true;
    return false;
}

static int compare_launches(const void *a, const void *b, void *argument)
{
    const struct trace *trace = ((const struct launch_order *)argument)->trace;
    const struct graph_launch *left = a;
    const struct graph_launch *right = b;

    if (trace->host[left->call].start_ns != trace->host[right->call].start_ns)
        return ORDER_OF(trace->host[left->call].start_ns, trace->host[right->call].start_ns);
    return ORDER_OF(left->call, right->call);
}

bool is_name_of_graph_launch(const char *name)
{
    return strstr(name, "GraphLaunch") != NULL;
}

/* Calls that launch graphs, with how many kernels each has. */
static void count_launch_events(struct graph_launches *launches, const struct trace *trace,
                                uint32_t *launch_of)
{
    size_t names = string_pool_count(&trace->strings);
    bool *is_launch = require_memory(calloc(names + 1, sizeof *is_launch));

    for (size_t i = 0; i < names; i++)
        is_launch[i] = is_name_of_graph_launch(trace_text(trace, (uint32_t)i));
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t call = trace->launch[i];

        if (call == NO_EVENT || !is_launch[trace->host[call].name])
            continue;
        if (launch_of[call] == 0) {
            ARRAY_ADD(launches->launches, launches->count,
                      (struct graph_launch){.call = call, .resolved = NO_EVENT});
            launch_of[call] = (uint32_t)launches->count; /* one more: 0 is none */
        }
        launches->launches[launch_of[call] - 1].count++;
        launches->event_count++;
    }
    free(is_launch);
}

/* Two passes over device events: counts, then places, so that one array holds the kernels of
 * all launches. */
static void collect_launch_events(struct graph_launches *launches, const struct trace *trace,
                                  uint32_t *launch_of)
{
    uint32_t at = 0;

    qsort_r(launches->launches, launches->count, sizeof *launches->launches, compare_launches,
            &(struct launch_order){trace});
    launches->events = require_memory(calloc(launches->event_count + 1, sizeof(uint32_t)));
    for (size_t i = 0; i < launches->count; i++) {
        launch_of[launches->launches[i].call] = (uint32_t)i + 1;
        launches->launches[i].first = at;
        at += launches->launches[i].count;
        launches->launches[i].count = 0;
    }
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t call = trace->launch[i];
        struct graph_launch *launch;

        if (call == NO_EVENT || launch_of[call] == 0)
            continue;
        launch = &launches->launches[launch_of[call] - 1];
        launches->events[launch->first + launch->count++] = i;
    }
}

static uint64_t symbol_and_size(const struct trace *trace, uint32_t event)
{
    uint32_t symbol = graph_symbol_of(trace, event);

    return symbol == SYMBOL_COPY
               ? symbol
               : hash_mix(symbol ^ size_of_launch(trace, trace->device[event].detail),
                          HASH_MULTIPLIER);
}

/* Symbols and sizes in order: two launches of one graph have the same, whatever their times. */
static bool launches_are_alike(const struct graph_launches *launches, const struct trace *trace,
                               const struct graph_launch *a, const struct graph_launch *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (symbol_and_size(trace, launches->events[a->first + i]) !=
            symbol_and_size(trace, launches->events[b->first + i]))
            return false;
    return true;
}

/* By a hash of symbols and sizes in order, then compared: launches of one graph are matched
 * once, not thousands of times. */
static void find_kind(struct graph_launches *launches, const struct trace *trace, uint32_t index,
                      struct hash_map *known)
{
    struct graph_launch *launch = &launches->launches[index];
    uint32_t *events = launches->events + launch->first;
    bool has_nodes = order_by_node(trace, events, launch->count);
    bool is_parallel = !has_nodes && runs_on_several_streams(trace, events, launch->count);
    uint64_t hash = 2 * (uint64_t)is_parallel + has_nodes;
    uint32_t kind;

    for (uint32_t i = 0; i < launch->count; i++)
        hash = hash_mix(hash ^ symbol_and_size(trace, events[i]), HASH_MULTIPLIER) + 1;
    kind = hash_map_add(known, hash, (uint32_t)launches->kind_count);
    if (kind == launches->kind_count ||
        !launches_are_alike(launches, trace, launch,
                            &launches->launches[launches->kinds[kind].example])) {
        kind = (uint32_t)launches->kind_count;
        ARRAY_ADD(launches->kinds, launches->kind_count,
                  (struct launch_kind){
                      .example = index, .has_nodes = has_nodes, .is_parallel = is_parallel});
    }
    launch->kind = kind;
    launches->kinds[kind].launches++;
}

/* Kinds are compared by hash first; equal ones are compared whole, since a wrong operator is
 * worse than a slow search. */
void find_graph_launches(struct graph_launches *launches, const struct trace *trace)
{
    uint32_t *launch_of = large_array_new((trace->host_count + (size_t)1) * sizeof *launch_of);
    struct hash_map known = {0};

    count_launch_events(launches, trace, launch_of);
    if (launches->count > 0)
        collect_launch_events(launches, trace, launch_of);
    large_array_free(launch_of);
    for (uint32_t i = 0; i < launches->count; i++)
        find_kind(launches, trace, i, &known);
    hash_map_clear(&known);
}

void graph_launches_clear(struct graph_launches *launches)
{
    for (size_t i = 0; i < launches->kind_count; i++)
        free(launches->kinds[i].candidates);
    free(launches->kinds);
    free(launches->launches);
    free(launches->events);
    *launches = (struct graph_launches){0};
}
