/* Decoders that differ from Llama in little: which projections have biases, which norms a layer
 * has, whether the feed-forward is gated, or is a mixture of experts. Granite, GLM 4, ERNIE 4.5,
 * Hunyuan, EXAONE 4, Seed-OSS, OLMo, Command R, Nemotron, StarCoder 2, StableLM, Arcee and Trinity,
 * Phi, Apertus, Helium, dots.llm1, Solar Open. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

enum query_norm { QUERY_NORM_NONE, QUERY_NORM_OF_HEAD, QUERY_NORM_OF_ALL };

/* What a class of transformers has. A flag is a key of config.json; NULL: never. */
struct decoder_traits {
    const char *model_type;
    const char *query_flag;  /* biases of queries, keys and values */
    const char *output_flag; /* of the projection behind attention */
    const char *feed_flag;   /* of the feed-forward */
    int64_t full_every;      /* of as many layers one sees all, the others a window; 0: all do */
    const char *experts;     /* keys of the mixture: how many, how many for a token, and the size */
    const char *experts_used;
    const char *expert_size;
    const char *shared;       /* how many experts every token meets */
    const char *shared_size;  /* or the size of one that it does */
    const char *dense_layers; /* how many of the first layers have no experts */
    const char *full_key;     /* full_every, where it is not sliding_window_pattern */
    int64_t shared_count;     /* where that key is left out */
    int64_t dense_count;
    int64_t feed_other; /* parameters of the activation */
    int layer_norms;    /* vectors of a layer, of hidden_size each */
    int final_norms;    /* ... and of the last norm */
    enum query_norm query_norm;
    bool is_tied;         /* by default */
    bool is_plain;        /* the feed-forward has no gate */
    bool has_biases;      /* where those keys are left out */
    bool has_gate;        /* of attention, as wide as its queries */
    bool has_output_bias; /* of the logits */
    bool corrects_scores; /* a parameter of each expert */
    bool has_no_feed;     /* all layers have experts, and the file has no intermediate_size */
};

static const struct decoder_traits decoders[] = {
    {.model_type = "granite",
     .layer_norms = 2,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .feed_flag = "mlp_bias"},
    {.model_type = "glm", .layer_norms = 2, .final_norms = 1, .query_flag = "attention_bias"},
    {.model_type = "glm4", .layer_norms = 4, .final_norms = 1, .query_flag = "attention_bias"},
    {.model_type = "ernie4_5",
     .is_tied = true,
     .layer_norms = 2,
     .final_norms = 1,
     .query_flag = "use_bias",
     .output_flag = "use_bias",
     .feed_flag = "use_bias"},
    {.model_type = "hunyuan_v1_dense",
     .layer_norms = 2,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_HEAD,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias"},
    {.model_type = "exaone4",
     .layer_norms = 2,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_HEAD,
     .full_every = 4},
    {.model_type = "seed_oss",
     .layer_norms = 2,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .output_flag = "attention_out_bias",
     .feed_flag = "mlp_bias"},
    {.model_type = "olmo", .query_flag = "attention_bias", .output_flag = "attention_bias"},
    {.model_type = "olmo3",
     .layer_norms = 2,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_ALL,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .full_every = 4},
    {.model_type = "starcoder2",
     .is_tied = true,
     .is_plain = true,
     .layer_norms = 4,
     .final_norms = 2,
     .query_flag = "use_bias",
     .output_flag = "use_bias",
     .feed_flag = "use_bias",
     .has_biases = true},
    {.model_type = "stablelm", .layer_norms = 4, .final_norms = 2, .query_flag = "use_qkv_bias"},
    {.model_type = "cohere",
     .is_tied = true,
     .layer_norms = 1,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias"},
    {.model_type = "cohere2",
     .is_tied = true,
     .layer_norms = 1,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .full_every = 4},
    {.model_type = "nemotron",
     .is_plain = true,
     .layer_norms = 4,
     .final_norms = 2,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .feed_flag = "mlp_bias"},
    {.model_type = "arcee",
     .is_plain = true,
     .layer_norms = 2,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .feed_flag = "mlp_bias"},
    {.model_type = "olmoe",
     .layer_norms = 2,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_ALL,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .experts = "num_experts",
     .experts_used = "num_experts_per_tok",
     .expert_size = "intermediate_size"},
    {.model_type = "granitemoe",
     .layer_norms = 2,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .experts = "num_local_experts",
     .experts_used = "num_experts_per_tok",
     .expert_size = "intermediate_size"},
    {.model_type = "phimoe",
     .layer_norms = 4,
     .final_norms = 2,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .experts = "num_local_experts",
     .experts_used = "num_experts_per_tok",
     .expert_size = "intermediate_size"},
    {.model_type = "ernie4_5_moe",
     .is_tied = true,
     .layer_norms = 2,
     .final_norms = 1,
     .experts = "moe_num_experts",
     .experts_used = "moe_k",
     .expert_size = "moe_intermediate_size",
     .shared = "moe_num_shared_experts",
     .shared_count = 2,
     .corrects_scores = true},
    {.model_type = "hunyuan_v1_moe",
     .layer_norms = 2,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_HEAD,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .experts = "num_experts",
     .experts_used = "moe_topk",
     .expert_size = "intermediate_size",
     .shared_size = "intermediate_size"},
    {.model_type = "granitemoeshared",
     .layer_norms = 2,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .experts = "num_local_experts",
     .experts_used = "num_experts_per_tok",
     .expert_size = "intermediate_size",
     .shared_size = "shared_intermediate_size"},
    {.model_type = "exaone_moe",
     .layer_norms = 2,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_HEAD,
     .full_every = 4,
     .experts = "num_experts",
     .experts_used = "num_experts_per_tok",
     .expert_size = "moe_intermediate_size",
     .shared = "num_shared_experts",
     .shared_count = 1,
     .dense_layers = "first_k_dense_replace",
     .dense_count = 1},
    {.model_type = "solar_open",
     .layer_norms = 2,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .experts = "n_routed_experts",
     .experts_used = "num_experts_per_tok",
     .expert_size = "moe_intermediate_size",
     .shared = "n_shared_experts",
     .shared_count = 1,
     .has_no_feed = true},
    {.model_type = "dots1",
     .layer_norms = 2,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_HEAD,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .experts = "n_routed_experts",
     .experts_used = "num_experts_per_tok",
     .expert_size = "moe_intermediate_size",
     .shared = "n_shared_experts",
     .dense_layers = "first_k_dense_replace"},
    {.model_type = "afmoe",
     .layer_norms = 4,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_HEAD,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .has_gate = true,
     .full_every = 4,
     .full_key = "global_attn_every_n_layers",
     .experts = "num_experts",
     .experts_used = "num_experts_per_tok",
     .expert_size = "moe_intermediate_size",
     .shared = "num_shared_experts",
     .shared_count = 2,
     .dense_layers = "num_dense_layers",
     .dense_count = 1,
     .corrects_scores = true},
    {.model_type = "apertus",
     .is_plain = true,
     .layer_norms = 2,
     .final_norms = 1,
     .query_norm = QUERY_NORM_OF_HEAD,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .feed_other = 2},
    {.model_type = "helium",
     .layer_norms = 2,
     .final_norms = 1,
     .query_flag = "attention_bias",
     .feed_flag = "mlp_bias"},
    {.model_type = "phi",
     .is_plain = true,
     .layer_norms = 2,
     .final_norms = 2,
     .query_flag = "attention_bias",
     .output_flag = "attention_bias",
     .feed_flag = "mlp_bias",
     .has_biases = true,
     .has_output_bias = true},
};

static const struct decoder_traits *traits_of(const char *model_type)
{
    size_t i = 0;

    while (strcmp(decoders[i].model_type, model_type) != 0) /* this family's types, as below */
        i++;
    return &decoders[i];
}

static bool has_bias(const struct decoder_traits *traits, struct config_keys *config,
                     const char *flag)
{
    return flag && config_flag_or(config, flag, traits->has_biases);
}

/* Each norm of a layer is one vector, or two where it has a bias as well. StableLM drops the second
 * where attention and the feed-forward stand side by side; Cohere norms queries where a key says
 * so. */
static void read_mixer(struct layer_kind *kind, const struct decoder_traits *traits,
                       const struct architecture *architecture, struct config_keys *config)
{
    bool is_parallel = config_flag_or(config, "use_parallel_residual", false);
    bool norms_queries =
        config_flag_or(config, "use_qk_norm", false) && strcmp(traits->model_type, "cohere") == 0;
    /* OLMoE's norms know no head_dim. */
    int64_t norm_size = strcmp(traits->model_type, "olmoe") == 0
                            ? architecture->hidden_size / architecture->heads
                            : kind->key_size;

    kind->norms = traits->layer_norms * architecture->hidden_size;
    if (traits->has_gate)
        kind->mixer_matrix += architecture->hidden_size * kind->heads * kind->key_size;
    if (is_parallel && strcmp(traits->model_type, "stablelm") == 0)
        kind->norms /= 2;
    if (config_flag_or(config, "qk_layernorm", false))
        config_fail(config, "'qk_layernorm' is true: this is not counted for '%s'",
                    architecture->model_type);
    if (has_bias(traits, config, traits->query_flag))
        kind->mixer_other += qkv_biases(kind);
    if (has_bias(traits, config, traits->output_flag))
        kind->mixer_other += architecture->hidden_size;
    if (traits->query_norm == QUERY_NORM_OF_HEAD)
        kind->mixer_other += 2 * kind->key_size;
    if (traits->query_norm == QUERY_NORM_OF_ALL || norms_queries)
        kind->mixer_other += (kind->heads + kind->key_heads) * norm_size;
}

/* The feed-forward of every token; of a mixture, in layers that are none. */
static void read_dense_feed(struct layer_kind *kind, const struct decoder_traits *traits,
                            const struct architecture *architecture, struct config_keys *config)
{
    int64_t matrices_up = traits->is_plain ? 1 : 2;

    kind->feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind->feed_other = traits->feed_other;
    if (has_bias(traits, config, traits->feed_flag))
        kind->feed_other += matrices_up * architecture->feed_size + architecture->hidden_size;
}

/* Hunyuan writes one number for each layer, which are all the same. */
static int64_t experts_of_token(struct config_keys *config, const char *key, int64_t experts)
{
    const struct json_node *first = json_items_of(config->root, key);

    for (const struct json_node *item = first; item; item = item->next)
        if (!item->is_integer || item->integer != first->integer)
            config_fail(config, "'%s' differs from layer to layer: this is not counted", key);
    if (first && first->is_integer && first->integer > 0 && first->integer <= experts)
        return first->integer;
    return config_size(config, key, experts);
}

/* In layers of the mixture nothing is left of the dense feed-forward, whose biases and activation
 * went with it. What every token meets is given as so many experts, or by its size. */
static void read_experts(struct layer_kind *kind, const struct decoder_traits *traits,
                         const struct architecture *architecture, struct config_keys *config)
{
    kind->feed_matrix = kind->feed_other = 0;
    kind->experts = config_size(config, traits->experts, SIZE_MAX_EXPERTS);
    kind->experts_per_token = experts_of_token(config, traits->experts_used, kind->experts);
    kind->expert_matrix =
        feed_forward_weights(architecture, config_size(config, traits->expert_size, SIZE_MAX_FEED));
    kind->router_matrix = architecture->hidden_size * kind->experts;
    if (strcmp(traits->model_type, "ernie4_5_moe") == 0 &&
        config_flag_or(config, "use_bias", false))
        config_fail(config, "'use_bias' is true: this is not counted for '%s'",
                    architecture->model_type);
    if (traits->corrects_scores)
        kind->router_other = kind->experts;
    if (traits->shared)
        kind->shared_matrix =
            config_count_or(config, traits->shared, traits->shared_count, SIZE_MAX_EXPERTS) *
            kind->expert_matrix;
    if (traits->shared_size)
        kind->shared_matrix = feed_forward_weights(
            architecture, config_count_or(config, traits->shared_size, 0, SIZE_MAX_FEED));
}

/* ERNIE's first layers, and those between, have no experts. */
static bool ernie_has_experts(const struct architecture *architecture, struct config_keys *config,
                              int64_t layer)
{
    int64_t first = config_count_or(config, "moe_layer_start_index", 1, SIZE_MAX_LAYERS);
    int64_t every = config_size_or(config, "moe_layer_interval", 1, SIZE_MAX_LAYERS);
    int64_t last = json_integer_of(config->root, "moe_layer_end_index", -1);

    last = last < 0 ? architecture->layers - 1 : last;
    return layer >= first && layer <= last && (layer + 1) % every == 0;
}

/* Has this layer a feed-forward of its own in place of experts? */
static bool is_dense(const struct architecture *architecture, const struct decoder_traits *traits,
                     struct config_keys *config, int64_t layer)
{
    int64_t first;

    if (strcmp(traits->model_type, "ernie4_5_moe") == 0)
        return !ernie_has_experts(architecture, config, layer);
    if (!traits->dense_layers)
        return !traits->experts;
    first = config_count_or(config, traits->dense_layers, traits->dense_count, SIZE_MAX_LAYERS);
    return layer < config_dense_layers(config, architecture->layers, first);
}

/* Do queries of this layer see a window only? */
static bool has_window(const struct architecture *architecture, const struct decoder_traits *traits,
                       struct config_keys *config, int64_t layer)
{
    const char *key = traits->full_key ? traits->full_key : "sliding_window_pattern";
    int64_t every = traits->full_every;
    bool has_list = json_items_of(config->root, "layer_types") != NULL;

    if (strcmp(traits->model_type, "dots1") == 0)
        return config_layer_is(
            config, layer, "sliding_attention",
            layer >= config_size_or(config, "max_window_layers", 62, SIZE_MAX_LAYERS));
    if (every == 0)
        return true;
    if (!has_list)
        every = config_size_or(config, key, every, SIZE_MAX_LAYERS);
    if (layer == 0) /* the list has as many entries as layers */
        (void)config_sliding_layers(config, architecture->layers, 0);
    return config_layer_is(config, layer, "sliding_attention", (layer + 1) % every != 0);
}

/* Layers by what they have: experts or not, a window or not. */
static void add_layers(struct architecture *architecture, const struct decoder_traits *traits,
                       struct config_keys *config, struct layer_kind kind)
{
    int64_t window = config_window(config, "sliding_window", traits->full_every > 0 ? 4096 : 0);
    int64_t counts[2][2] = {{0}};

    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++)
        counts[!is_dense(architecture, traits, config, layer)]
              [window > 0 && has_window(architecture, traits, config, layer)]++;
    for (int i = 0; i < 4; i++) {
        if (i == 2 && traits->experts)
            read_experts(&kind, traits, architecture, config);
        kind.window = i % 2 ? window : 0;
        architecture_add_layers(architecture, kind, counts[i / 2][i % 2]);
    }
}

/* One way through for dense and mixed ones: a trait that a class lacks is 0. */
static void read_more_decoders(struct architecture *architecture, struct config_keys *config)
{
    const struct decoder_traits *traits = traits_of(architecture->model_type);
    struct layer_kind kind;
    int64_t head_size;

    read_decoder_widths(architecture, config, traits->is_tied);
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    if (!traits->has_no_feed)
        architecture->feed_size = config_size(config, "intermediate_size", SIZE_MAX_FEED);
    architecture->is_gated = !traits->is_plain;
    architecture->final_norm = traits->final_norms * architecture->hidden_size;
    if (architecture->output_matrix > 0 &&
        config_flag_or(config, "lm_head_bias", traits->has_output_bias))
        architecture->output_other += architecture->vocabulary;
    head_size = head_size_of(config, architecture);
    if (strcmp(traits->model_type, "stablelm") == 0) /* knows no head_dim */
        head_size = architecture->hidden_size / architecture->heads;
    kind = attention_layer(architecture, head_size > 0 ? head_size : 1);
    read_mixer(&kind, traits, architecture, config);
    read_dense_feed(&kind, traits, architecture, config);
    add_layers(architecture, traits, config, kind);
}

static const char *const more_types[] = {"granite",
                                         "glm",
                                         "glm4",
                                         "ernie4_5",
                                         "hunyuan_v1_dense",
                                         "exaone4",
                                         "seed_oss",
                                         "olmo",
                                         "olmo3",
                                         "starcoder2",
                                         "stablelm",
                                         "cohere",
                                         "cohere2",
                                         "nemotron",
                                         "arcee",
                                         "olmoe",
                                         "granitemoe",
                                         "phimoe",
                                         "ernie4_5_moe",
                                         "hunyuan_v1_moe",
                                         "granitemoeshared",
                                         "exaone_moe",
                                         "solar_open",
                                         "dots1",
                                         "afmoe",
                                         "apertus",
                                         "helium",
                                         "phi",
                                         NULL};

const struct model_family more_decoders_family = {.model_types = more_types,
                                                  .read = read_more_decoders};
