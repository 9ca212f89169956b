/* Gemma 1 to 4: tied logits, more norms, and layers that see only a window; and Gemma 3n: several
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
    architecture->shares_cache = true;
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

/* ---- Gemma 4: an embedding of each token in each layer, full attention of wider heads, and
 * experts beside the feed-forward
 * ------------------------------------------------------------------------ */

/* What full attention has in place of the sizes of the others. */
struct wide_sizes {
    int64_t head;
    int64_t key_heads;
    int64_t layers; /* as many have it; -1: the file does not say */
};

/* transformers 5 writes an object of each such layer, which must be alike; published files have
 * global_head_dim. */
static struct wide_sizes read_wide_sizes(const struct architecture *architecture,
                                         struct config_keys *config)
{
    const struct json_node *list = json_member(config->root, "per_layer_config");
    bool is_shared = config_flag_or(config, "attention_k_eq_v", false);
    struct wide_sizes sizes = {
        .head = config_size_or(config, "global_head_dim", 512, SIZE_MAX_HEAD),
        .key_heads = is_shared ? config_size_or(config, "num_global_key_value_heads",
                                                architecture->key_heads, SIZE_MAX_HEADS)
                               : architecture->key_heads,
        .layers = list ? 0 : -1,
    };

    for (const struct json_node *layer = list ? list->first : NULL; layer; layer = layer->next) {
        int64_t head = json_integer_of(layer, "head_dim", 0);
        int64_t key_heads = json_integer_of(layer, "num_key_value_heads", architecture->key_heads);

        if (head < 1 || head > SIZE_MAX_HEAD || key_heads < 1 || key_heads > SIZE_MAX_HEADS ||
            (sizes.layers > 0 && (head != sizes.head || key_heads != sizes.key_heads)))
            config_fail(config, "'per_layer_config' has layers that differ in more than one way: "
                                "this is not counted");
        sizes = (struct wide_sizes){head, key_heads, sizes.layers + 1};
    }
    return sizes;
}

/* Values of full attention may be its keys: then they have no projection. */
static struct layer_kind gemma4_attention(const struct architecture *architecture,
                                          struct config_keys *config, const struct wide_sizes *wide)
{
    struct architecture sizes = *architecture;
    int64_t head = wide ? wide->head : config_size_or(config, "head_dim", 256, SIZE_MAX_HEAD);
    struct layer_kind kind;

    if (wide)
        sizes.key_heads = wide->key_heads;
    kind = attention_layer(&sizes, head);
    kind.mixer_other = 2 * head; /* norms of queries and keys */
    kind.norms = 4 * architecture->hidden_size;
    if (wide && config_flag_or(config, "attention_k_eq_v", false))
        kind.mixer_matrix -= architecture->hidden_size * kind.key_heads * head;
    return kind;
}

/* Experts stand beside the feed-forward of every token, with norms of their own. */
static void gemma4_add_feed(struct layer_kind *kind, const struct architecture *architecture,
                            struct config_keys *config, bool is_wide)
{
    int64_t hidden = architecture->hidden_size;
    int64_t feed = feed_forward_weights(architecture, architecture->feed_size) * (is_wide ? 2 : 1);

    kind->feed_matrix = feed;
    if (!config_flag_or(config, "enable_moe_block", false))
        return;
    kind->feed_matrix = 0;
    kind->shared_matrix = feed;
    kind->experts = config_size(config, "num_experts", SIZE_MAX_EXPERTS);
    kind->experts_per_token = config_size(config, "top_k_experts", kind->experts);
    kind->expert_matrix = feed_forward_weights(
        architecture, config_size(config, "moe_intermediate_size", SIZE_MAX_FEED));
    kind->router_matrix = hidden * kind->experts;
    kind->router_other = hidden + kind->experts;
    kind->norms += 3 * hidden;
}

/* Each layer is handed a vector of its own for each token, of an embedding and of a projection. */
static void read_own_embeddings(struct architecture *architecture, struct config_keys *config,
                                int64_t own)
{
    int64_t words =
        config_size_or(config, "vocab_size_per_layer_input", 262144, SIZE_MAX_VOCABULARY);

    if (own == 0)
        return;
    architecture->other_embedding = words * architecture->layers * own;
    architecture->transform_matrix = architecture->hidden_size * architecture->layers * own;
    architecture->output_other += own; /* the norm of that projection */
}

/* Four kinds: with a window or full attention, with keys of their own or an earlier layer's. Later
 * ones may have a feed-forward of twice the size. */
static void read_gemma4(struct architecture *architecture, struct config_keys *config)
{
    int64_t shared = config_count_or(config, "num_kv_shared_layers", 0, SIZE_MAX_LAYERS);
    int64_t own = config_count_or(config, "hidden_size_per_layer_input", 256, SIZE_MAX_HIDDEN);
    bool has_wide = config_flag_or(config, "use_double_wide_mlp", false);
    struct wide_sizes wide;
    int64_t counts[2][2] = {{0}};

    read_decoder_sizes(architecture, config, true);
    architecture->is_gated = true;
    architecture->shares_cache = shared > 0;
    if (config_flag_or(config, "attention_bias", false))
        config_fail(config, "'attention_bias' is true: this is not counted for 'gemma4_text'");
    wide = read_wide_sizes(architecture, config);
    read_own_embeddings(architecture, config, own);
    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++)
        counts[layer >= architecture->layers - shared]
              [!config_layer_is(config, layer, "sliding_attention", (layer + 1) % 6 != 0) ||
               layer == architecture->layers - 1]++; /* the last always sees all */
    if (wide.layers >= 0 && wide.layers != counts[0][1] + counts[1][1])
        config_fail(config,
                    "'per_layer_config' has %lld layers, and %lld have full attention: "
                    "this is not counted",
                    (long long)wide.layers, (long long)counts[0][1] + (long long)counts[1][1]);
    for (int i = 0; i < 4; i++) {
        struct layer_kind kind = gemma4_attention(architecture, config, i % 2 ? &wide : NULL);

        if (i >= 2) { /* keys and values of an earlier layer */
            kind.mixer_matrix = 2 * architecture->hidden_size * kind.heads * kind.key_size;
            kind.mixer_other -= kind.key_size;
        }
        kind.window = i % 2 ? 0 : config_size_or(config, "sliding_window", 512, INT32_MAX);
        gemma4_add_feed(&kind, architecture, config, i >= 2 && has_wide);
        if (own > 0) {
            kind.mixer_matrix += 2 * architecture->hidden_size * own;
            kind.norms += architecture->hidden_size;
        }
        architecture_add_layers(architecture, kind, counts[i / 2][i % 2]);
    }
}

static const char *const gemma4_types[] = {"gemma4_text", "gemma4", NULL};

const struct model_family gemma4_family = {.model_types = gemma4_types, .read = read_gemma4};
