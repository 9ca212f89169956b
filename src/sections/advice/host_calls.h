/* The calls and ranges of the host that the advice asks about, by what they are. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_HOST_CALLS_H
#define FLOPLEDGER_SECTIONS_ADVICE_HOST_CALLS_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum host_call_kind {
    CALLS_COMPILATION, /* ranges in which code is compiled, of threads that launch work or mark
                          steps */
    CALLS_DATA,        /* ranges of the data loader */
    CALLS_SYNC,        /* calls that wait for the device, of threads that launch work or mark steps;
                          memsets of the host's memory */
    CALLS_ALLOCATOR,   /* of device or pinned memory */
    CALLS_SLOW,        /* other runtime calls that take long */
    CALLS_GARBAGE,     /* Python's garbage collector */
    CALLS_OVERHEAD,    /* the profiler's own work */
    CALLS_PREPARATION, /* Python frames that prepare data, outside the loader: the outermost ones */
    CALLS_COMPUTATION, /* operators that take long and call nothing of the device's: they compute on
                          the processor; the outermost ones, outside of both above */
    CALLS_KIND_COUNT,
};

/* Indices in trace->host, ascending: by thread, then start. Only what lies at least partly in a
 * step. */
struct host_call_list {
    uint32_t *events; /* [count] */
    uint32_t count;
};

/* Zeroed is empty. */
struct host_calls {
    struct host_call_list lists[CALLS_KIND_COUNT];
    int64_t python_frames; /* in the whole trace, as the operators */
    int64_t operators;
};

/* `slow_ns`: from how long on a call is one of CALLS_SLOW or CALLS_COMPUTATION. */
void find_host_calls(struct host_calls *calls, const struct trace *trace,
                     const struct ledger *ledger, int64_t slow_ns);
void host_calls_clear(struct host_calls *calls);

#endif
