/* Which captured graph each launch of a graph replays, told by the names of its kernels. */
#ifndef FLOPLEDGER_TRACE_GRAPHS_MATCH_GRAPHS_H
#define FLOPLEDGER_TRACE_GRAPHS_MATCH_GRAPHS_H

#include "trace/graphs/captured_graphs.h"
#include "trace/graphs/graph_launches.h"
#include "trace/trace.h"

#include <stdint.h>

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

#endif
