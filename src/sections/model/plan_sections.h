/* What `flopledger plan` says: the step, its ledger, the memory of the fullest device. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_PLAN_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MODEL_PLAN_SECTIONS_H

#include "cost/plan/plan_search.h"
#include "output/results/results.h"

struct section *describe_plan(struct results *results, const struct plan_setting *setting,
                              const struct plan_layout *layout, const struct plan_outcome *outcome);
struct section *describe_plan_ledger(struct results *results, const struct plan_outcome *outcome);
struct section *describe_plan_memory(struct results *results, const struct plan_setting *setting,
                                     const struct plan_outcome *outcome);
/* What is trained, and what a device costs; 0: not said. */
struct plan_bill {
    double tokens;
    double of_device_hour;
};

/* Steps, days and device-hours of a training, with the interval of the step; cost where that of an
 * hour is said. Interruptions are not counted. */
struct section *describe_plan_bill(struct results *results, const struct plan_outcome *outcome,
                                   const struct plan_bill *bill);
/* The best layouts, what limits each, and those that lack memory. */
struct section *describe_plan_search(struct results *results, const struct plan_setting *setting,
                                     const struct plan_search *search);

#endif
