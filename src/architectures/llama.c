/* Dense decoders with gated feed-forwards: Llama, Mistral, Qwen 2 and 3. */
#include "architectures/decoder_layers.h"

#include <string.h>

/* Qwen slides in the layers from max_window_layers on, where it slides at all. */
static int64_t sliding_layers(const struct architecture *architecture, struct config_keys *config,
                              int64_t *window)
{
    int64_t first;

    *window = 0;
    if (strcmp(architecture->model_type, "mistral") == 0) {
        *window = config_window(config, "sliding_window", 4096);
        return *window > 0 ? architecture->layers : 0;
    }
    if (strcmp(architecture->model_type, "llama") == 0 ||
        !config_flag_or(config, "use_sliding_window", false))
        return 0;
    *window = config_window(config, "sliding_window", 4096);
    first = config_count_or(config, "max_window_layers", 28, SIZE_MAX_LAYERS);
    if (*window == 0)
        return 0;
    return config_sliding_layers(config, architecture->layers,
                                 first < architecture->layers ? architecture->layers - first : 0);
}

static void read_llama(struct architecture *architecture, struct config_keys *config)
{
    const char *type = architecture->model_type;
    bool is_qwen3 = strcmp(type, "qwen3") == 0;
    struct layer_kind kind;
    int64_t sliding;
    int64_t window;

    read_decoder_sizes(architecture, config, false);
    architecture->is_gated = true;
    kind = attention_layer(architecture,
                           is_qwen3 ? config_size_or(config, "head_dim", 128, SIZE_MAX_HEAD)
                                    : head_size_of(config, architecture));
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    if (strcmp(type, "qwen2") == 0)
        kind.mixer_other = qkv_biases(&kind);
    else if (strcmp(type, "mistral") != 0 && config_flag_or(config, "attention_bias", false))
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    if (is_qwen3)
        kind.mixer_other += 2 * kind.key_size; /* norms of queries and keys */
    if (strcmp(type, "llama") == 0 && config_flag_or(config, "mlp_bias", false))
        kind.feed_other = 2 * architecture->feed_size + architecture->hidden_size;
    sliding = sliding_layers(architecture, config, &window);
    architecture_add_layers(architecture, kind, architecture->layers - sliding);
    kind.window = window;
    architecture_add_layers(architecture, kind, sliding);
}

static const char *const llama_types[] = {"llama", "mistral", "qwen2", "qwen3", NULL};

const struct model_family llama_family = {.model_types = llama_types, .read = read_llama};
