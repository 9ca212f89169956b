/* Every call of an operator with its self and total times, by the rules of torch's key_averages().
 */
#ifndef FLOPLEDGER_SECTIONS_KERNELS_OPERATOR_CALLS_H
#define FLOPLEDGER_SECTIONS_KERNELS_OPERATOR_CALLS_H

#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* An event of a host thread that takes part in the nesting: an operator, a named range or a runtime
 * call. A call belongs to the innermost call of its thread that holds it wholly; one that overlaps
 * another only in part is not inside it. */
struct operator_call {
    uint32_t parent; /* index in the array, or NO_EVENT */
    uint32_t child_count;
    bool is_counted;         /* takes part in the nesting, and is not merged into its parent */
    int64_t self_cpu_ns;     /* its duration less those of its children */
    int64_t self_device_ns;  /* durations of the device events that it launched itself */
    int64_t total_device_ns; /* ... or that its children launched */
};

/* A stretch of a thread: trace->host[first .. first + count). */
struct thread_interval {
    uint32_t first;
    uint32_t count;
};

/* The events from `first` on, of which `end` is the end of the thread's, up to where no call is
 * open: no call of what comes then has a parent in the stretch. Events are sorted. */
struct thread_interval next_interval(const struct trace *trace, uint32_t first, uint32_t end,
                                     const bool *is_left_out);

/* The calls of `interval`: one for each of its events, [count]; `calls` must have room for them.
 * `device_ns`: for each of trace->host the summed durations of the device
 * events that belong to it. `is_left_out`: for each of trace->strings, as find_left_out_names gives
 * it.
 *
 * An operator that is the only child of an operator of the same name is one call with it (as in
 * torch): it is not counted, and its device time goes to its parent. */
void measure_operator_calls(struct operator_call *calls, const struct trace *trace,
                            struct thread_interval interval, const int64_t *device_ns,
                            const bool *is_left_out);

/* By string id: names that torch.profiler leaves out of its tables, as if they had not been
 * recorded. free() it. */
bool *find_left_out_names(const struct trace *trace);

#endif
