/* What holds for the critical path of every trace. */
#include "support_path.h"

#include "base/core/invariant.h"
#include "critical_path/call_chains.h"
#include "ledger/step_finder.h"

#include <stdlib.h>
#include <string.h>

/* The pinned tasks, to be replayed with other durations. */
struct replaying {
    const struct steps_path *path;
    int64_t *durations_ns, *floors_ns, *starts_ns, *ends_ns;
    int64_t end_ns;
};

static int64_t *array_of(const struct steps_path *path)
{
    return require_memory(calloc(path->graph->graph.task_count + 1, sizeof(int64_t)));
}

static int64_t replayed_end_ns(struct replaying *replaying)
{
    const struct trace_graph *graph = replaying->path->graph;
    int64_t end_ns = 0;

    task_graph_replay(&graph->graph,
                      &(struct replay){.durations_ns = replaying->durations_ns,
                                       .delays_ns = replaying->path->pinned.delays_ns,
                                       .floors_ns = replaying->floors_ns,
                                       .starts_ns = replaying->starts_ns,
                                       .ends_ns = replaying->ends_ns});
    for (size_t i = 0; i < graph->measured_count; i++)
        if (replaying->ends_ns[graph->measured[i]] > end_ns)
            end_ns = replaying->ends_ns[graph->measured[i]];
    return end_ns;
}

static const char *problem_of_pieces(const struct steps_path *path)
{
    int64_t at_ns = 0;

    for (size_t i = 0; i < path->pieces.count; i++) {
        const struct path_piece *piece = &path->pieces.pieces[i];

        if (piece->start_ns != at_ns || piece->end_ns <= at_ns)
            return "links do not follow each other";
        if (piece->part != PIECE_FLOOR && path->slacks_ns[piece->task] != 0)
            return "a task on the path has slack";
        at_ns = piece->end_ns;
    }
    return at_ns == path->graph->recorded_ns ? NULL : "the path is not as long as the recording";
}

static const char *problem_of_sums(const struct steps_path *path)
{
    const struct ledger *ledger = path->graph->ledger;
    int64_t sums_ns = 0;

    for (uint32_t step = 0; step < ledger->step_count; step++) {
        int64_t left_ns = ledger->steps[step].window.end_ns - ledger->steps[step].window.start_ns;

        for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
            left_ns -= path->kinds_ns[step][kind];
        if (left_ns != 0)
            return "the links of a step do not add up to it";
    }
    for (size_t i = 0; i < path->sum_count; i++)
        sums_ns += path->sums[i].total_ns;
    return sums_ns == ledger_total_ns(ledger) ? NULL
                                              : "the sums by name do not add up to the steps";
}

/* The parts of each chain add up to the time that it covers. */
static const char *problem_of_chains(const struct steps_path *path)
{
    const struct trace_graph *graph = path->graph;
    const struct trace *trace = graph->trace;
    struct call_chains chains = {.call_count = 0};
    const char *problem = NULL;
    uint32_t *events = require_memory(calloc(trace->device_count + (size_t)1, sizeof *events));
    size_t count = 0;

    find_call_chains(&chains, graph);
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (graph->ledger->classes[i] == KERNEL_COMMUNICATION &&
            trace->tracks[trace->device[i].track].device == graph->ledger->device)
            events[count++] = i;
    if (count != chains.call_count || chains.end_ns != graph->start_ns + graph->recorded_ns)
        problem = "chains are not those of the calls and of the end";
    for (size_t i = 0; i <= count && !problem; i++) {
        const struct call_chain *chain = &chains.chains[i];
        int64_t left_ns = i < count ? trace->device[events[i]].start_ns : chains.end_ns;

        left_ns -=
            chain->call >= 0 ? event_end_ns(&trace->device[events[chain->call]]) : chains.start_ns;
        for (int part = 0; part < CHAIN_PART_COUNT; part++)
            left_ns -= chain->parts_ns[part];
        if (chain->call != CHAIN_NOT_KNOWN && left_ns != 0)
            problem = "the parts of a chain do not add up to it";
    }
    free(events);
    call_chains_clear(&chains);
    return problem;
}

static const char *problem_of_pins(struct replaying *replaying)
{
    const struct steps_path *path = replaying->path;
    const struct trace_graph *graph = path->graph;

    replaying->end_ns = replayed_end_ns(replaying);
    if (replaying->end_ns != graph->recorded_ns)
        return "the pinned tasks do not replay to the recorded end";
    for (size_t i = 0; i < graph->graph.task_count; i++) {
        const struct trace_task *task = &graph->tasks[i];

        if (path->slacks_ns[i] < 0)
            return "a slack is negative";
        if (replaying->ends_ns[i] != path->pinned.ends_ns[i] ||
            (task->kind == TASK_DEVICE && replaying->starts_ns[i] + graph->start_ns !=
                                              graph->trace->device[task->whose].start_ns))
            return "a pinned task is not where it was recorded";
    }
    return NULL;
}

static const char *problem_of_change(struct replaying *replaying, size_t task)
{
    int64_t kept_ns = replaying->durations_ns[task], slack_ns = replaying->path->slacks_ns[task];
    const char *problem = NULL;
    int64_t without_ns;

    replaying->durations_ns[task] = kept_ns / 2;
    if (slack_ns > 0 && replayed_end_ns(replaying) != replaying->end_ns)
        problem = "half of work with slack moves the end";
    replaying->durations_ns[task] = kept_ns + slack_ns;
    if (replayed_end_ns(replaying) != replaying->end_ns)
        problem = "work that takes its slack longer moves the end";
    replaying->durations_ns[task] = kept_ns + slack_ns + 1000;
    if (replayed_end_ns(replaying) > replaying->end_ns + 1000)
        problem = "work that takes 1 µs more than its slack moves the end by more";
    replaying->durations_ns[task] = 0;
    without_ns = replayed_end_ns(replaying);
    replaying->durations_ns[task] = kept_ns - (replaying->end_ns - without_ns);
    if (replayed_end_ns(replaying) != without_ns)
        problem = "work on the path does not bring what it is shorter";
    replaying->durations_ns[task] = kept_ns;
    return problem;
}

const char *problem_of_path(const struct steps_path *path, size_t samples)
{
    const struct trace_graph *graph = path->graph;
    size_t every = graph->graph.task_count / (samples ? samples : 1) + 1;
    struct replaying replaying = {.path = path,
                                  .durations_ns = array_of(path),
                                  .floors_ns = array_of(path),
                                  .starts_ns = array_of(path),
                                  .ends_ns = array_of(path)};
    const char *problem = problem_of_pieces(path);

    memcpy(replaying.durations_ns, path->pinned.durations_ns,
           graph->graph.task_count * sizeof(int64_t));
    for (size_t i = 0; i < graph->graph.task_count; i++)
        replaying.floors_ns[i] = trace_term_ns(graph->floors_ns, i);
    problem = problem ? problem : problem_of_sums(path);
    problem = problem ? problem : problem_of_chains(path);
    problem = problem ? problem : problem_of_pins(&replaying);
    for (size_t i = 0; i < graph->graph.task_count && !problem; i += every)
        problem = problem_of_change(&replaying, i);
    for (size_t i = 0; i < path->pieces.count && !problem; i += path->pieces.count / 8 + 1)
        problem = problem_of_change(&replaying, path->pieces.pieces[i].task);
    free(replaying.durations_ns);
    free(replaying.floors_ns);
    free(replaying.starts_ns);
    free(replaying.ends_ns);
    return problem;
}
