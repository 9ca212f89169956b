/* How launches of graphs are matched with the graphs that were captured. */
#ifndef FLOPLEDGER_TRACE_GRAPHS_GRAPH_MATCHING_H
#define FLOPLEDGER_TRACE_GRAPHS_GRAPH_MATCHING_H

#include "trace/graphs/captured_graphs.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The launches of graphs in a trace, and which of them have the same kernels in the same order. */

/* One launch of a graph. */
struct graph_launch {
    uint32_t call;  /* of trace.host */
    uint32_t first; /* of graph_launches.events */
    uint32_t count;
    uint32_t kind;     /* of graph_launches.kinds */
    uint32_t resolved; /* the captured graph that the launches around it tell, or NO_EVENT */
};

/* Launches whose kernels are the same in the same order. */
struct launch_kind {
    uint32_t example; /* of graph_launches.launches */
    uint32_t launches;
    uint32_t *candidates; /* captured graphs that fit, in their order */
    uint32_t candidate_count;
    bool has_nodes;     /* numbers of nodes tell the order of the capture */
    bool is_parallel;   /* no, and its kernels run on several streams */
    bool leaves_copies; /* fits without copies and memsets */
    bool is_reordered;  /* the same kernels, in another order: branches */
    bool is_near;       /* the candidates have a few kernels more, or a few less */
    int64_t missing;    /* then: how many more the last of them has */
};

struct graph_launches {
    struct graph_launch *launches; /* by time */
    size_t count;
    uint32_t *events; /* device events, by launch; in a launch by node number, else by time */
    size_t event_count;
    struct launch_kind *kinds;
    size_t kind_count;
};

/* "cudaGraphLaunch", "hipGraphLaunch": the call launches a graph. */
bool is_name_of_graph_launch(const char *name);

/* What tells the event in the order of a graph: its name, or SYMBOL_COPY. */
uint32_t graph_symbol_of(const struct trace *trace, uint32_t device_event);

/* `launches` must be zeroed. */
void find_graph_launches(struct graph_launches *launches, const struct trace *trace);

void graph_launches_clear(struct graph_launches *launches);

/* Which captured graph each launch of a graph replays, told by the names of its kernels. */

/* What a kernel of a launch is given. */
struct kernel_origin {
    uint32_t launch; /* of captured_graphs.launches, or NO_EVENT */
    uint8_t fate;    /* enum graph_fate */
};

/* Finds the candidates of each kind, and what the order of launches tells. */
void match_graph_launches(struct graph_launches *launches, const struct trace *trace,
                          const struct captured_graphs *graphs);

/* Where the kernels of a launch come from: [launch->count]; free() it. */
struct kernel_origin *find_kernel_origins(const struct graph_launches *launches,
                                          const struct graph_launch *launch,
                                          const struct trace *trace,
                                          const struct captured_graphs *graphs);

/* Gives the kernels of CUDA and HIP graphs the operators, shapes and modules of their captures. */

/* Work of a device that a launch of a graph started is in the trace. */
bool has_graph_launches(const struct trace *trace);

/* Sets trace->graphs where graphs are launched, and adds a thread to the trace on which each launch
 * has a copy of the operators and modules that it replays; trace->launch_operator then names
 * them. To be called once, before anything is made of the trace. `graphs` may be empty. */
void attribute_graphs(struct trace *trace, const struct captured_graphs *graphs);

#endif
