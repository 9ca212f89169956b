/* What each module of a traced model costs: FLOPs, bytes, time on host and device; forward,
 * backward, and computed again. */
#ifndef FLOPLEDGER_COST_MODULES_MODULE_COSTS_H
#define FLOPLEDGER_COST_MODULES_MODULE_COSTS_H

#include "cost/flops/user_formula.h"
#include "cost/modules/compiled_calls.h"
#include "cost/modules/counted_ops.h"
#include "cost/modules/host_context.h"
#include "cost/modules/module_tree.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Sums over the counted ops of one phase. */
struct phase_cost {
    int64_t flops;           /* of matrix products, convolutions, attention, recurrent layers */
    int64_t model_flops;     /* see struct op_cost */
    int64_t masked_flops;    /* see struct op_cost */
    int64_t macs;            /* of the same ops as flops */
    int64_t pointwise_flops; /* of all other ops */
    int64_t bytes;           /* read and written by all counted ops whose bytes are known */
    int64_t matrix_bytes;    /* of those, by the ops of `flops` */
    int64_t ops;             /* counted ones */
    int64_t unsized_ops;     /* counted ops whose bytes are not known */
    int64_t host_ns;         /* time of host threads spent here and in no module inside */
    int64_t device_ns;       /* kernels, copies and memsets launched here, summed */
    int64_t device_events;
};

struct module_cost {
    struct phase_cost own[PHASE_COUNT];   /* without modules inside it */
    struct phase_cost total[PHASE_COUNT]; /* with them */
    int64_t calls;                        /* forward */
    int64_t recomputed_calls;
    int64_t forward_ns; /* from entering to leaving, summed over the calls; of a module that is not
                           called itself, the sum of its children's */
    int64_t recompute_ns;
};

/* Ops of one name that are not counted, or that are doubtful. */
struct uncounted_op {
    const char *name; /* in the trace's strings, or static */
    const char *why;
    int64_t calls;
    int64_t host_ns;   /* own time */
    int64_t device_ns; /* of what it launched itself */
};

struct doubtful_op {
    const char *name;
    uint32_t module;
    int64_t flops; /* of all of that name and module */
    int64_t calls;
};

/* An op by name, for a report of a trace without modules. */
struct op_total {
    const char *name;
    int64_t calls; /* counted */
    enum cost_kind kind;
    int64_t flops;
    int64_t macs;
    int64_t bytes; /* -1: of some of them not known */
    int64_t host_ns;
    int64_t device_ns;
};

struct time_window {
    int64_t start_ns;
    int64_t end_ns;
};

struct module_cost_options {
    const struct time_window *windows; /* sorted; only what starts in one counts; count 0: all */
    const struct time_window *device_windows; /* likewise, for what the device does; NULL: the same
                                               */
    uint32_t window_count;
    const struct user_formulas *user;            /* may be NULL */
    const struct model_description *description; /* may be NULL */
};

struct module_costs {
    struct module_tree tree;
    struct host_contexts contexts; /* of each host event, in and outside of the windows */
    struct counted_ops counted;    /* likewise */
    struct module_cost *modules;   /* [tree.count] */
    struct module_cost outside;    /* what belongs to no module */
    struct phase_cost total[PHASE_COUNT];
    int64_t device_ns;    /* of all device events in the windows: the sum of all above */
    int64_t forward_ns;   /* of the outermost modules' calls: what one sees as "the forward" */
    struct op_total *ops; /* most FLOPs first, then time */
    uint32_t op_count;
    struct uncounted_op *uncounted; /* most time first */
    uint32_t uncounted_count;
    bool lacks_products; /* ops that are not counted may hold some: FLOPs are at least so many */
    struct doubtful_op *doubtful;
    uint32_t doubtful_count;
    /* products of compiled backwards: gradients, or computed again; of JAX those that no phase is
     * told of */
    int64_t undecided_calls;
    int64_t undecided_flops;
    struct compiled_calls compiled; /* what runs in compiled code, in and outside of the windows */
    bool has_shapes;                /* some op has recorded shapes */
    bool has_device;                /* the trace has device work */
    int64_t optimizer_steps;        /* Optimizer.step ranges in the windows */
};

/* A matmul whose phase the recorder does not tell, though it tells that of others. */
static inline bool is_product_of_no_phase(const struct module_costs *costs,
                                          const struct trace *trace, uint32_t i)
{
    const struct counted_ops *ops = &costs->counted;

    return costs->contexts.has_recorded_phases && ops->states[i] == OP_COUNTED &&
           ops->costs[ops->cost_of[i]].kind == COST_MATRIX &&
           !trace->details[trace->host[i].detail].phase;
}

/* A call of XLA's of code that it does not know ("custom-call.5": Pallas on a TPU), of more than
 * one percent of the device's time. */
static inline bool is_library_call(const struct module_costs *costs, const struct uncounted_op *op)
{
    return strstr(op->name, "custom-call") && op->device_ns > costs->device_ns / 100;
}

/* `costs` must be zeroed. Texts live as long as the trace. */
void measure_module_costs(struct module_costs *costs, const struct trace *trace,
                          const struct module_cost_options *options);

void module_costs_clear(struct module_costs *costs);

/* The sum of all phases but the optimizer's. */
struct phase_cost sum_of_phases(const struct phase_cost phases[PHASE_COUNT]);

void phase_cost_add(struct phase_cost *to, const struct phase_cost *from);

#endif
