/* Decoders with biases everywhere, and feed-forwards of two matrices: GPT-2 and GPT-NeoX, OPT and
 * BLOOM. */
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
    architecture->positions = config_size(config, "n_positions", SIZE_MAX_VOCABULARY);
    architecture->position_embedding = architecture->positions * architecture->hidden_size;
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

/* Two LayerNorms in a layer, each with weights and biases. */
static struct layer_kind layer_with_biases(const struct architecture *architecture,
                                           struct config_keys *config, bool has_biases)
{
    struct layer_kind kind = attention_layer(architecture, head_size_of(config, architecture));

    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.norms = 4 * architecture->hidden_size;
    if (has_biases) {
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
        kind.feed_other = architecture->feed_size + architecture->hidden_size;
    }
    return kind;
}

/* The embedding may be narrower than the layers; then a matrix stands before and behind them. */
static void read_opt(struct architecture *architecture, struct config_keys *config)
{
    enum { UNUSED_POSITIONS = 2 };
    int64_t hidden = config_size(config, "hidden_size", SIZE_MAX_HIDDEN);
    int64_t width = config_size_or(config, "word_embed_proj_dim", hidden, SIZE_MAX_HIDDEN);
    bool has_final_norm = config_flag_or(config, "do_layer_norm_before", true) &&
                          !config_flag_or(config, "_remove_final_layer_norm", false);

    architecture->is_causal = true;
    architecture->hidden_size = hidden;
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->heads = config_size(config, "num_attention_heads", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = config_size(config, "ffn_dim", SIZE_MAX_FEED);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * width;
    architecture->positions = config_size(config, "max_position_embeddings", SIZE_MAX_VOCABULARY);
    architecture->position_embedding = (architecture->positions + UNUSED_POSITIONS) * hidden;
    architecture->final_norm = has_final_norm ? 2 * hidden : 0;
    architecture->hidden_size = width; /* what the logits read */
    read_output_layer(architecture, config, true);
    architecture->hidden_size = hidden;
    architecture->transform_matrix = width == hidden ? 0 : 2 * width * hidden;
    architecture_add_layers(
        architecture,
        layer_with_biases(architecture, config, config_flag_or(config, "enable_bias", true)),
        architecture->layers);
}

static int64_t size_by_either_key(struct config_keys *config, const char *key, const char *other,
                                  int64_t maximum)
{
    return config_size(config, json_member(config->root, key) ? key : other, maximum);
}

/* Positions are in the scores (ALiBi); the embedding has a norm. */
static void read_bloom(struct architecture *architecture, struct config_keys *config)
{
    int64_t hidden = size_by_either_key(config, "n_embed", "hidden_size", SIZE_MAX_HIDDEN);

    architecture->is_causal = true;
    architecture->hidden_size = hidden;
    architecture->layers =
        size_by_either_key(config, "n_layer", "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->heads =
        size_by_either_key(config, "n_head", "num_attention_heads", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = 4 * hidden;
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * hidden;
    architecture->other_embedding = 2 * hidden;
    architecture->final_norm = 2 * hidden;
    read_output_layer(architecture, config, true);
    architecture_add_layers(architecture, layer_with_biases(architecture, config, true),
                            architecture->layers);
}

static void read_opt_or_bloom(struct architecture *architecture, struct config_keys *config)
{
    if (strcmp(architecture->model_type, "opt") == 0)
        read_opt(architecture, config);
    else
        read_bloom(architecture, config);
}

static const char *const opt_types[] = {"opt", "bloom", NULL};

const struct model_family opt_family = {.model_types = opt_types, .read = read_opt_or_bloom};
