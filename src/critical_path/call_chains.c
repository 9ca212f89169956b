/* What each communication kernel of a rank came after. */
#include "critical_path/call_chains.h"

#include "base/core/large_array.h"
#include "critical_path/pinned_steps.h"

#include <stdlib.h>
#include <string.h>

struct chaining {
    const struct trace_graph *graph;
    struct timed_tasks tasks;
    int64_t (*sums_ns)[CHAIN_PART_COUNT]; /* [tasks]: of all that led to the end of each */
    uint32_t *last_call; /* [tasks]: the last communication kernel on the way, or NO_TASK */
};

/* Work that leaves room for others (TASK_ROOM) stands for a call too, but has no class of its
 * own here: only the kernel's task ends a chain. */
static bool is_call(const struct trace_graph *graph, uint32_t task)
{
    return graph->tasks[task].kind == TASK_DEVICE &&
           graph->ledger->classes[graph->tasks[task].whose] == KERNEL_COMMUNICATION;
}

/* What a chain was made of is asked by people who would shorten it, so launches are told apart
 * from the host's own work, and copies from kernels. */
static enum chain_part part_of_work(const struct trace_graph *graph, const struct trace_task *task)
{
    switch ((enum trace_task_kind)task->kind) {
    case TASK_CALL:
    case TASK_DELAY:
        return CHAIN_LAUNCHES;
    case TASK_SYNC:
        return CHAIN_SYNC;
    case TASK_DEVICE:
    case TASK_ROOM:
        return graph->trace->device[task->whose].kind == EVENT_KERNEL ? CHAIN_KERNELS
                                                                      : CHAIN_COPIES;
    case TASK_WAIT:
        return CHAIN_WAITS;
    case TASK_HOST:
        break;
    }
    return CHAIN_HOST;
}

/* What lies between what the task waited for and its start. */
static void add_wait(const struct chaining *chaining, uint32_t task, uint32_t before,
                     int64_t *parts_ns)
{
    bool is_launch = before != NO_TASK && chaining->graph->tasks[before].kind == TASK_DELAY;
    int64_t start_ns = chaining->tasks.ends_ns[task] - chaining->tasks.durations_ns[task];

    parts_ns[is_launch ? CHAIN_LAUNCHES : CHAIN_WAITS] +=
        before == NO_TASK ? start_ns : start_ns - chaining->tasks.ends_ns[before];
}

/* Each task has exactly one need that decided when it started, so the needs that decided make a
 * tree, and sums along it can be carried from a task to the next: one pass over the tasks in
 * order, with a sum of each part for each. The chain between two calls is then a difference of
 * two sums, whatever lies between them. All times of a chain add up to the time from call to
 * call, because waits and launches are counted as parts, too. */
static void sum_task(struct chaining *chaining, uint32_t task)
{
    const struct trace_task *what = &chaining->graph->tasks[task];
    uint32_t before = task_waited_for(&chaining->tasks, task);
    int64_t *parts_ns = chaining->sums_ns[task];
    int64_t data_ns = trace_term_ns(chaining->graph->data_ns, task);
    int64_t duration_ns = chaining->tasks.durations_ns[task];

    if (before != NO_TASK)
        memcpy(parts_ns, chaining->sums_ns[before], sizeof chaining->sums_ns[before]);
    else
        memset(parts_ns, 0, sizeof chaining->sums_ns[task]);
    add_wait(chaining, task, before, parts_ns);
    if (what->kind != TASK_HOST || data_ns > duration_ns)
        data_ns = 0;
    parts_ns[CHAIN_DATA] += data_ns;
    parts_ns[part_of_work(chaining->graph, what)] += duration_ns - data_ns;
    chaining->last_call[task] = before == NO_TASK ? NO_TASK : chaining->last_call[before];
    if (is_call(chaining->graph, task))
        chaining->last_call[task] = task;
}

/* From the end of the last call before `task`, or from the start, to the end of `task`. The
 * difference of two sums is the chain between, as the sums along the tree only grow from call to
 * task. A chain that no call begins starts with the trace. */
static struct call_chain chain_until(const struct chaining *chaining, uint32_t task,
                                     const int32_t *call_of_event)
{
    uint32_t call = task == NO_TASK ? NO_TASK : chaining->last_call[task];
    struct call_chain chain = {.call = CHAIN_FROM_START};

    for (int part = 0; part < CHAIN_PART_COUNT && task != NO_TASK; part++)
        chain.parts_ns[part] =
            chaining->sums_ns[task][part] - (call == NO_TASK ? 0 : chaining->sums_ns[call][part]);
    if (call != NO_TASK)
        chain.call = call_of_event[chaining->graph->tasks[call].whose];
    return chain;
}

/* The communication kernels of the device by start; [device_count], -1 of others. The same order
 * and the same choice as make_digest's collect_calls: call k here is call k of the digest, which
 * is what joins chains of several ranks. */
static int32_t *number_calls(struct call_chains *chains, const struct trace_graph *graph)
{
    const struct trace *trace = graph->trace;
    int32_t *numbers = large_array_new((trace->device_count + (size_t)1) * sizeof *numbers);

    for (uint32_t i = 0; i < trace->device_count; i++) {
        bool is_one = graph->ledger->classes[i] == KERNEL_COMMUNICATION &&
                      trace->tracks[trace->device[i].track].device == graph->ledger->device;

        numbers[i] = is_one ? (int32_t)chains->call_count++ : -1;
    }
    return numbers;
}

/* The chain of a call ends where the call begins, so the call's own duration is not in it: how
 * long it lasts is decided by all ranks together, and is added where they are joined
 * (ranks_path.c). */
static void fill_chains(struct call_chains *chains, const struct chaining *chaining,
                        const int32_t *call_of_event)
{
    const struct trace_graph *graph = chaining->graph;

    chains->chains = large_array_new((chains->call_count + 1) * sizeof *chains->chains);
    for (uint32_t i = 0; i < graph->trace->device_count; i++) {
        uint32_t task = graph->task_of_event[i], before;
        struct call_chain *chain = &chains->chains[call_of_event[i] < 0 ? 0 : call_of_event[i]];

        if (call_of_event[i] < 0)
            continue;
        /* Outside of the steps nothing was replayed. */
        chain->call = CHAIN_NOT_KNOWN;
        if (task == NO_EVENT)
            continue;
        before = task_waited_for(&chaining->tasks, task);
        *chain = chain_until(chaining, before, call_of_event);
        add_wait(chaining, task, before, chain->parts_ns);
    }
    /* One more than there are calls: from the last call to the end of the steps. */
    chains->chains[chains->call_count] =
        chain_until(chaining, timed_tasks_last(&chaining->tasks), call_of_event);
}

/* One pass in topological order: what a task's chain consists of is what its own reason's
 * chain has, plus itself; at a collective the chain ends, and the next begins there. So the
 * parts between two collectives are known for each, without following any chain back. Tasks
 * are pinned to their recorded times, since ranks are joined by these. */
void find_call_chains(struct call_chains *chains, const struct trace_graph *graph)
{
    struct pinned_steps pinned = {.graph = NULL};
    size_t count = graph->graph.task_count;
    int32_t *call_of_event = number_calls(chains, graph);
    struct chaining chaining = {.graph = graph};

    pin_steps(&pinned, graph);
    chaining.tasks = pinned_tasks(&pinned);
    chaining.sums_ns = large_array_new((count + 1) * sizeof *chaining.sums_ns);
    chaining.last_call = large_array_new((count + 1) * sizeof *chaining.last_call);
    for (size_t i = 0; i < count; i++)
        sum_task(&chaining, graph->graph.order[i]);
    fill_chains(chains, &chaining, call_of_event);
    chains->start_ns = graph->start_ns;
    chains->end_ns = graph->start_ns + timed_tasks_end_ns(&chaining.tasks);
    large_array_free(chaining.sums_ns);
    large_array_free(chaining.last_call);
    large_array_free(call_of_event);
    pinned_steps_clear(&pinned);
}

void call_chains_clear(struct call_chains *chains)
{
    large_array_free(chains->chains);
    *chains = (struct call_chains){0};
}
