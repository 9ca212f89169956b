/* How a server keeps a model's weights and its cache of keys and values, by its config.json: bytes
 * of a number, and the number format that matmuls run in. From `torch_dtype` (or `dtype`) and
 * `quantization_config`, as Hugging Face, compressed-tensors and ModelOpt write them. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_WEIGHT_STORAGE_H
#define FLOPLEDGER_COST_ARCHITECTURES_WEIGHT_STORAGE_H

#include "base/json/json_tree.h"
#include "cost/devices/device_peak.h"

#include <stdbool.h>
#include <stdint.h>

/* Matrices that a quantization may take or leave. All others are stored plain. */
enum stored_part {
    STORED_MIXER, /* projections of attention, or of a state space */
    STORED_FEED,
    STORED_EXPERTS,
    STORED_SHARED, /* experts that every token meets */
    STORED_OUTPUT, /* logits */
    STORED_PART_COUNT
};

struct stored_weight {
    double bytes;          /* of one weight, with its share of the scales */
    enum peak_type format; /* of its matmuls */
};

struct weight_storage {
    bool is_known;           /* no: the quantization is none that is known */
    bool has_type;           /* the file says the type of plain weights; no: bf16 is taken */
    enum peak_type type;     /* of what is not quantized: fp32, fp16 or bf16 */
    double plain_bytes;      /* of a weight that is not quantized */
    double cache_bytes;      /* of a number in the cache of keys and values */
    enum peak_type cache_as; /* its type */
    char method[48];         /* quant_method, with its algorithm; "": not quantized */
    struct stored_weight parts[STORED_PART_COUNT];
};

/* `whole`: the file; `model`: the part of it with the model's sizes, which may be the same.
 * Never fails: what is not known is said in the fields above. */
struct weight_storage weight_storage_read(const struct json_node *whole,
                                          const struct json_node *model, int64_t layers);

/* All matrices of the layers in `type`, without scales: what --dtype says. */
void weight_storage_force(struct weight_storage *storage, enum peak_type type);

#endif
