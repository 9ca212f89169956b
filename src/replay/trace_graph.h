/* The dependencies of one recorded run: what each host thread, each call and each kernel waited
 * for, so that the steps can be replayed with other durations.
 *
 * Host threads run their calls in order, with the recorded time between them. A kernel starts when
 * its launch has reached the device, all before it on its stream has ended, and so has the work of
 * another stream that it was seen to wait for. A call that waits for the device returns after the
 * work that it waited for. One thread that falls silent and another that begins after it are a
 * hand-over. Launches reach the device, and kernels follow each other, as fast as is usual in this
 * trace: what else delayed a kernel is not modelled, and makes the replay's error. */
#ifndef FLOPLEDGER_REPLAY_TRACE_GRAPH_H
#define FLOPLEDGER_REPLAY_TRACE_GRAPH_H

#include "base/core/attributes.h"
#include "ledger/step_ledger.h"
#include "replay/scenario.h"
#include "replay/task_graph.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_task_kind {
    TASK_HOST,   /* a thread between two cuts */
    TASK_CALL,   /* a call that puts work on the device */
    TASK_SYNC,   /* what is left of a call once what it waited for is done */
    TASK_WAIT,   /* "not before that work of the device": between it and a TASK_SYNC */
    TASK_DELAY,  /* from a call to its work's start, from one thread to the next */
    TASK_DEVICE, /* a kernel, copy or memset */
    TASK_ROOM,   /* from a kernel's or copy's start until it leaves room for work of another stream,
                    or lets go of the call that makes it */
};
enum { TRACE_TASK_KINDS = TASK_ROOM + 1 };

/* There are some for each launch: no field more than all of them need, in 20 bytes. */
struct __attribute__((packed, aligned(4))) trace_task {
    int64_t duration_ns;
    union {
        int64_t end_ns;   /* HOST, CALL, SYNC: recorded, from the start of the range */
        int64_t delay_ns; /* DEVICE, ROOM: from the end of what it waits for to its start */
    };
    uint32_t kind : 3;        /* enum trace_task_kind */
    uint32_t is_captured : 1; /* HOST, CALL: between two launches that a CUDA graph would make one,
                                 or the latter of them */
    uint32_t whose : 28;      /* see trace_task_event and trace_task_track */
};
_Static_assert(sizeof(struct trace_task) == 20, "a task has no padding");
#define TRACE_TASK_WHOSE_MAX UINT32_C(0xfffffff) /* is nobody's */

/* DEVICE, ROOM: index in trace->device. Others: NO_EVENT. */
static inline uint32_t trace_task_event(const struct trace_task *task)
{
    return task->kind == TASK_DEVICE || task->kind == TASK_ROOM ? task->whose : NO_EVENT;
}

/* HOST, CALL, SYNC: the thread; NO_EVENT: from one thread to another. Others: NO_EVENT. */
static inline uint32_t trace_task_track(const struct trace_task *task)
{
    return task->kind <= TASK_SYNC && task->whose != TRACE_TASK_WHOSE_MAX ? task->whose : NO_EVENT;
}

/* Of a list of a graph that is made. */
static inline int64_t trace_term_ns(const int64_t *times_ns, size_t task)
{
    return times_ns ? times_ns[task] : 0;
}

static inline int64_t trace_task_delay_ns(const struct trace_task *task)
{
    return task->kind == TASK_DEVICE || task->kind == TASK_ROOM ? task->delay_ns : 0;
}

/* What is replayed. */
struct recorded_steps {
    const struct trace *trace;
    const struct ledger *ledger;
    const uint8_t *is_recomputed; /* of trace->host: a forward inside a backward; NULL: not known */
    uint32_t work_max; /* for replay_model_begin: see replay_model.h; 0: REPLAYED_WORK_MAX */
};

struct trace_graph {
    const struct trace *trace;   /* not owned */
    const struct ledger *ledger; /* not owned */
    struct task_graph graph;
    struct trace_task *tasks; /* [graph.task_count] */
    /* Of the tasks, and 0 of nearly all: large arrays whose pages are touched where they are not.
     * trace_task_time reads them while the graph is made; then all have [graph.task_count], or are
     * NULL: 0 of all (see trace_term_ns). */
    int64_t *floors_ns;    /* not before; from the start of the range */
    int64_t *data_ns;      /* HOST: of the duration, in the data loader */
    int64_t *recompute_ns; /* HOST, CALL, DEVICE: of the duration, for computing a forward again */
    uint32_t *task_of_event; /* [trace->device_count]; NO_EVENT: not replayed */
    int64_t start_ns;        /* what all times of tasks count from */
    int64_t recorded_ns;     /* from there to the end of the last step and of all its work */
    uint32_t *measured;      /* [measured_count]: tasks whose ends are the end */
    size_t measured_count;
    bool loads_itself; /* its host threads do the data loader's work (num_workers=0) */
    bool is_circular;  /* tasks wait for each other: nothing can be replayed */
};

/* `graph` must be zeroed; trace and ledger must outlive it. The ledger must have a step, and device
 * work. */
void trace_graph_build(struct trace_graph *graph, const struct recorded_steps *steps);

struct trace_replay {
    int64_t length_ns;      /* of the steps and their work */
    int64_t start_error_ns; /* mean distance of the starts of the device's work from the recorded */
};

/* What a replay is made with. */
struct replay_terms {
    bool compares_starts; /* start_error_ns is asked for, without changes; else it is 0 */
    const struct scenario *scenario; /* NULL: no changes */
    double host_slowdown;            /* all times of host threads are multiplied by it, besides */
    const double *event_factors;     /* [trace->device_count]: what becomes of each event's time,
                                        besides; NULL: nothing else */
};

struct trace_replay trace_graph_replay(const struct trace_graph *graph,
                                       const struct replay_terms *terms);

/* How long each task takes with the changes: [graph->graph.task_count];
 * large_array_free() it. */
int64_t *trace_graph_durations(const struct trace_graph *graph, const struct replay_terms *terms);

void trace_graph_clear(struct trace_graph *graph);

#endif
