/* Decoders with biases everywhere, and feed-forwards of two matrices: GPT-2 and GPT-NeoX, OPT and
 * BLOOM; and those of 2021 to 2024 that have keys of their own: StarCoder 1, GPT-J, CodeGen,
 * GPT-Neo, Falcon, MPT, DBRX. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* Attention of as many keys as queries, norms with biases. */
static struct layer_kind gpt_layer(const struct architecture *architecture,
                                   struct config_keys *config)
{
    struct layer_kind kind = attention_layer(architecture, head_size_of(config, architecture));

    kind.norms = 4 * architecture->hidden_size;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.feed_other = architecture->feed_size + architecture->hidden_size;
    return kind;
}

/* GPT-2 has biases everywhere and learned positions; the norms have a weight and a bias, hence
 * twice the hidden size. */
static void read_gpt2(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;

    architecture->is_causal = true;
    architecture->hidden_size = config_size(config, "n_embd", SIZE_MAX_HIDDEN);
    architecture->layers = config_size(config, "n_layer", SIZE_MAX_LAYERS);
    architecture->heads = config_size(config, "n_head", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size =
        config_size_or(config, "n_inner", 4 * architecture->hidden_size, SIZE_MAX_FEED);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * architecture->hidden_size;
    architecture->positions = config_size(config, "n_positions", SIZE_MAX_VOCABULARY);
    architecture->position_embedding = architecture->positions * architecture->hidden_size;
    architecture->final_norm = 2 * architecture->hidden_size;
    read_output_layer(architecture, config, true);
    kind = gpt_layer(architecture, config);
    kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    architecture_add_layers(architecture, kind, architecture->layers);
}

/* LayerNorm has a weight and a bias for each channel, hence twice the hidden size. */
static void read_gpt_neox(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;

    read_decoder_sizes(architecture, config, false);
    architecture->key_heads = architecture->heads;
    architecture->final_norm = 2 * architecture->hidden_size;
    kind = gpt_layer(architecture, config);
    if (config_flag_or(config, "attention_bias", true))
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    architecture_add_layers(architecture, kind, architecture->layers);
}

static void read_gpt(struct architecture *architecture, struct config_keys *config)
{
    if (strcmp(architecture->model_type, "gpt2") == 0)
        read_gpt2(architecture, config);
    else
        read_gpt_neox(architecture, config);
}

static const char *const gpt_types[] = {"gpt2", "gpt_neox", NULL};

const struct model_family gpt_family = {.model_types = gpt_types, .read = read_gpt};

/* Two LayerNorms in a layer, each with weights and biases. */
static struct layer_kind layer_with_biases(const struct architecture *architecture,
                                           struct config_keys *config, bool has_biases)
{
    struct layer_kind kind = attention_layer(architecture, head_size_of(config, architecture));

    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.norms = 4 * architecture->hidden_size;
    if (has_biases) {
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
        kind.feed_other = architecture->feed_size + architecture->hidden_size;
    }
    return kind;
}

/* The embedding may be narrower than the layers; then a matrix stands before and behind them. */
static void read_opt(struct architecture *architecture, struct config_keys *config)
{
    enum { UNUSED_POSITIONS = 2 };
    int64_t hidden = config_size(config, "hidden_size", SIZE_MAX_HIDDEN);
    int64_t width = config_size_or(config, "word_embed_proj_dim", hidden, SIZE_MAX_HIDDEN);
    bool has_final_norm = config_flag_or(config, "do_layer_norm_before", true) &&
                          !config_flag_or(config, "_remove_final_layer_norm", false);

    architecture->is_causal = true;
    architecture->hidden_size = hidden;
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->heads = config_size(config, "num_attention_heads", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = config_size(config, "ffn_dim", SIZE_MAX_FEED);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * width;
    architecture->positions = config_size(config, "max_position_embeddings", SIZE_MAX_VOCABULARY);
    architecture->position_embedding = (architecture->positions + UNUSED_POSITIONS) * hidden;
    architecture->final_norm = has_final_norm ? 2 * hidden : 0;
    architecture->hidden_size = width; /* what the logits read */
    read_output_layer(architecture, config, true);
    architecture->hidden_size = hidden;
    architecture->transform_matrix = width == hidden ? 0 : 2 * width * hidden;
    architecture_add_layers(
        architecture,
        layer_with_biases(architecture, config, config_flag_or(config, "enable_bias", true)),
        architecture->layers);
}

static int64_t size_by_either_key(struct config_keys *config, const char *key, const char *other,
                                  int64_t maximum)
{
    return config_size(config, json_member(config->root, key) ? key : other, maximum);
}

/* Positions are in the scores (ALiBi); the embedding has a norm. */
static void read_bloom(struct architecture *architecture, struct config_keys *config)
{
    int64_t hidden = size_by_either_key(config, "n_embed", "hidden_size", SIZE_MAX_HIDDEN);

    architecture->is_causal = true;
    architecture->hidden_size = hidden;
    architecture->layers =
        size_by_either_key(config, "n_layer", "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->heads =
        size_by_either_key(config, "n_head", "num_attention_heads", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = 4 * hidden;
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * hidden;
    architecture->other_embedding = 2 * hidden;
    architecture->final_norm = 2 * hidden;
    read_output_layer(architecture, config, true);
    architecture_add_layers(architecture, layer_with_biases(architecture, config, true),
                            architecture->layers);
}

static void read_opt_or_bloom(struct architecture *architecture, struct config_keys *config)
{
    if (strcmp(architecture->model_type, "opt") == 0)
        read_opt(architecture, config);
    else
        read_bloom(architecture, config);
}

static const char *const opt_types[] = {"opt", "bloom", NULL};

const struct model_family opt_family = {.model_types = opt_types, .read = read_opt_or_bloom};

/* ---- keys of their own -------------------------------------------------------------------------
 */

/* What each class calls the sizes that all have. */
struct earlier_keys {
    const char *model_type;
    const char *hidden;
    const char *layers;
    const char *heads;
    const char *feed; /* NULL: in an object of its own */
    int norm_vectors; /* of a norm: 2 with a bias */
    int layer_norms;  /* norms of a layer */
    bool is_untied;   /* by default */
};

static const struct earlier_keys earlier[] = {
    {"gpt_bigcode", "n_embd", "n_layer", "n_head", "n_inner", 2, 2, false},
    {"gptj", "n_embd", "n_layer", "n_head", "n_inner", 2, 1, true},
    {"codegen", "n_embd", "n_layer", "n_head", "n_inner", 2, 1, true},
    {"gpt_neo", "hidden_size", "num_layers", "num_heads", "intermediate_size", 2, 2, false},
    {"falcon", "hidden_size", "num_hidden_layers", "num_attention_heads", "ffn_hidden_size", 2, 2,
     false},
    {"mpt", "d_model", "n_layers", "n_heads", NULL, 1, 2, false},
    {"dbrx", "d_model", "n_layers", "n_heads", NULL, 1, 2, true},
};

static const struct earlier_keys *keys_of(const char *model_type)
{
    size_t i = 0;

    while (strcmp(earlier[i].model_type, model_type) != 0) /* this family's types, as below */
        i++;
    return &earlier[i];
}

static void read_learned_positions(struct architecture *architecture, struct config_keys *config,
                                   const char *key)
{
    architecture->positions = config_size(config, key, SIZE_MAX_VOCABULARY);
    architecture->position_embedding = architecture->positions * architecture->hidden_size;
}

/* Biases of both feed-forward matrices, and where `has_all` of attention's. */
static void add_biases(struct layer_kind *kind, const struct architecture *architecture,
                       bool has_all)
{
    kind->feed_other = architecture->feed_size + architecture->hidden_size;
    if (has_all)
        kind->mixer_other = qkv_biases(kind) + architecture->hidden_size;
}

/* "attention_layers" has a name for each layer; "attention_types" pairs of names and how often. */
static int64_t local_layers(struct config_keys *config, const struct architecture *architecture)
{
    const struct json_node *name = json_items_of(config->root, "attention_layers");
    const struct json_node *pair = json_items_of(config->root, "attention_types");
    int64_t local = 0;

    for (const struct json_node *each = name; each; each = each->next)
        local += each->kind == JSON_STRING && strcmp(each->text, "local") == 0;
    for (; !name && pair; pair = pair->next) {
        const struct json_node *names = pair->first;
        const struct json_node *times = names ? names->next : NULL;

        for (const struct json_node *each = names ? names->first : NULL; each; each = each->next)
            if (each->kind == JSON_STRING && strcmp(each->text, "local") == 0 && times &&
                times->is_integer && times->integer > 0 && times->integer <= SIZE_MAX_LAYERS)
                local += times->integer;
    }
    if (local > architecture->layers)
        config_fail(config, "'attention_types' has %lld local layers of %lld", (long long)local,
                    (long long)architecture->layers);
    return local;
}

/* Every second layer sees the last 256 tokens only; queries, keys and values have no biases. */
static void read_gpt_neo(struct architecture *architecture, struct config_keys *config,
                         struct layer_kind kind)
{
    int64_t local = local_layers(config, architecture);

    read_learned_positions(architecture, config, "max_position_embeddings");
    add_biases(&kind, architecture, false);
    kind.mixer_other = architecture->hidden_size; /* of the result alone */
    architecture_add_layers(architecture, kind, architecture->layers - local);
    kind.window = config_size_or(config, "window_size", 256, INT32_MAX);
    architecture_add_layers(architecture, kind, local);
}

/* One key head where it is "multi_query", unless the decoder is the newer one. A layer has one norm
 * where attention and the feed-forward stand side by side, and two in the newer one. */
static void read_falcon(struct architecture *architecture, struct config_keys *config)
{
    bool is_new = config_flag_or(config, "new_decoder_architecture", false);
    bool is_parallel = config_flag_or(config, "parallel_attn", true);
    bool has_one_key = config_flag_or(config, "multi_query", true);
    int64_t norms = is_new ? config_size_or(config, "num_ln_in_parallel_attn", 2, 2) : 2;
    struct layer_kind kind;

    if (is_new)
        architecture->key_heads =
            config_size_or(config, "num_kv_heads", architecture->heads, SIZE_MAX_HEADS);
    else if (has_one_key)
        architecture->key_heads = 1;
    if (!is_new && is_parallel)
        norms = 1;
    kind = attention_layer(architecture, head_size_of(config, architecture));
    kind.norms = 2 * norms * architecture->hidden_size;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    if (config_flag_or(config, "bias", false))
        add_biases(&kind, architecture, true);
    architecture_add_layers(architecture, kind, architecture->layers);
}

/* The class of transformers makes heads of their own keys and no norms of queries, whatever the
 * file says: such a file is of another model. */
static void read_mpt(struct architecture *architecture, struct config_keys *config,
                     struct layer_kind kind)
{
    const struct json_node *attention = json_member(config->root, "attn_config");
    const char *type = json_text_of(attention, "attn_type", "multihead_attention");

    if (strcmp(type, "multihead_attention") != 0 || json_integer_of(attention, "qk_ln", 0) != 0)
        config_fail(config,
                    "'attn_config' has attn_type '%.40s' or norms of queries: this is not "
                    "counted for 'mpt'",
                    type);
    architecture_add_layers(architecture, kind, architecture->layers);
}

/* A size in an object of the file; 1 with a failure where it is none. */
static int64_t size_in(struct config_keys *config, const char *object, const char *key,
                       int64_t maximum)
{
    int64_t size = json_integer_of(json_member(config->root, object), key, 0);

    if (size >= 1 && size <= maximum)
        return size;
    config_fail(config, "'%s' of '%s' is missing, or no whole number of 1 to %lld", key, object,
                (long long)maximum);
    return 1;
}

/* Attention and experts have their sizes in objects; norms have no biases. */
static void read_dbrx(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;

    architecture->is_gated = true;
    architecture->key_heads = size_in(config, "attn_config", "kv_n_heads", SIZE_MAX_HEADS);
    architecture->feed_size = size_in(config, "ffn_config", "ffn_hidden_size", SIZE_MAX_FEED);
    kind = attention_layer(architecture, head_size_of(config, architecture));
    kind.experts = size_in(config, "ffn_config", "moe_num_experts", SIZE_MAX_EXPERTS);
    kind.experts_per_token = size_in(config, "ffn_config", "moe_top_k", kind.experts);
    kind.expert_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.router_matrix = architecture->hidden_size * kind.experts;
    architecture_add_layers(architecture, kind, architecture->layers);
}

/* What all have: sizes, an embedding, a last norm and logits. */
static void read_earlier_sizes(struct architecture *architecture, struct config_keys *config,
                               const struct earlier_keys *keys)
{
    int64_t hidden = config_size(config, keys->hidden, SIZE_MAX_HIDDEN);
    int64_t ratio = config_size_or(config, "expansion_ratio", 4, 64);

    architecture->is_causal = true;
    architecture->hidden_size = hidden;
    architecture->layers = config_size(config, keys->layers, SIZE_MAX_LAYERS);
    architecture->heads = config_size(config, keys->heads, SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = ratio * hidden;
    if (keys->feed)
        architecture->feed_size = config_size_or(config, keys->feed, 4 * hidden, SIZE_MAX_FEED);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * hidden;
    architecture->final_norm = keys->norm_vectors * hidden;
    read_output_layer(architecture, config, !keys->is_untied);
}

/* GPT-J and CodeGen stand attention beside the feed-forward, behind one norm; only the latter has
 * biases, as have their logits. StarCoder has GPT-2's layers, with one key head. */
static void read_earlier(struct architecture *architecture, struct config_keys *config)
{
    const struct earlier_keys *keys = keys_of(architecture->model_type);
    bool is_gptj = keys->layer_norms == 1;
    struct layer_kind kind;

    read_earlier_sizes(architecture, config, keys);
    if (strcmp(keys->model_type, "falcon") == 0) {
        read_falcon(architecture, config);
        return;
    }
    if (strcmp(keys->model_type, "dbrx") == 0) {
        read_dbrx(architecture, config);
        return;
    }
    if (strcmp(keys->model_type, "gpt_bigcode") == 0 && config_flag_or(config, "multi_query", true))
        architecture->key_heads = 1;
    kind = attention_layer(architecture, head_size_of(config, architecture));
    kind.norms = (int64_t)keys->layer_norms * keys->norm_vectors * architecture->hidden_size;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    if (strcmp(keys->model_type, "gpt_neo") == 0) {
        read_gpt_neo(architecture, config, kind);
        return;
    }
    if (strcmp(keys->model_type, "mpt") == 0) {
        read_mpt(architecture, config, kind);
        return;
    }
    add_biases(&kind, architecture, !is_gptj);
    if (!is_gptj)
        read_learned_positions(architecture, config, "n_positions");
    else if (architecture->output_matrix > 0)
        architecture->output_other += architecture->vocabulary;
    architecture_add_layers(architecture, kind, architecture->layers);
}

static const char *const earlier_types[] = {"gpt_bigcode", "gptj", "codegen", "gpt_neo",
                                            "falcon",      "mpt",  "dbrx",    NULL};

const struct model_family earlier_decoders_family = {.model_types = earlier_types,
                                                     .read = read_earlier};
