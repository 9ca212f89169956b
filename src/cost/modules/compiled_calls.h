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
    uint32_t event; /* of trace->host; of a run without a range the first */
    bool is_range;
    const struct compiled_graph *graph; /* NULL: nothing tells what is in it */
    bool is_known;                      /* the calls in the trace are those of the graph */
};

/* A call in compiled code. */
struct compiled_event {
    uint32_t event;                    /* of trace->host */
    uint32_t range;                    /* of compiled_calls.ranges; NO_VALUE */
    uint32_t base;                     /* the module whose code was compiled, or NO_MODULE */
    const struct compiled_call *call;  /* NULL: not known */
    const struct compiled_call *sized; /* the same with the FLOPs of this run */
};

/* Zeroed is empty. */
struct compiled_calls {
    struct compiled_range *ranges;
    size_t range_count;
    struct compiled_event *events; /* operators right in compiled code, and in no other */
    size_t event_count;
    struct arena arena; /* what is of one run */
};

/* What the program's modules are called, and what was compiled of them. */
struct compiled_model {
    const struct module_tree *tree;
    const struct model_description *description; /* may be NULL */
};

/* Gives what lies in compiled code the modules of the program, in `contexts`. A range is known only
 * where its operators, of the names that the code calls, are all of those calls in their order. */
void find_compiled_calls(struct compiled_calls *calls, struct host_contexts *contexts,
                         const struct trace *trace, const struct compiled_model *model);

/* Runs of the code of AOTInductor, which no range tells: each is known where all of its calls that
 * the trace has by name at all come in their order. And lines of kernels that carry them (`stack`),
 * where nothing else tells them. In compiled_runs.c. */
void find_compiled_runs(struct compiled_calls *calls, const struct trace *trace,
                        const struct host_contexts *contexts, const struct compiled_model *model);

/* The module of a place in code that was called in `base`; `base` itself where there is none. */
uint32_t compiled_module_at(const struct compiled_model *model, uint32_t base,
                            const struct compiled_place *place);

/* Calls in a backward whose code says whether they compute the forward again get the phase of that,
 * and leave no doubt. `is_undecided` may be NULL. */
void set_compiled_phases(const struct compiled_calls *calls, struct host_contexts *contexts,
                         const struct trace *trace, bool *is_undecided);

/* FLOPs of calls in known ranges whose sizes are those of each run (dynamic shapes): what their
 * symbols stood for is told by the shapes of the operators in the range, and by the arguments of
 * the function around it. Where these contradict each other, or do not tell, they stay unknown. */
void bind_compiled_sizes(struct compiled_calls *calls, const struct trace *trace,
                         const uint32_t *parents);

/* Kernels that torch.compile wrote count what their calls say; a known range is none of which it is
 * not known what it computes. */
void count_compiled_calls(const struct compiled_calls *calls, struct counted_ops *ops);

void compiled_calls_clear(struct compiled_calls *calls);

#endif
