/* Gives the kernels of CUDA and HIP graphs the operators, shapes and modules of their captures. */
#ifndef FLOPLEDGER_TRACE_GRAPHS_ATTRIBUTE_GRAPHS_H
#define FLOPLEDGER_TRACE_GRAPHS_ATTRIBUTE_GRAPHS_H

#include "trace/graphs/captured_graphs.h"
#include "trace/trace.h"

#include <stdbool.h>

/* Work of a device that a launch of a graph started is in the trace. */
bool has_graph_launches(const struct trace *trace);

/* Sets trace->graphs where graphs are launched, and adds a thread to the trace on which each launch
 * has a copy of the operators and modules that it replays; trace->launch_operator then names
 * them. To be called once, before anything is made of the trace. `graphs` may be empty. */
void attribute_graphs(struct trace *trace, const struct captured_graphs *graphs);

#endif
