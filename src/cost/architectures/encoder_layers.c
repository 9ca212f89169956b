/* The layers that encoders share. */
#include "cost/architectures/encoder_layers.h"

#include "cost/architectures/decoder_layers.h"

/* Post-norm or pre-norm alike: two LayerNorms with weight and bias are 4 hidden sizes. No
 * mask: each token sees all. */
void read_encoder_layers(struct architecture *architecture, struct config_keys *config,
                         bool has_qkv_bias)
{
    int64_t hidden = config_size(config, "hidden_size", SIZE_MAX_HIDDEN);
    struct layer_kind kind;

    architecture->hidden_size = hidden;
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->heads = config_size(config, "num_attention_heads", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = config_size(config, "intermediate_size", SIZE_MAX_FEED);
    kind = attention_layer(architecture, head_size_of(config, architecture));
    kind.mixer_other = (has_qkv_bias ? qkv_biases(&kind) : 0) + hidden;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.feed_other = architecture->feed_size + hidden;
    kind.norms = 4 * hidden;
    architecture_add_layers(architecture, kind, architecture->layers);
}
