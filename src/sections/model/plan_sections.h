/* What `flopledger plan` says: the step, its ledger, the memory of the fullest device. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_PLAN_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MODEL_PLAN_SECTIONS_H

#include "cost/plan/planned_step.h"
#include "output/results/results.h"
#include "sections/analysis.h"
#include "sections/model/plan_headlines.h"

struct section *describe_plan(struct results *results, const struct plan_setting *setting,
                              const struct plan_layout *layout, const struct plan_outcome *outcome);
struct section *describe_plan_ledger(struct results *results, const struct plan_outcome *outcome);
struct section *describe_plan_memory(struct results *results, const struct plan_setting *setting,
                                     const struct plan_outcome *outcome);
/* What is trained, and what a device costs; 0: not said. */
struct plan_bill {
    double tokens;
    double of_device_hour;
    double watts;               /* of a device, with its share of all around it; 0: its board's */
    double interruptions;       /* of a device in a day */
    double restart_minutes;     /* from the last step before an interruption to the next one */
    double checkpoint_seconds;  /* for which training stands still */
    double checkpoint_interval; /* minutes; 0: that of the highest ETTR */
};

/* Steps, days and device-hours of a training, with the interval of the step; energy, cost and
 * interruptions where what they need is said. */
struct section *describe_plan_bill(struct results *results, const struct device_peak *device,
                                   const struct plan_outcome *outcome,
                                   const struct plan_bill *bill);
/* The best layouts, what limits each, and those that lack memory. */
struct section *describe_plan_search(struct results *results, const struct plan_setting *setting,
                                     const struct plan_search *search);

/* The most requests for the latency, and tokens a second by phase; adds it to `rank`. */
void describe_plan_serving(struct results *results, struct rank_results *rank,
                           const struct plan_setting *setting, const struct plan_server *server);

/* ERROR_USAGE, one sentence on what differs, where the plan is of another device, layout or model
 * than what was recorded, as far as both tell. */
MUST_USE bool plan_fits_run(const struct planned_step *plan, const struct analysis_input *input,
                            struct error *error);
/* A recorded rank beside a plan: account by account, and why they differ; adds it to `rank`. */
void describe_plan_against_run(struct results *results, struct rank_results *rank,
                               const struct analysis_input *input, const struct planned_step *of);
/* The rank's stage of the pipeline, by its folder's name, its sends or the plan's layout; -1: not
 * known, or no pipeline. */
int64_t planned_stage_of(const struct planned_step *plan, const struct trace *trace);
/* Of all ranks, each described: whom the others wait for, as the headline of the results. */
void find_plan_straggler(struct results *results);

#endif
