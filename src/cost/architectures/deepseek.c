/* DeepSeek V2, V3 and V3.2, Kimi K2, GLM 4.7 Flash and 5: latent attention (MLA), routed and shared
 * experts, dense first layers; and Kimi Linear, most of whose layers have linear attention. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* Queries, keys and values come from vectors of low rank, each with a norm of its own. */
static struct layer_kind latent_attention(const struct architecture *architecture,
                                          struct config_keys *config)
{
    int64_t hidden = architecture->hidden_size;
    int64_t query_rank = config_size_or(config, "q_lora_rank", 0, SIZE_MAX_HIDDEN);
    int64_t key_rank = config_size(config, "kv_lora_rank", SIZE_MAX_HIDDEN);
    int64_t plain = config_size(config, "qk_nope_head_dim", SIZE_MAX_HEAD);
    int64_t rotary = config_size(config, "qk_rope_head_dim", SIZE_MAX_HEAD);
    int64_t value = config_size(config, "v_head_dim", SIZE_MAX_HEAD);
    int64_t queries = architecture->heads * (plain + rotary);
    struct layer_kind kind = {
        .heads = architecture->heads,
        .key_heads = architecture->heads,
        .key_size = plain + rotary,
        .value_size = value,
        .latent_rank = key_rank,
        .latent_rotary = rotary,
        .norms = 2 * hidden,
    };

    kind.mixer_matrix =
        query_rank > 0 ? hidden * query_rank + query_rank * queries : hidden * queries;
    /* One vector for keys and values together, and one rotary key that all heads share. */
    kind.mixer_matrix += hidden * (key_rank + rotary);
    /* From that vector each head makes the plain part of its keys, and its values. */
    kind.mixer_matrix += key_rank * architecture->heads * (plain + value);
    kind.latent_up = (query_rank > 0 ? query_rank : hidden) * queries +
                     key_rank * architecture->heads * (plain + value);
    kind.mixer_matrix += architecture->heads * value * hidden;
    /* The norms of the two vectors. With biases, those stand at the projections down and at
     * the output. */
    kind.mixer_other = query_rank + key_rank;
    if (config_flag_or(config, "attention_bias", false))
        kind.mixer_other += query_rank + key_rank + rotary + hidden;
    return kind;
}

/* Sparse attention: an indexer scores all keys, and the best `index_topk` of them are attended. */
static void read_indexer(struct layer_kind *kind, const struct architecture *architecture,
                         struct config_keys *config)
{
    int64_t heads = config_size_or(config, "index_n_heads", 64, SIZE_MAX_HEADS);
    int64_t size = config_size_or(config, "index_head_dim", 128, SIZE_MAX_HEAD);
    int64_t query_rank = config_size(config, "q_lora_rank", SIZE_MAX_HIDDEN);

    for (const struct json_node *type = json_items_of(config->root, "indexer_types"); type;
         type = type->next)
        if (type->kind != JSON_STRING || strcmp(type->text, "full") != 0)
            config_fail(config, "'indexer_types' has layers that share an indexer: this is not "
                                "counted");
    if (config_size_or(config, "index_topk_freq", 1, SIZE_MAX_LAYERS) != 1 ||
        json_text_of(config->root, "index_topk_pattern", NULL))
        config_fail(config, "'index_topk_freq' or 'index_topk_pattern' has layers share an "
                            "indexer: this is not counted");
    kind->window = config_size_or(config, "index_topk", 2048, INT32_MAX);
    kind->index_heads = heads;
    kind->index_size = size;
    kind->mixer_matrix += query_rank * heads * size + architecture->hidden_size * (size + heads);
    kind->mixer_other += 2 * size; /* the norm of keys, with biases */
}

/* Experts in place of the dense feed-forward. Shared experts are as large as routed ones, and each
 * token meets all of them. */
static void add_routed_experts(struct layer_kind *kind, const struct architecture *architecture,
                               struct config_keys *config, const char *experts, const char *shared)
{
    bool is_kimi = json_member(config->root, "num_experts_per_token") != NULL;
    int64_t size = config_size(config, "moe_intermediate_size", SIZE_MAX_FEED);

    kind->feed_matrix = 0;
    kind->experts = config_size(config, experts, SIZE_MAX_EXPERTS);
    kind->experts_per_token = config_size(
        config, is_kimi ? "num_experts_per_token" : "num_experts_per_tok", kind->experts);
    kind->expert_matrix = feed_forward_weights(architecture, size);
    kind->shared_matrix =
        config_count_or(config, shared, 0, SIZE_MAX_EXPERTS) * kind->expert_matrix;
    kind->router_matrix = architecture->hidden_size * kind->experts;
}

/* Dense first layers of transformers' configuration classes, where the file does not say. */
static int64_t first_dense_layers(const struct architecture *architecture)
{
    static const struct {
        const char *type;
        int64_t dense;
    } classes[] = {{"deepseek_v3", 3},
                   {"deepseek_v32", 3},
                   {"glm4_moe_lite", 1},
                   {"glm_moe_dsa", 3},
                   {"kimi_linear", 1}};

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].type, architecture->model_type) == 0)
            return classes[i].dense;
    return 0;
}

/* The first layers are dense, all others routed; moe_layer_freq other than 1 mixes them and is
 * refused. */
static void read_deepseek(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;
    int64_t dense;

    read_decoder_sizes(architecture, config, false);
    architecture->is_gated = true;
    kind = latent_attention(architecture, config);
    if (strcmp(architecture->model_type, "deepseek_v32") == 0 ||
        strcmp(architecture->model_type, "glm_moe_dsa") == 0)
        read_indexer(&kind, architecture, config);
    dense = config_count_or(config, "first_k_dense_replace", first_dense_layers(architecture),
                            architecture->layers);
    dense = config_dense_layers(config, architecture->layers, dense);
    if (config_size_or(config, "moe_layer_freq", 1, SIZE_MAX_LAYERS) != 1)
        config_fail(config, "'moe_layer_freq' is not 1: this is not counted");
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    architecture_add_layers(architecture, kind, dense);
    add_routed_experts(&kind, architecture, config, "n_routed_experts", "n_shared_experts");
    architecture_add_layers(architecture, kind, architecture->layers - dense);
    architecture->prediction_layers =
        config_count_or(config, "num_nextn_predict_layers", 0, SIZE_MAX_LAYERS);
}

static const char *const deepseek_types[] = {
    "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm4_moe_lite", "glm_moe_dsa", NULL};

const struct model_family deepseek_family = {.model_types = deepseek_types, .read = read_deepseek};

/* ---- Kimi Linear ------------------------------------------------------------------------------
 */

/* The published file keeps the sizes of linear attention in an object of their own, with layers
 * counted from 1. */
static bool kimi_attends(const struct config_keys *config, int64_t layer)
{
    const struct json_node *linear = json_member(config->root, "linear_attn_config");
    const struct json_node *listed = json_items_of(linear, "full_attn_layers");

    for (const struct json_node *node = listed; node; node = node->next)
        if (node->is_integer && node->integer == layer + 1)
            return true;
    return !listed && layer > 0 && layer % 4 == 0;
}

/* transformers 5 writes these sizes flat. */
static int64_t kimi_size(struct config_keys *config, const char *key, const char *inner,
                         int64_t otherwise)
{
    const struct json_node *linear = json_member(config->root, "linear_attn_config");
    int64_t given = json_integer_of(linear, inner, 0);

    return given > 0 && given <= SIZE_MAX_HEAD
               ? given
               : config_size_or(config, key, otherwise, SIZE_MAX_HEAD);
}

/* The state of a head is keys by values, aged by a number of each channel; forget gate and output
 * gate come from vectors as narrow as a head. */
static struct layer_kind kimi_linear_attention(const struct architecture *architecture,
                                               struct config_keys *config)
{
    int64_t hidden = architecture->hidden_size;
    int64_t head = kimi_size(config, "linear_head_dim", "head_dim", 128);
    int64_t heads = kimi_size(config, "linear_num_heads", "num_heads", 32);
    int64_t width = kimi_size(config, "linear_conv_kernel_dim", "short_conv_kernel_size", 4);
    int64_t inner = heads * head;

    return (struct layer_kind){
        .scan_channels = inner,
        .state_size = head,
        .convolution_weights = 3 * inner * width,
        .mixer_matrix = 4 * hidden * inner + 2 * (hidden + inner) * head + hidden * heads,
        .mixer_other = inner + heads + head,
        .norms = 2 * hidden,
    };
}

/* Either mixer may stand in a dense layer or before experts. */
static void read_kimi_linear(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kinds[2];
    int64_t counts[2][2] = {{0}};
    int64_t dense;

    read_decoder_sizes(architecture, config, false);
    architecture->is_gated = true;
    kinds[0] = kimi_linear_attention(architecture, config);
    kinds[1] = latent_attention(architecture, config);
    dense = config_count_or(config, "first_k_dense_replace", 1, architecture->layers);
    dense = config_dense_layers(config, architecture->layers, dense);
    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++)
        counts[!config_layer_is(config, layer, "linear_attention", !kimi_attends(config, layer))]
              [layer >= dense]++;
    for (int i = 0; i < 2; i++) {
        kinds[i].feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
        architecture_add_layers(architecture, kinds[i], counts[i][0]);
        add_routed_experts(&kinds[i], architecture, config, "num_experts", "num_shared_experts");
        architecture_add_layers(architecture, kinds[i], counts[i][1]);
    }
}

static const char *const kimi_linear_types[] = {"kimi_linear", NULL};

const struct model_family kimi_linear_family = {.model_types = kimi_linear_types,
                                                .read = read_kimi_linear};
