/* Which operators and modules of the program the calls in compiled code stand for. */
#ifndef FLOPLEDGER_COST_MODULES_COMPILED_CALLS_H
#define FLOPLEDGER_COST_MODULES_COMPILED_CALLS_H

#include "cost/modules/compiled_code.h"
#include "cost/modules/counted_ops.h"
#include "cost/modules/host_context.h"
#include "cost/modules/module_tree.h"
#include "trace/trace.h"

#include <stdint.h>

/* What became of the ranges "## Call CompiledFxGraph KEY ##". */
struct compiled_range {
    uint32_t event;                     /* of trace->host */
    const struct compiled_graph *graph; /* NULL: nothing tells what is in it */
    bool is_known;                      /* the calls in the trace are those of the graph */
};

/* A call in compiled code. */
struct compiled_event {
    uint32_t event;                   /* of trace->host */
    uint32_t range;                   /* of compiled_calls.ranges */
    const struct compiled_call *call; /* NULL: not known */
};

/* Zeroed is empty. */
struct compiled_calls {
    struct compiled_range *ranges;
    size_t range_count;
    struct compiled_event *events; /* operators right in compiled code, and in no other */
    size_t event_count;
};

/* Gives what lies in compiled code the modules of the program, in `contexts`; `code` may be empty.
 * A range is known only where its operators, of the names that the code calls, are all of those
 * calls in their order. */
void find_compiled_calls(struct compiled_calls *calls, struct host_contexts *contexts,
                         const struct trace *trace, const struct module_tree *tree,
                         const struct compiled_code *code);

/* Kernels that torch.compile wrote count what their calls say; a known range is none of which it is
 * not known what it computes. */
void count_compiled_calls(const struct compiled_calls *calls, struct counted_ops *ops);

void compiled_calls_clear(struct compiled_calls *calls);

#endif
