/* Ops by name: those that are counted, those that are not, and those that are doubtful. */
#ifndef FLOPLEDGER_COST_MODULES_OP_TOTALS_H
#define FLOPLEDGER_COST_MODULES_OP_TOTALS_H

#include "cost/modules/module_costs.h"

/* What the lists are made of. */
struct op_survey {
    const struct trace *trace;
    const struct counted_ops *ops;
    const struct host_contexts *contexts;
    const int64_t *own_ns;      /* [host_count] */
    const int64_t *device_ns;   /* [host_count]: launched by the event itself */
    const bool *is_chosen;      /* [host_count]: lies in the windows */
    int64_t unlaunched_kernels; /* kernels without an operator */
    int64_t unlaunched_ns;
};

/* Fills ops, uncounted and doubtful of `costs`. */
void list_ops(struct module_costs *costs, const struct op_survey *survey);

#endif
