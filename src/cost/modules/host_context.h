/* To which module each host event belongs, and in which phase of training it happened. */
#ifndef FLOPLEDGER_COST_MODULES_HOST_CONTEXT_H
#define FLOPLEDGER_COST_MODULES_HOST_CONTEXT_H

#include "cost/modules/module_tree.h"
#include "trace/optimizer_time.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* For each of trace->host: the innermost event of its thread that holds it wholly, or NO_EVENT. One
 * that overlaps another only in part is not inside it. A parent's index is lower than its
 * children's. [trace->host_count]; large_array_free() it. */
uint32_t *find_host_parents(const struct trace *trace);

/* Duration less the durations of the direct children, never negative. [trace->host_count];
 * large_array_free() it. */
int64_t *measure_own_times(const struct trace *trace, const uint32_t *parents);

enum training_phase {
    PHASE_FORWARD, /* also what is in no phase: the loss, the loader */
    PHASE_BACKWARD,
    PHASE_RECOMPUTE, /* a forward inside a backward: activation checkpointing; told by module marks,
                        else by ops that only a forward calls */
    PHASE_OPTIMIZER,
};
enum { PHASE_COUNT = PHASE_OPTIMIZER + 1 };

const char *training_phase_key(enum training_phase phase); /* "forward" */

/* All arrays have an entry for each of trace->host. */
struct host_contexts {
    uint32_t *parents;
    uint32_t *modules;       /* see module_of_host; NULL: the tree has no module */
    uint8_t *phases;         /* enum training_phase */
    uint32_t *backward_node; /* the innermost autograd node around (evaluate_function; where the
                                trace has none, MmBackward and the like), or NO_EVENT; NULL from
                                host_contexts_keep_nodes on */
    uint8_t *is_node;        /* from then on: it is such a node; NULL: the tree has no module */
    struct optimizer_time optimizer; /* without closures */
    bool has_recorded_phases;        /* the recorder tells those of operators */
};

/* Of event `i` of trace->host; NO_MODULE: outside of any. */
static inline uint32_t module_of_host(const struct host_contexts *contexts, uint32_t i)
{
    return contexts->modules ? contexts->modules[i] : NO_MODULE;
}

/* Forward and recomputed events belong to the innermost module mark around them; those of a
 * backward to the module of the forward op whose sequence number the autograd node carries.
 * `contexts` must be zeroed; takes `parents` over. */
void find_host_contexts(struct host_contexts *contexts, const struct trace *trace,
                        const struct module_tree *tree, uint32_t *parents);

/* To be called once nobody asks for backward_node any more: it takes four bytes for each event. */
void host_contexts_keep_nodes(struct host_contexts *contexts, const struct trace *trace,
                              const struct module_tree *tree);

/* Of each of trace->host, whether it is in PHASE_RECOMPUTE; large_array_free() it. */
uint8_t *find_recomputed(const struct host_contexts *contexts, const struct trace *trace);

/* Where a piece of a device's work was launched. */
struct device_context {
    uint32_t module; /* NO_MODULE: outside of any, or the launch is not known */
    enum training_phase phase;
    bool is_known; /* the launch is */
};

/* Of event `index` of trace->device. */
struct device_context find_device_context(const struct host_contexts *contexts,
                                          const struct trace *trace, uint32_t index);

void host_contexts_clear(struct host_contexts *contexts);

#endif
