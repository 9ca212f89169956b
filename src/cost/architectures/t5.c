/* T5: an encoder, and a decoder that attends to it. A token is one of the encoder and one of the
 * decoder: both samples are taken as equally long. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* Heads may be wider or narrower than the hidden size; no biases. */
static struct layer_kind t5_attention(const struct architecture *architecture, int64_t head_size,
                                      enum attention_mask mask)
{
    return (struct layer_kind){
        .heads = architecture->heads,
        .key_heads = architecture->heads,
        .key_size = head_size,
        .value_size = head_size,
        .mask = mask,
        .mixer_matrix = 4 * architecture->hidden_size * architecture->heads * head_size,
        .norms = architecture->hidden_size,
    };
}

static void read_t5(struct architecture *architecture, struct config_keys *config)
{
    int64_t hidden = config_size(config, "d_model", SIZE_MAX_HIDDEN);
    int64_t layers = config_size(config, "num_layers", SIZE_MAX_LAYERS);
    int64_t decoder = config_size_or(config, "num_decoder_layers", layers, SIZE_MAX_LAYERS);
    int64_t head_size = config_size(config, "d_kv", SIZE_MAX_HEAD);
    const char *feed = json_text_of(config->root, "feed_forward_proj", "relu");
    struct layer_kind kind;
    int64_t feed_matrix;

    architecture->hidden_size = hidden;
    architecture->layers = layers + decoder;
    architecture->heads = config_size(config, "num_heads", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = config_size(config, "d_ff", SIZE_MAX_FEED);
    architecture->is_gated = strncmp(feed, "gated", 5) == 0;
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * hidden;
    architecture->other_embedding =
        2 * architecture->heads *
        config_size_or(config, "relative_attention_num_buckets", 32, SIZE_MAX_HIDDEN);
    architecture->final_norm = 2 * hidden;
    read_output_layer(architecture, config, true);
    architecture->is_tied = architecture->output_matrix > 0; /* by its class, whatever the file says
                                                              */
    architecture->note = "a token is one of the encoder and one of the decoder: both of --seq";
    feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind = t5_attention(architecture, head_size, MASK_NONE); /* the decoder's, to the encoder */
    architecture_add_layers(architecture, kind, decoder);
    kind.feed_matrix = feed_matrix;
    kind.norms = 2 * hidden;
    architecture_add_layers(architecture, kind, layers);
    kind.mask = MASK_CAUSAL;
    architecture_add_layers(architecture, kind, decoder);
}

static const char *const t5_types[] = {"t5", NULL};

const struct model_family t5_family = {.model_types = t5_types, .read = read_t5};
