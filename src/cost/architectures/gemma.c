/* Gemma 1 to 3: tied logits, more norms, and layers that see only a window; and Gemma 3n: several
 * streams of hidden states (AltUp), an embedding of each token in each layer, and late layers that
 * use the keys and values of earlier ones. */
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

/* intermediate_size may be a list: one size a layer, all alike. */
static int64_t feed_size_of(struct config_keys *config)
{
    const struct json_node *first = json_items_of(config->root, "intermediate_size");

    if (!first)
        return config_size_or(config, "intermediate_size", 16384, SIZE_MAX_FEED);
    for (const struct json_node *size = first; size; size = size->next)
        if (!size->is_integer || size->integer != first->integer || size->integer < 1 ||
            size->integer > SIZE_MAX_FEED)
            config_fail(config, "'intermediate_size' is a list of different sizes: this is not "
                                "counted for 'gemma3n_text'");
    return config->has_failed ? 1 : first->integer;
}

/* AltUp, Laurel and the layer's own embedding. */
static void gemma3n_add_streams(struct layer_kind *kind, const struct architecture *architecture,
                                struct config_keys *config)
{
    int64_t hidden = architecture->hidden_size;
    int64_t streams = config_size_or(config, "altup_num_inputs", 4, 64);
    int64_t rank = config_size_or(config, "laurel_rank", 64, SIZE_MAX_HIDDEN);
    int64_t own = config_size_or(config, "hidden_size_per_layer_input", 256, SIZE_MAX_HIDDEN);
    int64_t router = hidden * streams;

    kind->mixer_matrix += router + streams * streams + streams * streams * streams;
    kind->mixer_products = router + streams * streams * hidden; /* the router runs twice */
    kind->mixer_matrix += 2 * hidden * rank + 2 * hidden * own;
    kind->norms = 7 * hidden;
    kind->mixer_other += hidden; /* the scale of AltUp's output */
}

static void read_embeddings(struct architecture *architecture, struct config_keys *config)
{
    int64_t hidden = architecture->hidden_size;
    int64_t own = config_size_or(config, "hidden_size_per_layer_input", 256, SIZE_MAX_HIDDEN);
    int64_t words =
        config_size_or(config, "vocab_size_per_layer_input", 262144, SIZE_MAX_VOCABULARY);
    int64_t streams = config_size_or(config, "altup_num_inputs", 4, 64);

    architecture->other_embedding = words * architecture->layers * own;
    architecture->transform_matrix =
        hidden * architecture->layers * own + 2 * (streams - 1) * hidden * hidden;
    architecture->output_other += own; /* the norm of that projection */
}

static void read_gemma3n(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;
    int64_t shared = config_count_or(config, "num_kv_shared_layers", 15, SIZE_MAX_LAYERS);
    int64_t counts[2][2] = {{0}};

    architecture->is_causal = true;
    architecture->is_gated = true;
    architecture->hidden_size = config_size(config, "hidden_size", SIZE_MAX_HIDDEN);
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->heads = config_size(config, "num_attention_heads", SIZE_MAX_HEADS);
    architecture->key_heads =
        config_size_or(config, "num_key_value_heads", architecture->heads, SIZE_MAX_HEADS);
    architecture->feed_size = feed_size_of(config);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * architecture->hidden_size;
    architecture->final_norm = architecture->hidden_size;
    read_output_layer(architecture, config, true);
    read_embeddings(architecture, config);
    kind = attention_layer(architecture, config_size_or(config, "head_dim", 256, SIZE_MAX_HEAD));
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.mixer_other = 2 * kind.key_size; /* norms of queries and keys */
    gemma3n_add_streams(&kind, architecture, config);
    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++)
        counts[layer >= architecture->layers - shared]
              [config_layer_is(config, layer, "sliding_attention", (layer + 1) % 5 != 0)]++;
    for (int i = 0; i < 2; i++) {
        if (i == 1) { /* keys and values of an earlier layer */
            kind.mixer_matrix -= 2 * architecture->hidden_size * kind.key_heads * kind.key_size;
            kind.mixer_other -= kind.key_size;
        }
        kind.window = 0;
        architecture_add_layers(architecture, kind, counts[i][0]);
        kind.window = config_size_or(config, "sliding_window", 512, INT32_MAX);
        architecture_add_layers(architecture, kind, counts[i][1]);
    }
}

static const char *const gemma3n_types[] = {"gemma3n_text", "gemma3n", NULL};

const struct model_family gemma3n_family = {.model_types = gemma3n_types, .read = read_gemma3n};
