/* When a thread is in its optimizer: the Optimizer.step ranges without what a closure does in them.
 */
#ifndef FLOPLEDGER_TRACE_OPTIMIZER_TIME_H
#define FLOPLEDGER_TRACE_OPTIMIZER_TIME_H

#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch of one thread. */
struct optimizer_interval {
    uint32_t track;
    int64_t start_ns;
    int64_t end_ns;
};

/* Sorted by track, then start. */
struct optimizer_time {
    struct optimizer_interval *intervals;
    size_t count;
};

/* Forward and backward run inside Optimizer.step where it is given a closure (LBFGS, the automatic
 * optimization of PyTorch Lightning): from the first op with a number of autograd to the end of the
 * backward that follows, and the forward of each module, time is not the optimizer's. A range
 * without a backward in it has no closure: its ops may have such numbers all the same. `time` must
 * be zeroed. */
void find_optimizer_time(struct optimizer_time *time, const struct trace *trace);
void optimizer_time_clear(struct optimizer_time *time);

/* MmBackward0, CompiledFunctionBackward: what autograd calls, in older traces without a range of
 * the engine around it. */
bool is_autograd_node(const char *name);

/* How much of a stretch of a thread is the optimizer's. */
int64_t optimizer_time_between(const struct optimizer_time *time, uint32_t track,
                               const int64_t range_ns[2]);

bool is_optimizer_time(const struct optimizer_time *time, uint32_t track, int64_t time_ns);

#endif
