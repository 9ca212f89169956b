/* Dense decoders with gated feed-forwards: Llama, Mistral, Qwen 2 and 3, Phi 3, OLMo 2, SmolLM 3.
 */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

static bool is_of(const struct architecture *architecture, const char *family)
{
    return strncmp(architecture->model_type, family, strlen(family)) == 0;
}

/* Qwen slides in the layers from max_window_layers on, where it slides at all. */
static int64_t llama_sliding_layers(const struct architecture *architecture,
                                    struct config_keys *config, int64_t *window)
{
    int64_t first;

    *window = 0;
    if (is_of(architecture, "mistral") || is_of(architecture, "ministral") ||
        is_of(architecture, "phi3")) {
        bool has_one =
            is_of(architecture, "mistral") || strcmp(architecture->model_type, "ministral") == 0;

        *window = config_window(config, "sliding_window", has_one ? 4096 : 0);
        if (*window > 0 && strcmp(architecture->model_type, "ministral") == 0)
            return config_sliding_layers(config, architecture->layers, architecture->layers);
        return *window > 0 ? architecture->layers : 0;
    }
    if (is_of(architecture, "llama") || is_of(architecture, "olmo2") ||
        !config_flag_or(config, "use_sliding_window", false))
        return 0;
    *window = config_window(config, "sliding_window", 4096);
    first = config_count_or(config, "max_window_layers", 28, SIZE_MAX_LAYERS);
    if (*window == 0)
        return 0;
    return config_sliding_layers(config, architecture->layers,
                                 first < architecture->layers ? architecture->layers - first : 0);
}

/* Biases of projections, and norms of queries and keys. */
static void read_projections(struct layer_kind *kind, const struct architecture *architecture,
                             struct config_keys *config)
{
    bool has_option = is_of(architecture, "llama") || is_of(architecture, "qwen3") ||
                      is_of(architecture, "olmo2") || is_of(architecture, "smollm3");

    if (is_of(architecture, "qwen2"))
        kind->mixer_other = qkv_biases(kind);
    else if (has_option && config_flag_or(config, "attention_bias", false))
        kind->mixer_other = qkv_biases(kind) + architecture->hidden_size;
    if (is_of(architecture, "qwen3")) /* of each head */
        kind->mixer_other += 2 * kind->key_size;
    if (is_of(architecture, "olmo2")) /* of all heads together */
        kind->mixer_other += (kind->heads + kind->key_heads) * kind->key_size;
}

/* The layers with a sliding window have the same weights as the others, and only their scores
 * cost less: they are a kind of their own. */
static void read_llama(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;
    int64_t sliding;
    int64_t window;

    read_decoder_sizes(architecture, config, is_of(architecture, "smollm3"));
    architecture->is_gated = true;
    kind =
        attention_layer(architecture, is_of(architecture, "qwen3")
                                          ? config_size_or(config, "head_dim", 128, SIZE_MAX_HEAD)
                                          : head_size_of(config, architecture));
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    read_projections(&kind, architecture, config);
    if ((is_of(architecture, "llama") || is_of(architecture, "smollm3")) &&
        config_flag_or(config, "mlp_bias", false))
        kind.feed_other = 2 * architecture->feed_size + architecture->hidden_size;
    sliding = llama_sliding_layers(architecture, config, &window);
    architecture_add_layers(architecture, kind, architecture->layers - sliding);
    kind.window = window;
    architecture_add_layers(architecture, kind, sliding);
}

static const char *const llama_types[] = {
    "llama",         "mistral",       "ministral",  "ministral3",      "qwen2",
    "qwen2_vl",      "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen3",
    "qwen3_vl_text", "phi3",          "olmo2",      "smollm3",         NULL};

const struct model_family llama_family = {.model_types = llama_types, .read = read_llama};
