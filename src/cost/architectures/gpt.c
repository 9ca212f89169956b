/* GPT-2 and GPT-NeoX: dense decoders with biases everywhere, and feed-forwards of two matrices. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* Attention of as many keys as queries, norms with biases. */
static struct layer_kind gpt_layer(const struct architecture *architecture,
                                   struct config_keys *config)
{
    struct layer_kind kind = attention_layer(architecture, head_size_of(config, architecture));

    kind.norms = 4 * architecture->hidden_size;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.feed_other = architecture->feed_size + architecture->hidden_size;
    return kind;
}

/* GPT-2 has biases everywhere and learned positions; the norms have a weight and a bias, hence
 * twice the hidden size. */
static void read_gpt2(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;

    architecture->is_causal = true;
    architecture->hidden_size = config_size(config, "n_embd", SIZE_MAX_HIDDEN);
    architecture->layers = config_size(config, "n_layer", SIZE_MAX_LAYERS);
    architecture->heads = config_size(config, "n_head", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size =
        config_size_or(config, "n_inner", 4 * architecture->hidden_size, SIZE_MAX_FEED);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * architecture->hidden_size;
    architecture->position_embedding =
        config_size(config, "n_positions", SIZE_MAX_VOCABULARY) * architecture->hidden_size;
    architecture->final_norm = 2 * architecture->hidden_size;
    read_output_layer(architecture, config, true);
    kind = gpt_layer(architecture, config);
    kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    architecture_add_layers(architecture, kind, architecture->layers);
}

/* LayerNorm has a weight and a bias for each channel, hence twice the hidden size. */
static void read_gpt_neox(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;

    read_decoder_sizes(architecture, config, false);
    architecture->key_heads = architecture->heads;
    architecture->final_norm = 2 * architecture->hidden_size;
    kind = gpt_layer(architecture, config);
    if (config_flag_or(config, "attention_bias", true))
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    architecture_add_layers(architecture, kind, architecture->layers);
}

static void read_gpt(struct architecture *architecture, struct config_keys *config)
{
    if (strcmp(architecture->model_type, "gpt2") == 0)
        read_gpt2(architecture, config);
    else
        read_gpt_neox(architecture, config);
}

static const char *const gpt_types[] = {"gpt2", "gpt_neox", NULL};

const struct model_family gpt_family = {.model_types = gpt_types, .read = read_gpt};
