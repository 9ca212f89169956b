/* What one pass of a recorded model works on: samples and tokens, and what is asked for instead. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_SCALED_PASS_H
#define FLOPLEDGER_SECTIONS_MODEL_SCALED_PASS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/devices/device_peak.h"
#include "cost/plan/scaled_shapes.h"
#include "sections/analysis.h"

#include <stdint.h>

/* What is asked for; 0 and NULL: as recorded. */
struct scaled_request {
    double batch_factor; /* "2x" */
    int64_t batch;       /* samples of a pass on one device */
    int64_t sequence;
    int64_t devices;
    int64_t tensor;   /* of a device of the table, and a model whose config is known */
    int64_t pipeline; /* likewise */
    const struct device_peak *device;
    const struct architecture *model; /* NULL: what the capture says */
};

/* What a pass works on, and what is asked for instead; ERROR_USAGE, ERROR_NO_DATA. */
MUST_USE bool find_pass_change(struct pass_change *change, const struct analysis_input *input,
                               const struct scaled_request *request, struct error *error);
/* A weight of the model has a size that is that of the pass, too. */
bool pass_is_ambiguous(const struct analysis_input *input, const struct pass_change *change);
/* Samples of a planned step on this rank. */
double pass_samples_of_step(const struct analysis_input *input, const struct pass_change *change);

#endif
