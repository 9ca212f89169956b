/* The graph of recorded steps with each task where it was recorded. */
#include "critical_path/pinned_steps.h"

#include "base/core/large_array.h"

static int64_t recorded_start_ns(const struct trace_graph *graph, const struct trace_task *task)
{
    return graph->trace->device[task->whose].start_ns - graph->start_ns;
}

static bool is_device_task(const struct trace_task *task)
{
    return task->kind == TASK_DEVICE || task->kind == TASK_ROOM;
}

/* By when a launch must have reached the device, so that its work starts when it did, goes where
 * its delay will be: of tasks of DELAY; INT64_MAX of others. A launch that was faster than usual
 * took less than usual. */
static void find_latest_arrivals(struct pinned_steps *pinned)
{
    const struct trace_graph *graph = pinned->graph;
    const struct task_graph *tasks = &graph->graph;
    int64_t *latest_ns = pinned->delays_ns;

    for (size_t i = 0; i < tasks->task_count; i++)
        latest_ns[i] = INT64_MAX;
    for (size_t i = 0; i < tasks->task_count; i++) {
        const struct trace_task *task = &graph->tasks[i];

        for (size_t k = tasks->first_need[i]; k < tasks->first_need[i + 1]; k++) {
            uint32_t before = tasks->needs[k];
            int64_t arrival_ns;

            if (!is_device_task(task) || graph->tasks[before].kind != TASK_DELAY)
                continue;
            arrival_ns = recorded_start_ns(graph, task) - task->delay_ns;
            if (arrival_ns < latest_ns[before])
                latest_ns[before] = arrival_ns;
        }
    }
}

/* Why pinned and not replayed: a replay has usual latencies in place of recorded ones, so its
 * path may differ from that of the run. Here each task of the device starts when it did, host
 * tasks end when they did, and what lies between being ready and starting becomes a delay of its
 * own. The graph is walked in an order in which needs come before tasks (graph.order), so one
 * pass is enough: O(tasks + edges). */
static void pin_task(struct pinned_steps *pinned, uint32_t at, int64_t ready_ns)
{
    const struct trace_task *task = &pinned->graph->tasks[at];
    int64_t duration_ns = task->duration_ns, start_ns = ready_ns;
    int64_t latest_arrival_ns = pinned->delays_ns[at];

    switch ((enum trace_task_kind)task->kind) {
    /* A need that ended later than the task did (clocks, or an edge that is a guess) must not
     * push the recording: the task then starts when it ended, with no duration. */
    case TASK_HOST:
    case TASK_CALL:
    case TASK_SYNC:
        if (task->end_ns < start_ns)
            start_ns = task->end_ns;
        duration_ns = task->end_ns - start_ns;
        break;
    case TASK_DELAY:
        if (ready_ns + duration_ns > latest_arrival_ns)
            duration_ns = latest_arrival_ns > ready_ns ? latest_arrival_ns - ready_ns : 0;
        break;
    /* The one time that a recording is sure of. If the needs were ready later than it began,
     * the delay is negative, and the path goes through the need all the same. */
    case TASK_DEVICE:
    case TASK_ROOM:
        start_ns = recorded_start_ns(pinned->graph, task);
        break;
    /* A wait has no time of its own: it ends when the last of its needs does. */
    case TASK_WAIT:
        break;
    }
    pinned->delays_ns[at] = start_ns - ready_ns;
    pinned->durations_ns[at] = duration_ns;
    pinned->ends_ns[at] = start_ns + duration_ns;
}

static int64_t *pinned_steps_array_of_tasks(const struct trace_graph *graph)
{
    return large_array_new((graph->graph.task_count + 1) * sizeof(int64_t));
}

/* In the graph's order, in which all that a task waits for comes before it. */
void pin_steps(struct pinned_steps *pinned, const struct trace_graph *graph)
{
    *pinned = (struct pinned_steps){.graph = graph,
                                    .durations_ns = pinned_steps_array_of_tasks(graph),
                                    .delays_ns = pinned_steps_array_of_tasks(graph),
                                    .ends_ns = pinned_steps_array_of_tasks(graph)};
    find_latest_arrivals(pinned);
    for (size_t i = 0; i < graph->graph.task_count; i++) {
        uint32_t task = graph->graph.order[i];

        pin_task(pinned, task,
                 task_ready_ns(&graph->graph, task, pinned->ends_ns,
                               trace_term_ns(graph->floors_ns, task)));
    }
}

/* Only lends what it points at: all of it stays the property of the pinned steps. */
struct timed_tasks pinned_tasks(const struct pinned_steps *pinned)
{
    return (struct timed_tasks){.graph = &pinned->graph->graph,
                                .durations_ns = pinned->durations_ns,
                                .delays_ns = pinned->delays_ns,
                                .ends_ns = pinned->ends_ns,
                                .measured = pinned->graph->measured,
                                .measured_count = pinned->graph->measured_count};
}

void pinned_steps_clear(struct pinned_steps *pinned)
{
    large_array_free(pinned->durations_ns);
    large_array_free(pinned->delays_ns);
    large_array_free(pinned->ends_ns);
    *pinned = (struct pinned_steps){0};
}
