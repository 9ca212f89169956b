/* Joins kernels with the calls that launched them, and with the operators that did. Part of
 * trace_finish. */
#ifndef FLOPLEDGER_TRACE_TRACE_LINK_H
#define FLOPLEDGER_TRACE_TRACE_LINK_H

#include "trace/trace.h"

/* Fills trace->launch and trace->launch_operator; host and device events must be sorted. */
void trace_link(struct trace *trace, unsigned threads);

#endif
