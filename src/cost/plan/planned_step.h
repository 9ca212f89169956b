/* A planned step as it was written, in parts that a recorded step has, too. */
#ifndef FLOPLEDGER_COST_PLAN_PLANNED_STEP_H
#define FLOPLEDGER_COST_PLAN_PLANNED_STEP_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they are told. */
enum planned_part {
    PLANNED_USEFUL,
    PLANNED_BELOW_PEAK,
    PLANNED_RECOMPUTED,
    PLANNED_MATRIX, /* the three above in one: of a plan from a recording */
    PLANNED_OTHER,
    PLANNED_OPTIMIZER,
    PLANNED_COMMUNICATION,
    PLANNED_COPIES,
    PLANNED_DATA,
    PLANNED_LAUNCH,
    PLANNED_HOST,
    PLANNED_REST, /* of a plan from a recording: all that is idle */
    PLANNED_PART_COUNT,
};

/* Keys of the accounts of plans, and the part that each belongs to. A stage that waits for another
 * does so in a receive: the bubble is communication. */
static const struct {
    const char *key;
    enum planned_part part;
} planned_part_keys[] = {
    {"useful", PLANNED_USEFUL},
    {"below_peak_rate", PLANNED_BELOW_PEAK},
    {"tiles", PLANNED_BELOW_PEAK},
    {"attention", PLANNED_BELOW_PEAK},
    {"memory_bound", PLANNED_OTHER},
    {"launch", PLANNED_LAUNCH},
    {"recompute", PLANNED_RECOMPUTED},
    {"exposed_tensor", PLANNED_COMMUNICATION},
    {"exposed_context", PLANNED_COMMUNICATION},
    {"exposed_expert", PLANNED_COMMUNICATION},
    {"exposed_weights", PLANNED_COMMUNICATION},
    {"exposed_gradients", PLANNED_COMMUNICATION},
    {"exposed_stages", PLANNED_COMMUNICATION},
    {"pipeline_bubble", PLANNED_COMMUNICATION},
    {"optimizer", PLANNED_OPTIMIZER},
    {"matrix", PLANNED_MATRIX},
    {"other_compute", PLANNED_OTHER},
    {"communication", PLANNED_COMMUNICATION},
    {"copies", PLANNED_COPIES},
    {"rest", PLANNED_REST},
};

struct planned_step {
    double step_ns;
    double parts[PLANNED_PART_COUNT];
    double tokens;    /* that a rank sees; 0: not told */
    double flops;     /* of a plan from a recording, matmuls and attention; 0: not told */
    double waited_ns; /* likewise, for a core when it was recorded */
    /* Of the layout, the batch and the model, as the plan was asked for; 0: not told. */
    int64_t tensor;
    int64_t stages;
    int64_t ranks_of_stage;
    int64_t hidden; /* columns of the embedding */
    int64_t layers;
    int64_t context;
    int64_t replicas;
    int64_t micro;      /* samples of a micro-batch */
    int64_t sequence;   /* tokens of a sample */
    double step_end_ns; /* what a step does besides, in the parts as waiting for the host */
    char device[128];
    bool is_from_run; /* `plan --from` wrote it */
};

/* `path` is a file that `flopledger plan --json` wrote, by its first bytes. */
bool is_plan_file(const char *path);

/* ERROR_INPUT where it holds no planned step. */
MUST_USE bool read_plan(struct planned_step *plan, const char *path, struct error *error);

#endif
