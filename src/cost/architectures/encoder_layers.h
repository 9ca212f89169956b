/* The layers that encoders share: every token sees every other. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_ENCODER_LAYERS_H
#define FLOPLEDGER_COST_ARCHITECTURES_ENCODER_LAYERS_H

#include "cost/architectures/architecture.h"

/* Reads hidden_size, num_hidden_layers, num_attention_heads and intermediate_size, and adds the
 * layers, with biases and two norms; queries, keys and values have biases where `has_qkv_bias`. */
void read_encoder_layers(struct architecture *architecture, struct config_keys *config,
                         bool has_qkv_bias);

#endif
