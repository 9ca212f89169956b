/* Decoders whose feed-forwards are a mixture of experts: Mixtral, Qwen 2 and 3 MoE. */
#include "architectures/decoder_layers.h"

#include <string.h>

/* transformers 5 writes num_local_experts for Qwen 3, too. */
static int64_t expert_count(struct config_keys *config)
{
    bool is_local = json_member(config->root, "num_local_experts") != NULL;

    return config_size(config, is_local ? "num_local_experts" : "num_experts", SIZE_MAX_EXPERTS);
}

static void read_mixtral(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;

    kind = attention_layer(architecture, head_size_of(config, architecture));
    kind.experts = expert_count(config);
    kind.experts_per_token = config_size(config, "num_experts_per_tok", kind.experts);
    kind.expert_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.router_matrix = architecture->hidden_size * kind.experts;
    kind.window = config_window(config, "sliding_window", 0);
    architecture_add_layers(architecture, kind, architecture->layers);
}

/* Layers that decoder_sparse_step and mlp_only_layers leave dense. */
static int64_t dense_layers(const struct architecture *architecture, struct config_keys *config)
{
    int64_t every = config_size_or(config, "decoder_sparse_step", 1, SIZE_MAX_LAYERS);
    int64_t dense = 0;

    for (int64_t layer = 0; layer < architecture->layers; layer++) {
        bool is_dense = (layer + 1) % every != 0;

        for (const struct json_node *only = json_items_of(config->root, "mlp_only_layers"); only;
             only = only->next)
            is_dense = is_dense || (only->is_integer && only->integer == layer);
        dense += is_dense ? 1 : 0;
    }
    return dense;
}

static void read_qwen(struct architecture *architecture, struct config_keys *config, bool is_qwen3)
{
    struct layer_kind kind;
    int64_t dense = dense_layers(architecture, config);
    int64_t expert_size = config_size(config, "moe_intermediate_size", SIZE_MAX_FEED);

    if (config_flag_or(config, "use_sliding_window", false))
        config_fail(config, "'use_sliding_window' is true: this is not counted for '%s'",
                    architecture->model_type);
    kind = attention_layer(architecture, head_size_of(config, architecture));
    if (is_qwen3)
        kind.mixer_other = 2 * kind.key_size;
    if (is_qwen3 && config_flag_or(config, "attention_bias", false))
        kind.mixer_other += qkv_biases(&kind) + architecture->hidden_size;
    if (!is_qwen3 && config_flag_or(config, "qkv_bias", true))
        kind.mixer_other = qkv_biases(&kind);
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    architecture_add_layers(architecture, kind, dense);
    kind.feed_matrix = 0;
    kind.experts = expert_count(config);
    kind.experts_per_token = config_size(config, "num_experts_per_tok", kind.experts);
    kind.expert_matrix = feed_forward_weights(architecture, expert_size);
    kind.router_matrix = architecture->hidden_size * kind.experts;
    if (!is_qwen3)
        kind.shared_matrix =
            feed_forward_weights(
                architecture,
                config_size(config, "shared_expert_intermediate_size", SIZE_MAX_FEED)) +
            architecture->hidden_size; /* its gate */
    architecture_add_layers(architecture, kind, architecture->layers - dense);
}

static void read_expert_model(struct architecture *architecture, struct config_keys *config)
{
    read_decoder_sizes(architecture, config, false);
    architecture->is_gated = true;
    if (strcmp(architecture->model_type, "mixtral") == 0)
        read_mixtral(architecture, config);
    else
        read_qwen(architecture, config, strcmp(architecture->model_type, "qwen3_moe") == 0);
}

static const char *const expert_types[] = {"mixtral", "qwen2_moe", "qwen3_moe", NULL};

const struct model_family expert_models_family = {.model_types = expert_types,
                                                  .read = read_expert_model};
