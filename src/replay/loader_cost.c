/* What a data loader costs the launching threads once other processes do its work. */
#include "replay/loader_cost.h"

/* Each round the length is longer by less than a third of what the one before it was. */
enum { ROUNDS = 8 };

static double loader_ns(const struct trace_graph *graph)
{
    double sum_ns = 0;

    for (size_t i = 0; graph->data_ns && i < graph->graph.task_count; i++)
        sum_ns += (double)graph->data_ns[i];
    return sum_ns;
}

bool loader_moves(const struct trace_graph *graph, const struct scenario *scenario)
{
    int64_t rank = graph->trace->facts.rank;

    return scenario_has_word(scenario, SCENARIO_WORD_WORKERS, rank) ||
           (graph->loads_itself && scenario_takes(scenario, TARGET_DATA, rank));
}

/* A fixed point: workers that share a core with the launching thread slow it while they are
 * busy, and how much of the time they are busy depends on how long the steps become.
 * SHARED_CORE_SPEED is what each of two threads on one core has left. The map contracts by a
 * third or more each round, so ROUNDS leave less than a ten-thousandth. */
double loader_slowdown(const struct trace_graph *graph, const struct scenario *scenario,
                       double core_share)
{
    double work_ns = loader_ns(graph) / SHARED_CORE_SPEED, slowdown = 1;

    if (core_share <= 0 || !loader_moves(graph, scenario))
        return 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct replay_terms terms = {.scenario = scenario, .host_slowdown = slowdown};
        double length_ns = (double)trace_graph_replay(graph, &terms).length_ns;
        double busy = work_ns < length_ns ? work_ns / length_ns : 1;

        slowdown = 1 / (1 - core_share * busy * (1 - SHARED_CORE_SPEED));
    }
    return slowdown;
}
