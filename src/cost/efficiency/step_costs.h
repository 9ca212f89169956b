/* What the ops of a ledger's steps cost. */
#ifndef FLOPLEDGER_COST_EFFICIENCY_STEP_COSTS_H
#define FLOPLEDGER_COST_EFFICIENCY_STEP_COSTS_H

#include "cost/modules/module_costs.h"
#include "ledger/step_ledger.h"
#include "trace/trace.h"

/* Measures module costs over the steps of `ledger`; over the whole trace where it has none.
 * `description` may be NULL. `costs` must be zeroed. */
void measure_step_costs(struct module_costs *costs, const struct trace *trace,
                        const struct ledger *ledger, const struct model_description *description);

#endif
