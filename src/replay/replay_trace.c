/* Replays the steps of a trace, with changes. */
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "replay/trace_graph.h"

#include <math.h>
#include <stdlib.h>

/* The end of a wait that is taken out: before all else. */
static const int64_t long_ago_ns = -((int64_t)1 << 61);

/* The scenario's factors, found once. */
struct factors {
    double data, host, launch, sync, device, communication, copies, matrix, recompute;
    double captured;               /* of host times that a CUDA graph takes out */
    double *of_name;               /* of kernels by name; -1: not asked yet */
    bool leaves[TRACE_TASK_KINDS]; /* tasks of that kind take what they took */
};

/* Communication, copies and matrix work have a target each; other kernels are reached by name
 * only. */
static double class_factor(const struct factors *factors, enum kernel_class class)
{
    if (class == KERNEL_COMMUNICATION)
        return factors->communication;
    if (class == KERNEL_COPY || class == KERNEL_MEMSET)
        return factors->copies;
    return kernel_class_is_matrix(class) ? factors->matrix : 1;
}

/* A regular expression per name, not per kernel. Factors multiply:
 * "device*0.5,kernel:gemm*0.5" makes such kernels take a quarter. */
static double event_factor(const struct trace_graph *graph, const struct scenario *scenario,
                           struct factors *factors, uint32_t event)
{
    const struct trace *trace = graph->trace;
    uint32_t name = trace->device[event].name;
    double *of_name = &factors->of_name[name];

    if (*of_name < 0)
        *of_name = scenario_kernel_factor(scenario, trace_text(trace, name), trace->facts.rank);
    return factors->device * *of_name *
           class_factor(factors, (enum kernel_class)graph->ledger->classes[event]);
}

/* Times that no change touches stay exact to the nanosecond: doubles come in only with a
 * factor. */
static int64_t replay_trace_scaled(int64_t ns, double factor)
{
    return factor == 1 || ns == 0 ? ns : llround((double)ns * factor);
}

/* A host task is split into loading, recomputing and the rest, which sum to its duration. A
 * wait that is taken out ends "long ago", so it decides nothing: to take its duration, which
 * is 0, would not free the thread. */
static int64_t changed_duration(const struct trace_graph *graph, const struct scenario *scenario,
                                struct factors *factors, size_t at)
{
    const struct trace_task *task = &graph->tasks[at];
    int64_t data_ns = trace_term_ns(graph->data_ns, at);
    int64_t recompute_ns = trace_term_ns(graph->recompute_ns, at);
    double again = recompute_ns > 0 ? factors->recompute : 1;
    double host = factors->host * (task->is_captured ? factors->captured : 1);

    switch ((enum trace_task_kind)task->kind) {
    case TASK_HOST:
        if (data_ns == 0 && recompute_ns == 0)
            return replay_trace_scaled(task->duration_ns, host);
        return replay_trace_scaled(data_ns, factors->data) +
               replay_trace_scaled(recompute_ns, host * factors->recompute) +
               replay_trace_scaled(task->duration_ns - data_ns - recompute_ns, host);
    case TASK_CALL:
        return replay_trace_scaled(task->duration_ns, host * factors->launch * again);
    case TASK_SYNC:
        return replay_trace_scaled(task->duration_ns, factors->sync);
    case TASK_WAIT:
        return factors->sync > 0 ? task->duration_ns : long_ago_ns;
    case TASK_DELAY:
        return task->duration_ns;
    case TASK_DEVICE:
    case TASK_ROOM:
        return replay_trace_scaled(task->duration_ns,
                                   event_factor(graph, scenario, factors, task->whose) * again);
    }
    return task->duration_ns;
}

static int64_t *replay_trace_array_of_tasks(const struct trace_graph *graph)
{
    return large_array_new((graph->graph.task_count + 1) * sizeof(int64_t));
}

/* Factors by name are found when a kernel of that name is met first: -1 stands for "not yet
 * asked". */
static struct factors find_factors(const struct trace_graph *graph,
                                   const struct replay_terms *terms)
{
    const struct scenario *scenario = terms->scenario;
    size_t names = string_pool_count(&graph->trace->strings);
    int64_t rank = graph->trace->facts.rank;
    struct factors factors = {
        .data = scenario_factor(scenario, TARGET_DATA, rank),
        .host = scenario_factor(scenario, TARGET_HOST, rank) * terms->host_slowdown,
        .launch = scenario_factor(scenario, TARGET_LAUNCH, rank),
        .sync = scenario_factor(scenario, TARGET_SYNC, rank),
        .device = scenario_factor(scenario, TARGET_DEVICE, rank),
        .communication = scenario_factor(scenario, TARGET_COMMUNICATION, rank),
        .copies = scenario_factor(scenario, TARGET_COPIES, rank),
        .matrix = scenario_factor(scenario, TARGET_MATRIX, rank),
        .recompute = scenario_factor(scenario, TARGET_RECOMPUTE, rank),
        .captured = scenario_has_word(scenario, SCENARIO_WORD_GRAPHS, rank) ? 0 : 1,
        .of_name = require_memory(calloc(names + 1, sizeof *factors.of_name)),
    };

    for (size_t i = 0; i < names; i++)
        factors.of_name[i] = -1;
    return factors;
}

/* Most scenarios change one kind of a trace's tasks: the others need not be asked one by one. */
static void find_what_is_left(struct factors *factors, const struct replay_terms *terms)
{
    bool keeps_again = factors->recompute == 1;
    bool keeps_host = factors->host == 1 && factors->captured == 1 && keeps_again;
    bool keeps_device = factors->device == 1 && factors->communication == 1 &&
                        factors->copies == 1 && factors->matrix == 1 && keeps_again &&
                        !terms->event_factors &&
                        !(terms->scenario && scenario_has_target(terms->scenario, TARGET_KERNEL));

    factors->leaves[TASK_HOST] = keeps_host && factors->data == 1;
    factors->leaves[TASK_CALL] = keeps_host && factors->launch == 1;
    factors->leaves[TASK_SYNC] = factors->sync == 1;
    factors->leaves[TASK_WAIT] = factors->sync > 0;
    factors->leaves[TASK_DELAY] = true;
    factors->leaves[TASK_DEVICE] = factors->leaves[TASK_ROOM] = keeps_device;
}

/* A replay without changes copies: factors by name cost a look at each name, and most replays
 * have none. */
int64_t *trace_graph_durations(const struct trace_graph *graph, const struct replay_terms *terms)
{
    int64_t *durations_ns = replay_trace_array_of_tasks(graph);
    bool is_changed = terms->scenario || terms->host_slowdown != 1 || terms->event_factors;
    struct factors factors;

    for (size_t i = 0; i < graph->graph.task_count && !is_changed; i++)
        durations_ns[i] = graph->tasks[i].duration_ns;
    if (!is_changed)
        return durations_ns;
    factors = find_factors(graph, terms);
    find_what_is_left(&factors, terms);
    for (size_t i = 0; i < graph->graph.task_count; i++) {
        const struct trace_task *task = &graph->tasks[i];

        durations_ns[i] = task->duration_ns;
        if (factors.leaves[task->kind])
            continue;
        durations_ns[i] = changed_duration(graph, terms->scenario, &factors, i);
        if (terms->event_factors && (task->kind == TASK_DEVICE || task->kind == TASK_ROOM))
            durations_ns[i] =
                replay_trace_scaled(durations_ns[i], terms->event_factors[task->whose]);
    }
    free(factors.of_name);
    return durations_ns;
}

/* Of a replay without changes, over work of the device only: its starts are recorded, and they are
 * what the length is made of. Nothing begins together here, so that a start is the duration before
 * the end. */
static int64_t mean_start_error_ns(const struct trace_graph *graph, const struct replay *replay)
{
    double sum_ns = 0;
    size_t count = 0;

    for (size_t i = 0; i < graph->graph.task_count; i++) {
        const struct trace_task *task = &graph->tasks[i];

        if (task->kind != TASK_DEVICE)
            continue;
        sum_ns += fabs((double)(replay->ends_ns[i] - task->duration_ns + graph->start_ns -
                                graph->trace->device[task->whose].start_ns));
        count++;
    }
    return count ? llround(sum_ns / (double)count) : 0;
}

/* One walk over the graph per scenario: O(tasks + edges). Ends take the places of durations: no
 * task asks for the duration of another. */
struct trace_replay trace_graph_replay(const struct trace_graph *graph,
                                       const struct replay_terms *terms)
{
    int64_t *ends_ns = trace_graph_durations(graph, terms);
    struct replay replay = {
        .durations_ns = ends_ns, .floors_ns = graph->floors_ns, .ends_ns = ends_ns};
    struct trace_replay result = {0};

    /* A delay before the task puts its end off as one in it would, and only ends are asked for. */
    for (size_t i = 0; i < graph->graph.task_count; i++)
        ends_ns[i] += trace_task_delay_ns(&graph->tasks[i]);
    task_graph_replay(&graph->graph, &replay);
    for (size_t i = 0; i < graph->measured_count; i++)
        /* The recording is done when the last of its streams and threads is. */
        if (ends_ns[graph->measured[i]] > result.length_ns)
            result.length_ns = ends_ns[graph->measured[i]];
    if (terms->compares_starts)
        result.start_error_ns = mean_start_error_ns(graph, &replay);
    large_array_free(ends_ns);
    return result;
}
