/* Level C of the ledger: what the matrix time of each step is made of. Matrix time = time whose
 * FLOPs or peak are not known + below peak + recomputed + extra + model FLOPs, each FLOP at the
 * peak rate of its number format; exact in nanoseconds. */
#ifndef FLOPLEDGER_COST_EFFICIENCY_EFFICIENCY_H
#define FLOPLEDGER_COST_EFFICIENCY_EFFICIENCY_H

#include "cost/efficiency/matrix_calls.h"
#include "cost/efficiency/peak_choice.h"
#include "cost/modules/module_costs.h"
#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* The parts of ACCOUNT_MATRIX: they sum to it to the nanosecond. */
struct matrix_time {
    int64_t uncosted_ns;   /* FLOPs, number format or peak not known: stays matrix work */
    int64_t below_peak_ns; /* priced time less the three below; negative: the step's work ran
                              outside of its window, or faster than the peak: window_rest_ns */
    int64_t recomputed_ns; /* FLOPs / peak */
    int64_t extra_ns;
    int64_t model_ns; /* divided by the step's time: MFU */
};

/* One step. Times are of what ran in its window; FLOPs, and their ideal times, of what the host
 * called in its mark, wherever it ran. */
struct step_efficiency {
    struct matrix_time time;
    struct flop_parts flops;   /* also where no peak is known */
    double window_flops;       /* executed by what ran in the window: of a call whose kernels cross
                                  its end the share of their time */
    int64_t window_rest_ns;    /* priced time less window_flops at their peaks; negative: faster
                                  than the peak, so the peak or the FLOPs are wrong */
    double all_pairs_ideal_ns; /* flops.all_pairs at their peaks, where those are known */
    int64_t known_flops_ns;    /* matrix time whose FLOPs are known, peak or not */
    int64_t unit_ns;           /* a kernel on matrix units runs, by its name (not: by the union) */
    int64_t unknown_ns;        /* matrix work whose kernels' names tell nothing of units, and none
                                 on matrix units beside it */
    double unit_flops;         /* executed by calls that ran on matrix units */
    double unit_ideal_ns;      /* those at their peaks */
    int64_t unit_kernel_ns;    /* kernels of those calls, summed; only calls with a peak */
};

/* FLOPs by number format, over all steps. */
struct precision_total {
    double executed;
    double model;
    int64_t kernel_ns;
};

/* Matrix time without a price, by what is missing. */
struct uncosted_total {
    int64_t kernel_ns; /* summed over the pieces in the steps */
    uint32_t example;  /* index in trace->device (CPU: host) of the longest */
    int64_t longest_ns;
};

struct efficiency {
    const struct trace *trace;
    const struct ledger *ledger;
    const struct module_costs *costs;
    struct peak_choice peaks;
    struct matrix_calls calls;
    struct step_efficiency *steps; /* [ledger->step_count] */
    struct step_efficiency total;  /* the steps summed */
    struct precision_total precisions[PEAK_TYPE_COUNT];
    struct uncosted_total uncosted[PRICE_OBSTACLE_COUNT];
};

/* `efficiency` must be zeroed; trace, ledger and costs must outlive it. One pass over kernels and
 * host events. Never fails: what is not known is said in the fields above. */
void measure_efficiency(struct efficiency *efficiency, const struct trace *trace,
                        const struct ledger *ledger, const struct module_costs *costs,
                        const struct peak_settings *settings);
void efficiency_clear(struct efficiency *efficiency);

/* Some matrix time has a price: model FLOPs and MFU are known for that part. */
bool efficiency_has_model(const struct efficiency *efficiency);

/* ... and of another part they are not: MFU is at least what is said. */
bool efficiency_is_least(const struct efficiency *efficiency);

/* Ops that are not counted may hold products, and no kernel's name says so. */
bool efficiency_lacks_unseen_products(const struct efficiency *efficiency);

/* FLOPs are at least what is said, with or without a peak. */
bool efficiency_lacks_flops(const struct efficiency *efficiency);

/* What most of the unpriced matrix time needs: "needs record_shapes=True"; NULL where all is
 * priced, or there is no matrix work. */
const char *efficiency_needs(const struct efficiency *efficiency);
/* "needs record_shapes=True" */
const char *obstacle_needs(const struct efficiency *efficiency, enum cost_obstacle obstacle);

/* Measures module costs over the steps of `ledger`, the windows in which ops count; over the whole
 * trace where it has none. `description` may be NULL. `costs` must be zeroed. */
void measure_step_costs(struct module_costs *costs, const struct trace *trace,
                        const struct ledger *ledger, const struct model_description *description);

#endif
