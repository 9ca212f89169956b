/* Samples of a device's counters inside the steps, and the clock that they tell. */
#ifndef FLOPLEDGER_SECTIONS_MEASURED_CLOCK_H
#define FLOPLEDGER_SECTIONS_MEASURED_CLOCK_H

#include "ledger/step_ledger.h"
#include "sections/analysis.h"
#include "trace/trace.h"

#include <stdint.h>

/* Of no meaning but for `count` while that is 0. */
struct sample_sum {
    double sum;
    double min;
    double max;
    int64_t count;
};

/* Those inside the steps, and of these those at which the device worked. Both must be zeroed. */
void sum_samples_in_steps(const struct ledger *ledger, const struct series *series,
                          struct sample_sum *inside, struct sample_sum *busy);

/* The mean clock of the ledger's device while it worked in the steps, over the clock at which its
 * peaks hold. 0: one of them is not known. */
double measured_clock_share(const struct analysis_input *input);

/* Both, as numbers of the section; nothing where no clock was sampled. */
void add_device_clock(struct results *results, struct section *section,
                      const struct analysis_input *input);

#endif
