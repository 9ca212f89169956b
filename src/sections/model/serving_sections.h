/* What `flopledger flops --model --phase` says of one step of an inference server. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_SERVING_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MODEL_SERVING_SECTIONS_H

#include "cost/architectures/architecture.h"
#include "cost/architectures/serving_cost.h"
#include "cost/devices/device_peak.h"
#include "cost/devices/measured_rates.h"
#include "output/results/results.h"

#include <stdbool.h>
#include <stdint.h>

/* A step and what it runs on; what is 0 or NULL is not known. */
struct serving_run {
    const struct architecture *architecture;
    bool is_decode;
    int64_t requests;
    int64_t queries; /* new tokens of each */
    int64_t context; /* tokens that they see, themselves included */
    int64_t tensor;  /* devices that share the model; at least 1 */
    const struct device_peak *device;
    double peaks[PEAK_TYPE_COUNT];      /* FLOP/s */
    const struct measured_rates *rates; /* that stand before the device's; NULL: none */
    int64_t step_time_ns;               /* how long it took */
};

/* why_no_serving_cost must have said nothing. */
struct section *describe_serving_step(struct results *results, const struct serving_run *run);

/* "bf16, experts mxfp4 4.25 bits": how weights are stored, for people. */
const char *storage_words(struct results *results, const struct weight_storage *storage);

#endif
