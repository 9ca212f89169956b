/* What an architecture costs, by part: parameters exactly, and FLOPs of one token.
 *
 * FLOPs are those of matrix products: a weight that a token meets is 2 FLOPs in the forward and 4
 * in the backward; attention is 2 (key_size + value_size) FLOPs for each head and each key a query
 * sees, of which there are (sequence + 1) / 2 on average behind a causal mask. A state space is 7
 * FLOPs for each channel and state (2 to make its input, 1 to age it, 2 to update and 2 to read
 * it), and its convolution 2 for each weight. Lookups, norms, softmax and activations count as
 * none. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_ARCHITECTURE_COST_H
#define FLOPLEDGER_COST_ARCHITECTURES_ARCHITECTURE_COST_H

#include "cost/architectures/architecture.h"

#include <stdint.h>

enum model_part {
    PART_EMBEDDING, /* tokens, positions, types, patches */
    PART_PROJECTIONS,
    PART_SCORES, /* queries by keys, and weights by values: no parameters */
    PART_STATE_SPACE,
    PART_FEED_FORWARD,
    PART_EXPERTS, /* routed */
    PART_SHARED_EXPERTS,
    PART_ROUTER,
    PART_NORMS,
    PART_OUTPUT, /* logits */
    PART_HEAD,   /* once a sample: pooler, classifier */
    PART_COUNT
};

struct part_cost {
    int64_t parameters;
    int64_t active_parameters; /* those that one token meets */
    double forward_flops;      /* of one token, with what the mask leaves */
    double unmasked_flops;     /* of one token, every query with every key */
};

struct architecture_cost {
    struct part_cost parts[PART_COUNT];
    struct part_cost total;
    int64_t token_embedding; /* parameters of the table of tokens; of the logits, too, where tied */
    int64_t sharded_matrices; /* parameters in matrices and tables: what tensor parallelism splits
                               */
    struct part_cost prediction; /* all layers that predict further tokens (MTP): not in the above
                                  */
};

/* For samples of `sequence` tokens, at least 1. */
struct architecture_cost architecture_cost(const struct architecture *architecture,
                                           int64_t sequence);

/* "attention projections" */
const char *model_part_name(enum model_part part);

/* Of a token in one such layer, forward: a state space's scan, and its convolution. */
double scan_flops(const struct layer_kind *kind);

/* Keys that a query sees in such a layer, on average over the sequence. */
double attended_keys(const struct architecture *architecture, const struct layer_kind *kind,
                     int64_t sequence);

#endif
