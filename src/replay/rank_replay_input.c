/* Keeps the work of one rank for replays of several ranks together. */
#include "replay/rank_replay_input.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/text/owned_text.h"
#include "ledger/step_finder.h"
#include "replay/loader_cost.h"

#include <stdlib.h>
#include <string.h>

/* The lead is what lies between the first step's begin and that of the graph. */
static void rank_replay_input_collect_facts(struct rank_replay_input *course,
                                            const struct trace_graph *graph)
{
    const struct trace *trace = graph->trace;
    const struct ledger *ledger = graph->ledger;

    course->rank = trace->facts.rank;
    course->file = text_copy(trace_file_name(trace));
    course->step_count = ledger->step_count;
    course->step_ns = ledger_total_ns(ledger) / ledger->step_count;
    course->span_ns =
        ledger->steps[ledger->step_count - 1].window.end_ns - ledger->steps[0].window.start_ns;
    course->lead_ns = graph->start_ns - ledger->steps[0].window.start_ns;
    course->recorded_ns = graph->recorded_ns;
}

/* A graph borrows its trace, which is freed before the next rank is read: what a joint replay
 * asks of a task is copied here, so that memory grows with the work of the ranks and not with
 * their events. */
static void collect_tasks(struct rank_replay_input *course, const struct trace_graph *graph)
{
    size_t count = graph->graph.task_count;

    course->delays_ns = large_array_new((count + 1) * sizeof *course->delays_ns);
    course->floors_ns = large_array_new((count + 1) * sizeof *course->floors_ns);
    course->recorded_starts_ns = large_array_new((count + 1) * sizeof *course->recorded_starts_ns);
    for (size_t i = 0; i < count; i++) {
        const struct trace_task *task = &graph->tasks[i];

        course->delays_ns[i] = trace_task_delay_ns(task);
        course->floors_ns[i] = trace_term_ns(graph->floors_ns, i);
        /* Only the device's work has a start of its own to compare with; tasks of the host are
         * placed by what they wait for. */
        course->recorded_starts_ns[i] =
            task->kind == TASK_DEVICE ? graph->trace->device[task->whose].start_ns - graph->start_ns
                                      : NO_RECORDED_START;
    }
}

/* The same order and choice as the summary's calls (make_digest.c), by which calls of ranks
 * are joined. */
static void rank_replay_input_collect_calls(struct rank_replay_input *course,
                                            const struct trace_graph *graph)
{
    const struct trace *trace = graph->trace;

    course->calls = large_array_new((trace->device_count + (size_t)1) * sizeof *course->calls);
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (graph->ledger->classes[i] == KERNEL_COMMUNICATION &&
            trace->tracks[trace->device[i].track].device == graph->ledger->device)
            course->calls[course->call_count++] = graph->task_of_event[i];
}

/* All scenarios at once while the trace is here: afterwards nobody can say which kernel a task
 * was. */
static void collect_durations(struct rank_replay_input *course, const struct trace_graph *graph,
                              const struct scenario *scenarios)
{
    course->durations_ns =
        require_memory(calloc(course->scenario_count + 1, sizeof *course->durations_ns));
    course->durations_ns[0] =
        trace_graph_durations(graph, &(struct replay_terms){.host_slowdown = 1});
    for (size_t i = 0; i < course->scenario_count; i++)
        course->durations_ns[i + 1] = trace_graph_durations(
            graph, &(struct replay_terms){
                       .scenario = &scenarios[i],
                       .host_slowdown = loader_slowdown(graph, &scenarios[i], CORE_SHARE_MOST)});
}

void rank_replay_input_collect(struct rank_replay_input *course, struct trace_graph *graph,
                               const struct scenario *scenarios, size_t scenario_count)
{
    rank_replay_input_collect_facts(course, graph);
    collect_tasks(course, graph);
    rank_replay_input_collect_calls(course, graph);
    /* A graph in a circle has no order in which its tasks could run: the recording itself is
     * kept, but nothing is changed in it. */
    course->scenario_count = graph->is_circular ? 0 : scenario_count;
    collect_durations(course, graph, scenarios);
    course->graph = graph->graph;
    course->measured = graph->measured;
    course->measured_count = graph->measured_count;
    /* Moved, not copied: it is the largest part by far. */
    graph->graph = (struct task_graph){0};
    graph->measured = NULL;
}

/* One more list of durations than scenarios: the first is the run without a change. */
void rank_replay_input_clear(struct rank_replay_input *course)
{
    for (size_t i = 0; course->durations_ns && i <= course->scenario_count; i++)
        large_array_free(course->durations_ns[i]);
    free(course->durations_ns);
    task_graph_clear(&course->graph);
    free(course->file);
    large_array_free(course->delays_ns);
    large_array_free(course->floors_ns);
    large_array_free(course->recorded_starts_ns);
    large_array_free(course->calls);
    free(course->measured);
    *course = (struct rank_replay_input){0};
}

void rank_replay_inputs_add(struct rank_replay_inputs *courses, struct rank_replay_input *course)
{
    ARRAY_ADD(courses->courses, courses->count, *course);
    *course = (struct rank_replay_input){0};
}

void rank_replay_inputs_clear(struct rank_replay_inputs *courses)
{
    for (size_t i = 0; i < courses->count; i++)
        rank_replay_input_clear(&courses->courses[i]);
    free(courses->courses);
    *courses = (struct rank_replay_inputs){0};
}
