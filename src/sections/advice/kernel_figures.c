/* One pass over the device's events. */
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "ledger/step_finder.h"
#include "sections/advice/advice_rule.h"
#include "trace/graphs/graph_matching.h"

#include <stdlib.h>

static void kernel_figures_add(struct work_sum *sum, int64_t duration_ns)
{
    sum->count++;
    sum->duration_ns += duration_ns;
}

struct launch_search {
    uint8_t *seen; /* kernels so far of each launch call, by index in trace->host; up to 2 */
    struct name_answers of_graphs;
};

/* A graph's launch has many kernels and counts once as a call; whether a kernel is shorter than its
 * launch makes no sense for it. */
static void kernel_figures_add_launch(struct kernel_figures *figures, const struct trace *trace,
                                      uint32_t kernel, struct launch_search *search)
{
    uint8_t *seen = search->seen;
    uint32_t launch = trace->launch[kernel];
    bool is_graph, is_short;

    if (launch == NO_EVENT)
        return;
    is_graph = name_answer(&search->of_graphs, trace, trace->host[launch].name);
    is_short = trace->device[kernel].duration_ns < trace->host[launch].duration_ns;
    if (!seen[launch]) {
        kernel_figures_add(&figures->launches, trace->host[launch].duration_ns);
        figures->graph_launches += is_graph;
    }
    seen[launch] = 1;
    figures->graph_kernels += is_graph;
    if (!is_graph) {
        figures->launched_singly++;
        figures->shorter_than_launch += is_short;
    }
}

/* Copies and memsets have a class too, and count in its sum; kernels alone make the means by
 * which launches are judged. A launch that put many kernels on the device (a graph) is counted
 * once, by `seen`. */
struct kernel_figures sum_kernels(const struct trace *trace, const struct ledger *ledger)
{
    struct step_finder finder = {.ledger = ledger};
    struct kernel_figures figures = {0};
    struct launch_search search = {.seen = large_array_new((size_t)trace->host_count + 1),
                                   .of_graphs = {.ask = is_name_of_graph_launch}};

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        if (!is_chosen_device_event(&finder, trace, i))
            continue;
        kernel_figures_add(&figures.classes[ledger->classes[i]], event->duration_ns);
        if (event->kind != EVENT_KERNEL)
            continue;
        kernel_figures_add(&figures.kernels, event->duration_ns);
        kernel_figures_add_launch(&figures, trace, i, &search);
    }
    large_array_free(search.seen);
    free(search.of_graphs.answers);
    return figures;
}
