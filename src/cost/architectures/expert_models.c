/* Decoders whose feed-forwards are a mixture of experts: Mixtral, Qwen 2 and 3 MoE, GPT-OSS, GLM 4
 * MoE, MiniMax M2. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* transformers 5 writes num_local_experts for Qwen 3, too. */
static int64_t expert_count(struct config_keys *config)
{
    bool is_local = json_member(config->root, "num_local_experts") != NULL;

    return config_size(config, is_local ? "num_local_experts" : "num_experts", SIZE_MAX_EXPERTS);
}

/* Each expert is a whole feed-forward of the given size; there is no dense one beside them and
 * none that is shared. */
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

/* Experts replace the feed-forward; dense layers have the plain one. Qwen 2's shared expert
 * has a gate of one number per hidden element. */
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

/* Biases everywhere, a sink for each head, and every second layer sees only a window. */
static void read_gpt_oss(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind = attention_layer(architecture, head_size_of(config, architecture));
    int64_t sliding =
        config_sliding_layers(config, architecture->layers, (architecture->layers + 1) / 2);

    kind.mixer_other = kind.heads;
    if (config_flag_or(config, "attention_bias", true))
        kind.mixer_other += qkv_biases(&kind) + architecture->hidden_size;
    kind.experts = expert_count(config);
    kind.experts_per_token = config_size(config, "num_experts_per_tok", kind.experts);
    kind.expert_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.expert_other = 2 * architecture->feed_size + architecture->hidden_size;
    kind.router_matrix = architecture->hidden_size * kind.experts;
    kind.router_other = kind.experts;
    architecture_add_layers(architecture, kind, architecture->layers - sliding);
    kind.window = config_size(config, "sliding_window", INT32_MAX);
    architecture_add_layers(architecture, kind, sliding);
}

/* Dense first layers, then experts of which some see every token. */
static void read_glm4_moe(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind = attention_layer(architecture, head_size_of(config, architecture));
    int64_t dense = config_count_or(config, "first_k_dense_replace", 1, architecture->layers);

    if (config_flag_or(config, "attention_bias", false))
        kind.mixer_other = qkv_biases(&kind);
    if (config_flag_or(config, "use_qk_norm", false))
        kind.mixer_other += 2 * kind.key_size;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    architecture_add_layers(architecture, kind, dense);
    kind.feed_matrix = 0;
    kind.experts = config_size(config, "n_routed_experts", SIZE_MAX_EXPERTS);
    kind.experts_per_token = config_size(config, "num_experts_per_tok", kind.experts);
    kind.expert_matrix = feed_forward_weights(
        architecture, config_size(config, "moe_intermediate_size", SIZE_MAX_FEED));
    kind.shared_matrix =
        config_count_or(config, "n_shared_experts", 1, SIZE_MAX_EXPERTS) * kind.expert_matrix;
    kind.router_matrix = architecture->hidden_size * kind.experts;
    architecture_add_layers(architecture, kind, architecture->layers - dense);
    architecture->prediction_layers =
        config_count_or(config, "num_nextn_predict_layers", 0, SIZE_MAX_LAYERS);
}

/* Norms of queries and keys over all heads. */
static void read_minimax(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind = attention_layer(architecture, head_size_of(config, architecture));

    kind.mixer_other = (kind.heads + kind.key_heads) * kind.key_size;
    kind.experts = expert_count(config);
    kind.experts_per_token = config_size(config, "num_experts_per_tok", kind.experts);
    kind.expert_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.router_matrix = architecture->hidden_size * kind.experts;
    architecture_add_layers(architecture, kind, architecture->layers);
}

/* Layers with a window have twice as many key heads and sinks; values are narrower than keys. */
static void read_mimo(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kinds[2];
    int64_t hidden = architecture->hidden_size;
    int64_t value_size = config_size_or(config, "v_head_dim", 128, SIZE_MAX_HEAD);
    int64_t dense = config_dense_layers(config, architecture->layers, 1);
    int64_t counts[2][2] = {{0}};
    int64_t window = config_size_or(config, "sliding_window_size", 128, INT32_MAX - 1) + 1;

    if (!json_member(config->root, "sliding_window_size"))
        window = config_size_or(config, "sliding_window", 129, INT32_MAX);
    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++)
        counts[layer >= dense][config_layer_is(config, layer, "sliding_attention",
                                               layer > 0 && (layer + 1) % 6 != 0)]++;
    for (int i = 0; i < 2; i++) {
        struct layer_kind *kind = &kinds[i];

        *kind = attention_layer(architecture, head_size_of(config, architecture));
        kind->key_heads *= i + 1;
        kind->value_size = value_size;
        kind->mixer_matrix = hidden * (qkv_biases(kind) + kind->heads * value_size);
        if (config_flag_or(config, "attention_bias", false))
            kind->mixer_other = qkv_biases(kind);
        kind->mixer_other += i * kind->heads;
        kind->window = i * window;
        kind->feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
        architecture_add_layers(architecture, *kind, counts[0][i]);
        kind->feed_matrix = 0;
        kind->experts = config_size(config, "n_routed_experts", SIZE_MAX_EXPERTS);
        kind->experts_per_token = config_size(config, "num_experts_per_tok", kind->experts);
        kind->expert_matrix = feed_forward_weights(
            architecture, config_size(config, "moe_intermediate_size", SIZE_MAX_FEED));
        kind->router_matrix = hidden * kind->experts;
        architecture_add_layers(architecture, *kind, counts[1][i]);
    }
}

/* Families of routed experts differ in where the router's sizes stand and what is shared;
 * decoder sizes are the same keys in all. */
static void read_expert_model(struct architecture *architecture, struct config_keys *config)
{
    const char *type = architecture->model_type;

    read_decoder_sizes(architecture, config, false);
    architecture->is_gated = true;
    if (strcmp(type, "mixtral") == 0)
        read_mixtral(architecture, config);
    else if (strcmp(type, "gpt_oss") == 0)
        read_gpt_oss(architecture, config);
    else if (strncmp(type, "glm4", 4) == 0)
        read_glm4_moe(architecture, config);
    else if (strcmp(type, "minimax_m2") == 0)
        read_minimax(architecture, config);
    else if (strcmp(type, "mimo_v2_flash") == 0)
        read_mimo(architecture, config);
    else
        read_qwen(architecture, config, strncmp(type, "qwen3", 5) == 0);
}

static const char *const expert_types[] = {
    "mixtral",  "qwen2_moe",      "qwen3_moe",  "qwen3_vl_moe_text", "gpt_oss",
    "glm4_moe", "glm4v_moe_text", "minimax_m2", "mimo_v2_flash",     NULL};

const struct model_family expert_models_family = {.model_types = expert_types,
                                                  .read = read_expert_model};
