/* Which operators do the kernels of CUDA graphs belong to, and of which is it not known? */
#include "base/text/owned_text.h"
#include "cost/modules/counted_ops.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/tally.h"

#include <stdlib.h>
#include <string.h>

/* Of replay time: the rest needs no word. */
static const double COSTED_ENOUGH = 0.95;

/* Time of kernels of graphs by what is known of it. */
struct graph_time {
    int64_t device_ns; /* of all work of the device, in graphs or not */
    int64_t costed_ns; /* of operators whose FLOPs or bytes are known */
};

/* The counted operator that `op` is or lies in, or NO_EVENT. A kernel's operator may be an inner
 * one, whose FLOPs are counted at the outer one (linear and addmm). */
static uint32_t counted_around(const struct module_costs *costs, uint32_t op)
{
    while (op != NO_EVENT && costs->counted.states[op] != OP_COUNTED &&
           costs->counted.states[op] != OP_DOUBTFUL)
        op = costs->contexts.parents[op];
    return op;
}

/* Bytes alone are a cost, too: a copy has no FLOPs. */
static bool has_cost(const struct module_costs *costs, uint32_t op)
{
    uint32_t counted = counted_around(costs, op);
    const struct op_cost *cost =
        counted == NO_EVENT ? NULL : &costs->counted.costs[costs->counted.cost_of[counted]];

    return cost && (cost->flops > 0 || cost->bytes >= 0);
}

/* All work of the device is the whole; counted of it are kernels whose operator was found in a
 * capture and whose cost is known. */
static struct graph_time measure_graph_time(const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct graph_time time = {0};

    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t op = trace_operator_of(trace, i);

        time.device_ns += trace->device[i].duration_ns;
        if (trace->graphs->host_of[i] != NO_EVENT && has_cost(input->costs, op))
            time.costed_ns += trace->device[i].duration_ns;
    }
    return time;
}

static struct value share_of_replay(int64_t part_ns, int64_t whole_ns)
{
    return value_fraction(whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0);
}

static const char *captures_text(struct results *results, const struct trace *trace)
{
    const struct graph_replays *graphs = trace->graphs;
    const char *path = graphs->capture_count ? trace_text(trace, graphs->captures[0]) : "";

    if (graphs->capture_count == 0)
        return "none was given or lies beside the trace: --capture FILE";
    return graphs->capture_count == 1 ? results_format(results, "in %s", path_name(path))
                                      : results_format(results, "in %zu files, the first %s",
                                                       graphs->capture_count, path_name(path));
}

/* With the input that would tell more, where operators are known and their work is not. */
static const char *costed_or_why(struct results *results, const struct module_costs *costs,
                                 double share)
{
    const struct uncounted_op *most = NULL;

    for (uint32_t i = 0; i < costs->uncounted_count; i++)
        if (costs->uncounted[i].device_ns > (most ? most->device_ns : 0))
            most = &costs->uncounted[i];
    return share >= COSTED_ENOUGH || !most
               ? "of replay time"
               : results_format(results, "of replay time; not counted above all %s: %s", most->name,
                                most->why);
}

/* Shares are of the replay's time: what graphs are of the device's time is one line of its
 * own. */
static void add_graph_numbers(struct results *results, struct section *section,
                              const struct analysis_input *input)
{
    const struct graph_replays *graphs = input->trace->graphs;
    struct graph_time time = measure_graph_time(input);
    int64_t known_ns = graphs->fate_ns[GRAPH_ATTRIBUTED] + graphs->fate_ns[GRAPH_WITHOUT_PLACE];
    struct value costed = share_of_replay(time.costed_ns, graphs->kernel_ns);

    const struct number numbers[] = {
        {"launches", "launches of graphs", value_count(graphs->launches), NULL},
        {"kernels", "kernels and copies in them", value_count(graphs->kernels), NULL},
        {"kernel_time", "their time", value_time_ns(graphs->kernel_ns), "summed"},
        {"device_share", "of all device time", share_of_replay(graphs->kernel_ns, time.device_ns),
         NULL},
        {"captured", "captured graphs", value_count((int64_t)graphs->captured_graphs),
         captures_text(results, input->trace)},
        {"attributed", "attributed to operators", share_of_replay(known_ns, graphs->kernel_ns),
         "of replay time: operator and shapes of the capture"},
        {"attributed_module", "and to their place in the model",
         share_of_replay(graphs->fate_ns[GRAPH_ATTRIBUTED], graphs->kernel_ns), "of replay time"},
        {"costed", "with FLOPs or bytes", costed,
         costed_or_why(results, input->costs, known_ns > 0 ? costed.real : 1)},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        section_add_number(results, section, numbers[i]);
}

#define GRAPHS_COLUMNS(COLUMN)                                                             \
    COLUMN("capture", "captured graph", UNIT_TEXT, 0, BAR_NONE,                            \
           value_text(captured_graph_text(results, input->trace, kind)))                   \
    COLUMN("launches", "launches", UNIT_COUNT, 0, BAR_NONE, value_count(kind->launches))   \
    COLUMN("kernels", "kernels", UNIT_COUNT, 1, BAR_NONE, value_count(kind->kernels))      \
    COLUMN("time", "time", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(kind->kernel_ns))      \
    COLUMN("attributed", "attributed", UNIT_FRACTION, 0, BAR_NONE, attributed_share(kind)) \
    COLUMN("reason", "of the rest", UNIT_TEXT, 0, BAR_NONE, value_text(reason_of_rest(kind)))

/* "One of several" is said rather than the first: graphs that differ only in sizes have the
 * same kernels. */
static const char *captured_graph_text(struct results *results, const struct trace *trace,
                                       const struct graph_kind *kind)
{
    const char *path = trace_text(trace, kind->capture);

    if (kind->candidates == 0)
        return "none fits";
    if (kind->number == 0)
        return results_format(results, "one of %u that fit", kind->candidates);
    if (kind->missing != 0)
        return results_format(results, "%s, number %u, which has %lld %s", path_name(path),
                              kind->number, llabs((long long)kind->missing),
                              kind->missing > 0 ? "more" : "less");
    return results_format(results, "%s, number %u", path_name(path), kind->number);
}

static struct value attributed_share(const struct graph_kind *kind)
{
    return share_of_replay(kind->fate_ns[GRAPH_ATTRIBUTED] + kind->fate_ns[GRAPH_WITHOUT_PLACE],
                           kind->kernel_ns);
}

/* Of what is not known in full, the reason of the most time. */
static const char *reason_of_rest(const struct graph_kind *kind)
{
    enum graph_fate most = GRAPH_WITHOUT_PLACE;

    for (int i = GRAPH_WITHOUT_PLACE; i < GRAPH_FATE_COUNT; i++)
        if (kind->fate_ns[i] > kind->fate_ns[most])
            most = (enum graph_fate)i;
    return kind->fate_ns[most] > 0 ? graph_fate_text(most) : "";
}

/* A kernel of a graph has no launch of its own, so that its operator is known only by a
 * capture with the same kernels; the note names each way in which that fails, as a share of
 * "not known" alone helps nobody. */
static void add_graph_table(struct results *results, struct section *section,
                            const struct analysis_input *input)
{
    const struct graph_replays *graphs = input->trace->graphs;
    struct table *table = section_add_table(results, section, "graphs", "Graphs by their kernels",
                                            COLUMNS_OF(GRAPHS_COLUMNS));
    size_t shown = rows_to_show(input->options, graphs->kind_count);

    table->rows_in_all = graphs->kind_count;
    table->note =
        "Launches share a row where their kernels are the same in the same order. Of the rest: "
        "in no capture, no captured graph has these kernels in this order; several fit, captured "
        "graphs or places in one fit and their operators differ; capture without names, it does "
        "not say which kernels were launched.";
    for (size_t i = 0; i < shown; i++) {
        const struct graph_kind *kind = &graphs->kinds[i];

        FILL_ROW(table_add_row(results, table, 0), GRAPHS_COLUMNS);
    }
}

/* Of the whole trace: which operators the kernels of a graph have does not depend on the steps
 * that were chosen, and more launches make more of them known. */
static struct section *describe_graphs(struct results *results, const struct analysis_input *input)
{
    struct section *section;

    if (!input->trace->graphs)
        return NULL;
    section = section_new(results, "graphs", "CUDA graphs",
                          "of the whole trace; kernels have the operators of their capture");
    add_graph_numbers(results, section, input);
    add_graph_table(results, section, input);
    return section;
}

const struct analysis graphs_analysis = {
    .name = "graphs",
    .summary = "Which operators do the kernels of CUDA graphs belong to, by their captures?",
    .run = describe_graphs,
};
