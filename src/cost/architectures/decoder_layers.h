/* What the layers of most decoders have in common. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_DECODER_LAYERS_H
#define FLOPLEDGER_COST_ARCHITECTURES_DECODER_LAYERS_H

#include "cost/architectures/architecture.h"

/* What stands behind the layers, by the class: logits, which `is_tied_by_default` ties where
 * tie_word_embeddings is missing; a classifier of each token; or nothing. Needs hidden_size and
 * vocabulary. */
void read_output_layer(struct architecture *architecture, struct config_keys *config,
                       bool is_tied_by_default);

/* Reads hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads (else as many as
 * heads), intermediate_size, vocab_size and the class: embedding, final norm and logits, which
 * `is_tied_by_default` ties where tie_word_embeddings is missing. */
void read_decoder_sizes(struct architecture *architecture, struct config_keys *config,
                        bool is_tied_by_default);

/* Likewise without num_hidden_layers and intermediate_size. */
void read_decoder_widths(struct architecture *architecture, struct config_keys *config,
                         bool is_tied_by_default);

/* Grouped-query attention with heads of `head_size`, and the layer's two norms; no biases. */
struct layer_kind attention_layer(const struct architecture *architecture, int64_t head_size);

/* Weights of a feed-forward of `feed_size`, three matrices where it is gated. */
int64_t feed_forward_weights(const struct architecture *architecture, int64_t feed_size);

/* head_dim, else hidden_size by heads, which must divide it. */
int64_t head_size_of(struct config_keys *config, const struct architecture *architecture);

/* Biases of the projections of queries, keys and values. */
int64_t qkv_biases(const struct layer_kind *kind);

#endif
