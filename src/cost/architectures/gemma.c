/* Gemma 1 to 3: tied logits, more norms, and layers that see only a window. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

static int64_t gemma_sliding_layers(const struct architecture *architecture,
                                    struct config_keys *config)
{
    int64_t every;

    if (strcmp(architecture->model_type, "gemma") == 0)
        return 0;
    if (strcmp(architecture->model_type, "gemma2") == 0) /* every second, the first is one */
        return config_sliding_layers(config, architecture->layers, (architecture->layers + 1) / 2);
    every = config_size_or(config, "sliding_window_pattern", 6, SIZE_MAX_LAYERS);
    return config_sliding_layers(config, architecture->layers,
                                 architecture->layers - architecture->layers / every);
}

static void read_gemma(struct architecture *architecture, struct config_keys *config)
{
    bool is_first = strcmp(architecture->model_type, "gemma") == 0;
    bool is_third = strncmp(architecture->model_type, "gemma3", 6) == 0;
    struct layer_kind kind;
    int64_t sliding;

    read_decoder_sizes(architecture, config, true);
    architecture->is_gated = true;
    kind = attention_layer(architecture, config_size(config, "head_dim", SIZE_MAX_HEAD));
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    if (config_flag_or(config, "attention_bias", false))
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    if (is_third)
        kind.mixer_other += 2 * kind.key_size; /* norms of queries and keys */
    if (!is_first)
        kind.norms = 4 * architecture->hidden_size;
    sliding = gemma_sliding_layers(architecture, config);
    architecture_add_layers(architecture, kind, architecture->layers - sliding);
    if (sliding > 0)
        kind.window = config_size(config, "sliding_window", INT32_MAX);
    architecture_add_layers(architecture, kind, sliding);
}

static const char *const gemma_types[] = {"gemma", "gemma2", "gemma3", "gemma3_text", NULL};

const struct model_family gemma_family = {.model_types = gemma_types, .read = read_gemma};
