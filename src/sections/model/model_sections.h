/* What `flopledger flops --model` says: parts, conventions, memory; a step of a server. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_MODEL_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MODEL_MODEL_SECTIONS_H

#include "cost/architectures/architecture.h"
#include "cost/architectures/convention.h"
#include "cost/architectures/model_memory.h"
#include "cost/architectures/serving_cost.h"
#include "cost/devices/device_peak.h"
#include "cost/devices/measured_rates.h"
#include "output/results/results.h"

#include <stdbool.h>
#include <stdint.h>

/* A model and how it is run; what is 0 or NULL is not known. */
struct model_run {
    struct architecture architecture;
    struct convention_setting setting;
    int64_t batch;
    struct model_layout layout;
    int64_t devices;
    int64_t step_time_ns;
    enum peak_type precision;
    double peak; /* FLOP/s of a device */
    const char *peak_source;
};

struct section *describe_model_parts(struct results *results, const struct model_run *run);
struct section *describe_conventions(struct results *results, const struct model_run *run);
struct section *describe_model_memory(struct results *results, const struct model_run *run);

/* ---- with --phase: one step of an inference server ---- */

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
