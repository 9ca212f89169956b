/* Qwen3-Next and 3.5: three layers of linear attention (gated delta rule) for each one of full
 * attention, experts in all or none. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* The gate of full attention comes from the queries' projection, which is twice as wide. */
static struct layer_kind full_attention(const struct architecture *architecture,
                                        struct config_keys *config)
{
    struct layer_kind kind =
        attention_layer(architecture, config_size_or(config, "head_dim", 256, SIZE_MAX_HEAD));

    kind.mixer_matrix += architecture->hidden_size * kind.heads * kind.key_size;
    kind.mixer_other = 2 * kind.key_size;
    if (config_flag_or(config, "attention_bias", false))
        kind.mixer_other +=
            qkv_biases(&kind) + kind.heads * kind.key_size + architecture->hidden_size;
    return kind;
}

/* The state of a head is keys by values: aged, read, updated and read again, as that of a state
 * space. Projections of queries, keys, values and gate, and two numbers per value head (decay
 * and beta). A convolution goes over queries, keys and values. */
static struct layer_kind linear_attention(const struct architecture *architecture,
                                          struct config_keys *config)
{
    int64_t hidden = architecture->hidden_size;
    int64_t key_size = config_size_or(config, "linear_key_head_dim", 128, SIZE_MAX_HEAD);
    int64_t value_size = config_size_or(config, "linear_value_head_dim", 128, SIZE_MAX_HEAD);
    int64_t value_heads = config_size_or(config, "linear_num_value_heads", 32, SIZE_MAX_HEADS);
    int64_t keys = key_size * config_size_or(config, "linear_num_key_heads", 16, SIZE_MAX_HEADS);
    int64_t values = value_size * value_heads;

    return (struct layer_kind){
        .scan_channels = values,
        .state_size = key_size,
        .convolution_weights = (2 * keys + values) *
                               config_size_or(config, "linear_conv_kernel_dim", 4, SIZE_MAX_HEAD),
        .mixer_matrix = hidden * (2 * keys + 2 * values + 2 * value_heads) + values * hidden,
        .mixer_other = 2 * value_heads + value_size,
        .norms = 2 * hidden,
    };
}

/* Defaults are those of transformers' configuration class. The shared expert has a gate of its
 * own: a vector of the hidden size. */
static void add_experts(struct layer_kind *kind, const struct architecture *architecture,
                        struct config_keys *config)
{
    int64_t shared = config_size_or(config, "shared_expert_intermediate_size", 512, SIZE_MAX_FEED);

    kind->experts = config_size_or(config, "num_experts", 512, SIZE_MAX_EXPERTS);
    kind->experts_per_token = config_size_or(config, "num_experts_per_tok", 10, kind->experts);
    kind->expert_matrix = feed_forward_weights(
        architecture, config_size_or(config, "moe_intermediate_size", 512, SIZE_MAX_FEED));
    kind->shared_matrix = feed_forward_weights(architecture, shared) + architecture->hidden_size;
    kind->router_matrix = architecture->hidden_size * kind->experts;
}

/* Without experts (Qwen 3.5 of 27B and less) it is one feed-forward. */
static void read_feed(struct layer_kind *kind, struct architecture *architecture,
                      struct config_keys *config)
{
    if (strncmp(architecture->model_type, "qwen3_5", 7) != 0 ||
        strncmp(architecture->model_type, "qwen3_5_moe", 11) == 0) {
        add_experts(kind, architecture, config);
        return;
    }
    architecture->feed_size = config_size(config, "intermediate_size", SIZE_MAX_FEED);
    kind->feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
}

/* Every full_attention_interval-th layer has attention, all others the linear form, unless
 * layer_types says which is which. */
static void read_qwen3_next(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind full;
    struct layer_kind linear;
    int64_t every = config_size_or(config, "full_attention_interval", 4, SIZE_MAX_LAYERS);
    int64_t linear_count = 0;

    read_decoder_widths(architecture, config, false);
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->is_gated = true;
    if (json_items_of(config->root, "mlp_only_layers") ||
        config_size_or(config, "decoder_sparse_step", 1, SIZE_MAX_LAYERS) != 1)
        config_fail(config,
                    "'mlp_only_layers' or 'decoder_sparse_step' leaves layers dense: this "
                    "is not counted for '%s'",
                    architecture->model_type);
    full = full_attention(architecture, config);
    linear = linear_attention(architecture, config);
    read_feed(&full, architecture, config);
    read_feed(&linear, architecture, config);
    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++)
        linear_count +=
            config_layer_is(config, layer, "linear_attention", (layer + 1) % every != 0) ? 1 : 0;
    architecture_add_layers(architecture, linear, linear_count);
    architecture_add_layers(architecture, full, architecture->layers - linear_count);
}

static const char *const qwen3_next_types[] = {"qwen3_next",       "qwen3_5_text", "qwen3_5",
                                               "qwen3_5_moe_text", "qwen3_5_moe",  NULL};

const struct model_family qwen3_next_family = {.model_types = qwen3_next_types,
                                               .read = read_qwen3_next};
