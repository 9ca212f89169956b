/* DeepSeek V2, V3 and V3.2, and Kimi K2: latent attention (MLA), routed and shared experts, dense
 * first layers. */
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

    kind->window = config_size_or(config, "index_topk", 2048, INT32_MAX);
    kind->index_heads = heads;
    kind->index_size = size;
    kind->mixer_matrix += query_rank * heads * size + architecture->hidden_size * (size + heads);
    kind->mixer_other += 2 * size; /* the norm of keys, with biases */
}

/* The first layers are dense, all others routed; moe_layer_freq other than 1 mixes them and is
 * refused. Defaults are those of transformers' configuration classes: three dense layers for
 * V3, none for V2. */
static void read_deepseek(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;
    int64_t dense;
    int64_t expert_size;
    int64_t shared;

    read_decoder_sizes(architecture, config, false);
    architecture->is_gated = true;
    kind = latent_attention(architecture, config);
    if (strcmp(architecture->model_type, "deepseek_v32") == 0)
        read_indexer(&kind, architecture, config);
    dense = config_count_or(config, "first_k_dense_replace",
                            strncmp(architecture->model_type, "deepseek_v3", 11) == 0 ? 3 : 0,
                            architecture->layers);
    if (config_size_or(config, "moe_layer_freq", 1, SIZE_MAX_LAYERS) != 1)
        config_fail(config, "'moe_layer_freq' is not 1: this is not counted");
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    architecture_add_layers(architecture, kind, dense);
    /* From here on the same attention, with experts in place of the dense feed-forward. */
    kind.feed_matrix = 0;
    expert_size = config_size(config, "moe_intermediate_size", SIZE_MAX_FEED);
    kind.experts = config_size(config, "n_routed_experts", SIZE_MAX_EXPERTS);
    kind.experts_per_token = config_size(config, "num_experts_per_tok", kind.experts);
    shared = config_count_or(config, "n_shared_experts", 0, SIZE_MAX_EXPERTS);
    kind.expert_matrix = feed_forward_weights(architecture, expert_size);
    /* Shared experts are as large as routed ones, and each token meets all of them. */
    kind.shared_matrix = shared * kind.expert_matrix;
    kind.router_matrix = architecture->hidden_size * kind.experts;
    architecture_add_layers(architecture, kind, architecture->layers - dense);
    architecture->prediction_layers =
        config_count_or(config, "num_nextn_predict_layers", 0, SIZE_MAX_LAYERS);
}

static const char *const deepseek_types[] = {"deepseek_v2", "deepseek_v3", "deepseek_v32",
                                             "kimi_k2", NULL};

const struct model_family deepseek_family = {.model_types = deepseek_types, .read = read_deepseek};
