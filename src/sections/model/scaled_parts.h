/* Recorded steps with another batch, sequence, device or number of devices: what is unchanged keeps
 * its measured time, what changes is scaled by its shapes. docs/plan.md says how. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_SCALED_PARTS_H
#define FLOPLEDGER_SECTIONS_MODEL_SCALED_PARTS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/devices/device_peak.h"
#include "cost/plan/plan.h"
#include "cost/plan/scaled_shapes.h"
#include "sections/analysis.h"

#include <stdbool.h>
#include <stdint.h>

/* What is asked for; 0 and NULL: as recorded. */
struct scaled_request {
    double batch_factor; /* "2x" */
    int64_t batch;       /* samples of a pass on one device */
    int64_t sequence;
    int64_t devices;
    int64_t tensor;     /* of a device of the table, and a model whose config is known */
    int64_t pipeline;   /* likewise */
    int64_t chunks;     /* with `pipeline`: virtual stages of a device */
    int64_t step_batch; /* with `tensor` or `pipeline`: samples of a step, of all devices */
    const struct device_peak *device;
    const struct measured_rates *rates;          /* of the device or processor that is planned for,
                                                    or of the recorded one; NULL: not measured */
    const struct measured_rates *recorded_rates; /* of the recorded one, where both are; NULL */
    const struct architecture *model;            /* NULL: what the capture says */
};

/* What a pass works on, and what is asked for instead; ERROR_USAGE, ERROR_NO_DATA. */
MUST_USE bool find_pass_change(struct pass_change *change, const struct analysis_input *input,
                               const struct scaled_request *request, struct error *error);
/* A weight of the model has a size that is that of the pass, too. */
bool pass_is_ambiguous(const struct analysis_input *input, const struct pass_change *change);
/* Samples of a planned step on this rank. */
double pass_samples_of_step(const struct analysis_input *input, const struct pass_change *change);

enum scaled_part {
    SCALED_MATRIX,
    SCALED_OTHER,
    SCALED_OPTIMIZER,
    SCALED_COMMUNICATION,
    SCALED_COPIES,
    SCALED_BUBBLE, /* of a pipeline that is asked for */
    SCALED_REST,   /* of the step: idle, Python; less what runs at the same time */
    SCALED_PART_COUNT,
};

struct scaled_steps {
    struct pass_change change;
    const struct device_peak *recorded_device; /* NULL: not known, or the processor */
    int64_t recorded_devices;
    double recorded_ns; /* of a step, mean, as all below */
    double planned_ns;
    double shortest; /* recorded step by the mean; 0: there is one only */
    double longest;
    double tokens;  /* of a planned step, this rank; 0: not known */
    double samples; /* likewise */
    double flops;   /* of its matmuls and attention; at least; 0: none known, or tokens of a sample
                       change */
    double waited_ns; /* of a recorded step, for a core; 0: none, or not recorded */
    double before_ns[SCALED_PART_COUNT];
    double after_ns[SCALED_PART_COUNT];
    double unshaped_ns;        /* kernels of which no shapes are known: taken as not scaled */
    double fixed_ns;           /* CPU: of each operator, taken as not scaled */
    struct plan_layout layout; /* asked for by `tensor` or `pipeline`; all 0: as recorded */
    int64_t layout_passes;     /* of it: micro-batches of a replica in a step */
    int64_t plain_ns; /* of the run's steps that were not recorded, median; 0: not known, or other
                         steps */
    double pace;      /* of host times: what they take where they are not recorded; 1 as recorded */
    double device_share;  /* a planned step whose host holds up nothing, by the planned one; 0: of a
                             processor */
    bool is_pace_known;   /* steps that were not recorded wait for their host, too */
    bool is_of_processor; /* nothing ran on a device */
    bool is_ambiguous;    /* weights have sizes that are those of samples or tokens, too */
};

/* What another layout makes of a recorded step. */
struct scaled_layout {
    double factors[SCALED_PART_COUNT]; /* of a pass, and of what a step takes once; 1: as before */
    double passes;                     /* of a step, by those recorded */
    double added_ns;                   /* communication that is seen, and was not before */
    double work_added_ns;              /* that of it which belongs to the passes */
    double bubble;                     /* by the work of a device */
};

/* The layout that is asked for, which `steps` keeps; ERROR_USAGE. */
MUST_USE bool find_scaled_layout(struct scaled_layout *layout, const struct analysis_input *input,
                                 const struct scaled_request *request, struct scaled_steps *steps,
                                 struct error *error);
/* Times in `steps` are those of a mean step: they become those of the layout. */
void lay_out_scaled_steps(struct scaled_steps *steps, const struct scaled_layout *layout,
                          double exposed_ns);

/* ERROR_USAGE, ERROR_NO_DATA: what the recording does not tell, and what would. */
MUST_USE bool scale_steps(struct scaled_steps *steps, const struct analysis_input *input,
                          const struct scaled_request *request, struct error *error);

/* The plan, and its ledger beside the recorded one. */
void describe_scaled_steps(struct results *results, struct rank_results *rank,
                           const struct scaled_steps *steps, const struct scaled_request *request);

#endif
