/* A trace_graph while it is made, for the files that make it: build_trace_graph.c the threads of
 * the host, device_links.c the work of the device, waiting_calls.c the calls that wait for it. */
#ifndef FLOPLEDGER_REPLAY_GRAPH_BUILDING_H
#define FLOPLEDGER_REPLAY_GRAPH_BUILDING_H

#include "ledger/host_activity.h"
#include "ledger/step_ledger.h"
#include "replay/trace_graph.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct marked_interval {
    uint32_t track;
    int64_t start_ns;
    int64_t end_ns;
};

/* Sorted by track, then start; those of a track do not overlap. */
struct marked_time {
    struct marked_interval *intervals; /* [count] */
    size_t count;
};

/* `is_marked`: of trace->host; NULL: none. `time` must be zeroed. */
void find_marked_time(struct marked_time *time, const struct trace *trace,
                      const uint8_t *is_marked);

/* How much of range_ns[0] to range_ns[1] the thread was inside. */
int64_t marked_ns(const struct marked_time *time, uint32_t track, const int64_t range_ns[2]);

void marked_time_clear(struct marked_time *time);

enum cut_kind {
    CUT_LAUNCH,     /* a call that put work on the device */
    CUT_SYNC,       /* a call that waits for the device */
    CUT_HANDS_OVER, /* a moment: from here on another thread goes on */
    CUT_TAKES_OVER, /* a moment: goes on after `partner` */
    CUT_END,        /* a moment: the end of the last step */
};

struct host_cut {
    int64_t start_ns;
    union {
        int64_t end_ns;        /* of all but TAKES_OVER */
        int64_t idle_since_ns; /* TAKES_OVER: when the thread fell silent */
    };
    union {
        uint32_t host_event; /* LAUNCH, SYNC: index in trace->host */
        uint32_t partner;    /* TAKES_OVER: index of the HANDS_OVER */
    };
    uint32_t track : 24;
    uint32_t kind : 8; /* enum cut_kind */
};

static inline bool is_cut_at_call(const struct host_cut *cut, uint32_t call)
{
    return cut->kind <= CUT_SYNC && cut->host_event == call;
}

static inline int64_t host_cut_end_ns(const struct host_cut *cut)
{
    return cut->kind == CUT_TAKES_OVER ? cut->start_ns : cut->end_ns;
}

/* Sorted by track, then start. */
struct host_cuts {
    struct host_cut *cuts; /* [count] */
    size_t count;
};

/* The cuts from range_ns[0] to range_ns[1]. `is_chosen`: of the trace's device events, whose
 * launches count. `cuts` must be zeroed. */
void find_host_cuts(struct host_cuts *cuts, const struct ledger *ledger,
                    struct host_activity *activity, const int64_t range_ns[2],
                    const uint8_t *is_chosen);

void host_cuts_clear(struct host_cuts *cuts);

/* Clocks of host and device, and of traces in whole microseconds, are this far apart at most. */
#define CLOCK_TOLERANCE_NS 2000

/* The work of one stream, in order of its starts. */
struct graph_stream {
    uint32_t *events; /* [count], indices in trace->device */
    uint32_t count;
};

struct graph_building {
    struct trace_graph *out;
    const struct trace *trace;
    const uint8_t *is_recomputed; /* of trace->host, or NULL */
    struct marked_time recomputing;
    struct host_activity activity;
    struct host_cuts cuts;
    int64_t range_ns[2];
    uint8_t *is_chosen;           /* [device_count] */
    uint32_t *task_of_event;      /* [device_count] */
    uint32_t *place;              /* [device_count]: in its stream */
    uint32_t *first_edge;         /* [device_count]: those of what each waits for follow it */
    struct graph_stream *streams; /* by track */
    uint32_t *cut_of_event;       /* [device_count]: its launch, of chosen work; else NO_EVENT */
    uint32_t *task_of_cut;        /* [cuts]: the task that ends where the cut ends */
    uint32_t *delay_of_cut; /* [cuts]: from the call to the device; NO_EVENT until asked for */
    int64_t latency_ns;     /* usual, from a call's start to its kernel's on an idle stream */
    int64_t gap_ns;         /* usual, from a kernel's end to the next one's start */
};

static inline int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The task that ends where the cut starts: made right before that of the cut. */
static inline uint32_t task_before_cut(const struct graph_building *building, size_t cut)
{
    return building->task_of_cut[cut] - 1;
}

/* A task of that kind; less than no time is none. */
uint32_t add_task(struct graph_building *building, enum trace_task_kind kind, int64_t duration_ns);

/* One of the times that only some tasks have: `times_ns` is a list of the graph. */
void trace_task_set(int64_t **times_ns, uint32_t task, int64_t ns);
int64_t trace_task_time(int64_t *times_ns, uint32_t task);

/* When the call that put the work on the device began; without one, when the work did. */
int64_t launch_start_ns(const struct trace *trace, uint32_t event);

/* The tasks of the work of the device: one for each piece. */
void add_device_tasks(struct graph_building *building);
/* What each piece of work waits for, and how long after it starts. To be called once the threads'
 * tasks are there. */
void link_device_tasks(struct graph_building *building);

/* The task that starts with `running` and ends at `until_ns`, as long as that runs as recorded: it
 * gets shorter as that does. Behind link_device_tasks. */
uint32_t add_room(struct graph_building *building, uint32_t running, int64_t until_ns);

/* Calls of the host that return only when work of the device has ended. Likewise. */
void link_waiting_calls(struct graph_building *building);

/* Which times of the host a CUDA graph would take out. Likewise, before link_waiting_calls. */
void mark_captured_tasks(struct graph_building *building);

#endif
