/* Llama 4: layers with experts among dense ones, and most layers attend within chunks. */
#include "cost/architectures/decoder_layers.h"

/* By moe_layers, else each interleave_moe_layer_step-th layer. */
static bool llama4_has_experts(struct config_keys *config, int64_t layer)
{
    const struct json_node *listed = json_items_of(config->root, "moe_layers");
    int64_t every = config_size_or(config, "interleave_moe_layer_step", 1, SIZE_MAX_LAYERS);

    for (const struct json_node *node = listed; node; node = node->next)
        if (node->is_integer && node->integer == layer)
            return true;
    return !listed && (layer + 1) % every == 0;
}

/* By layer_types, else by no_rope_layers (1: with positions, so in chunks), else each
 * no_rope_layer_interval-th layer is in full. */
static bool is_in_chunks(struct config_keys *config, int64_t layer)
{
    const struct json_node *node = json_items_of(config->root, "no_rope_layers");
    int64_t every = config_size_or(config, "no_rope_layer_interval", 4, SIZE_MAX_LAYERS);
    bool otherwise = (layer + 1) % every != 0;

    for (int64_t i = 0; node && i < layer; i++)
        node = node->next;
    if (node && node->is_integer)
        otherwise = node->integer != 0;
    return config_layer_is(config, layer, "chunked_attention", otherwise);
}

/* Two choices for each layer (experts or dense, chunks or full) make four kinds; a layer is
 * counted in one of them. In dense layers the feed-forward has its own size
 * (intermediate_size_mlp); intermediate_size is that of an expert. */
static void read_llama4(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kinds[4];
    int64_t counts[4] = {0};
    struct layer_kind kind;
    int64_t chunk = config_window(config, "attention_chunk_size", 8192);

    read_decoder_sizes(architecture, config, false);
    architecture->is_gated = true;
    kind = attention_layer(architecture, head_size_of(config, architecture));
    if (config_flag_or(config, "attention_bias", false))
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    for (int i = 0; i < 4; i++) {
        kinds[i] = kind;
        kinds[i].chunk = i % 2 ? chunk : 0;
    }
    kind.experts = config_size_or(config, "num_local_experts", 16, SIZE_MAX_EXPERTS);
    kind.experts_per_token = config_size_or(config, "num_experts_per_tok", 1, kind.experts);
    for (int i = 0; i < 2; i++)
        kinds[i].feed_matrix = feed_forward_weights(
            architecture, config_size(config, "intermediate_size_mlp", SIZE_MAX_FEED));
    for (int i = 2; i < 4; i++) {
        kinds[i].experts = kind.experts;
        kinds[i].experts_per_token = kind.experts_per_token;
        kinds[i].expert_matrix = feed_forward_weights(architecture, architecture->feed_size);
        /* Each routed layer has one shared expert besides, of the same size. */
        kinds[i].shared_matrix = kinds[i].expert_matrix;
        kinds[i].router_matrix = architecture->hidden_size * kind.experts;
    }
    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++)
        counts[2 * llama4_has_experts(config, layer) + is_in_chunks(config, layer)]++;
    for (int i = 0; i < 4; i++)
        architecture_add_layers(architecture, kinds[i], counts[i]);
}

static const char *const llama4_types[] = {"llama4_text", "llama4", NULL};

const struct model_family llama4_family = {.model_types = llama4_types, .read = read_llama4};
