/* What `flopledger flops --model` says: parts, conventions, memory. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_MODEL_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MODEL_MODEL_SECTIONS_H

#include "cost/architectures/architecture.h"
#include "cost/architectures/convention.h"
#include "cost/architectures/model_memory.h"
#include "cost/devices/device_peak.h"
#include "output/results/results.h"

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

#endif
