/* Memory of a model's weights, gradients and optimizer on one device, under data, tensor, pipeline
 * and expert parallelism and ZeRO. Activations, buffers and fragmentation are not in it. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_MODEL_MEMORY_H
#define FLOPLEDGER_COST_ARCHITECTURES_MODEL_MEMORY_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/architectures/architecture.h"

#include <stdint.h>

/* How a model is laid out; all at least 1. */
struct model_layout {
    int64_t data;     /* replicas, or shards of ZeRO */
    int64_t tensor;   /* devices that share each matrix */
    int64_t pipeline; /* stages */
    int64_t expert;   /* devices of the data dimension that share the experts */
    int zero;         /* 0: nothing sharded; 1: the optimizer; 2: gradients too; 3: weights too */
};

/* Bytes of a parameter. */
struct parameter_bytes {
    int64_t weight;
    int64_t gradient;
    int64_t optimizer; /* moments, and the copy in 32 bits where there is one */
};

struct model_memory {
    int64_t parameters; /* that the fullest device works on: of its stage, its part of each matrix
                         */
    int64_t weights_bytes;
    int64_t gradients_bytes;
    int64_t optimizer_bytes;
};

/* ERROR_USAGE where the model cannot be laid out so. */
MUST_USE bool model_layout_check(const struct architecture *architecture,
                                 const struct model_layout *layout, struct error *error);

/* Of the device that holds most: its stage has the heaviest layers and one end of the model. */
struct model_memory model_memory(const struct architecture *architecture,
                                 const struct model_layout *layout, struct parameter_bytes bytes);

#endif
