/* Mamba 1 and 2: state spaces instead of attention; Falcon-H1: both side by side in each layer; and
 * decoders in which layers of state spaces or convolutions stand among few of attention: Granite 4,
 * Bamba, Jamba, LFM 2, Nemotron-H. */
#include "cost/architectures/decoder_layers.h"

#include <stdlib.h>
#include <string.h>

struct state_space {
    int64_t inner; /* channels */
    int64_t state; /* numbers of a channel's state */
    int64_t heads; /* Mamba 2 */
    int64_t groups;
    int64_t step_rank; /* Mamba 1 */
    int64_t width;     /* of the convolution */
    bool has_convolution_bias;
    bool has_norm; /* before the output; of Mamba 1, of step, B and C */
    bool has_input_bias;
    bool has_output_bias;
};

/* "auto" is hidden_size / 16, rounded up. */
static int64_t time_step_rank(struct config_keys *config, const char *key, int64_t hidden)
{
    const struct json_node *node = json_member(config->root, key);

    if (!node || (node->kind == JSON_STRING && strcmp(node->text, "auto") == 0))
        return (hidden + 15) / 16;
    return config_size(config, key, SIZE_MAX_HIDDEN);
}

/* in_proj to x and gate, x_proj to step, B and C, dt_proj from the step's rank, out_proj. A
 * has inner x state numbers, D and the convolution's bias one per channel (Gu and Dao, Mamba). */
static void add_selective_scan(struct layer_kind *kind, int64_t hidden,
                               const struct state_space *space)
{
    int64_t inner = space->inner;
    int64_t read = space->step_rank + 2 * space->state;

    kind->scan_channels = inner;
    kind->state_size = space->state;
    kind->convolution_weights = inner * space->width;
    kind->mixer_matrix +=
        hidden * 2 * inner + inner * read + space->step_rank * inner + inner * hidden;
    kind->mixer_other += inner + inner * space->state + inner +
                         (space->has_convolution_bias ? inner : 0) + (space->has_norm ? read : 0) +
                         (space->has_input_bias ? 2 * inner : 0) +
                         (space->has_output_bias ? hidden : 0);
}

static struct layer_kind mamba1_layer(struct config_keys *config, int64_t hidden, int64_t inner)
{
    struct layer_kind kind = {.norms = hidden};
    bool has_bias = config_flag_or(config, "use_bias", false);
    struct state_space space = {
        .inner = inner,
        .state = config_size(config, "state_size", SIZE_MAX_HIDDEN),
        .step_rank = time_step_rank(config, "time_step_rank", hidden),
        .width = config_size(config, "conv_kernel", SIZE_MAX_HEAD),
        .has_convolution_bias = config_flag_or(config, "use_conv_bias", true),
        .has_input_bias = has_bias,
        .has_output_bias = has_bias,
    };

    add_selective_scan(&kind, hidden, &space);
    return kind;
}

/* One input projection to gate, x, B, C and steps; the convolution goes over x, B and C
 * together; A, D and the step's bias are one per head (Dao and Gu, Mamba-2). */
static void add_state_space(struct layer_kind *kind, int64_t hidden,
                            const struct state_space *space)
{
    int64_t convolved = space->inner + 2 * space->groups * space->state;
    int64_t projected = space->inner + convolved + space->heads;

    kind->scan_channels = space->inner;
    kind->state_size = space->state;
    kind->convolution_weights = convolved * space->width;
    kind->mixer_matrix += hidden * projected + space->inner * hidden;
    kind->mixer_other += 3 * space->heads + (space->has_convolution_bias ? convolved : 0) +
                         (space->has_norm ? space->inner : 0) +
                         (space->has_input_bias ? projected : 0) +
                         (space->has_output_bias ? hidden : 0);
}

static struct layer_kind mamba2_layer(struct config_keys *config, int64_t hidden, int64_t inner)
{
    struct layer_kind kind = {.norms = hidden};
    bool has_bias = config_flag_or(config, "use_bias", false);
    int64_t head = config_size(config, "head_dim", SIZE_MAX_HEAD);
    struct state_space space = {
        .inner = inner,
        .state = config_size(config, "state_size", SIZE_MAX_HIDDEN),
        .heads = config_size(config, "num_heads", SIZE_MAX_HIDDEN),
        .groups = config_size(config, "n_groups", SIZE_MAX_HEADS),
        .width = config_size(config, "conv_kernel", SIZE_MAX_HEAD),
        .has_convolution_bias = config_flag_or(config, "use_conv_bias", true),
        .has_norm = true,
        .has_input_bias = has_bias,
        .has_output_bias = has_bias,
    };

    if (space.heads * head != inner)
        config_fail(config,
                    "%lld heads of 'head_dim' %lld are not 'expand' times 'hidden_size', %lld",
                    (long long)space.heads, (long long)head, (long long)inner);
    add_state_space(&kind, hidden, &space);
    return kind;
}

/* Mamba has no feed-forward: a layer is its mixer, and the inner size is what `expand` makes
 * of the hidden one. Only the first version ties its output to the embedding by default. */
static void read_mamba(struct architecture *architecture, struct config_keys *config)
{
    bool is_second = strcmp(architecture->model_type, "mamba2") == 0;
    int64_t hidden = config_size(config, "hidden_size", SIZE_MAX_HIDDEN);
    int64_t inner = hidden * config_size(config, "expand", 16);

    architecture->is_causal = true;
    architecture->hidden_size = hidden;
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * hidden;
    architecture->final_norm = hidden;
    read_output_layer(architecture, config, !is_second);
    architecture_add_layers(architecture,
                            is_second ? mamba2_layer(config, hidden, inner)
                                      : mamba1_layer(config, hidden, inner),
                            architecture->layers);
}

static const char *const mamba_types[] = {"mamba", "mamba2", NULL};

const struct model_family mamba_family = {.model_types = mamba_types, .read = read_mamba};

/* Keys that Falcon-H1, Granite and Bamba share. */
static struct state_space read_state_space(struct config_keys *config, int64_t inner)
{
    bool has_bias = config_flag_or(config, "mamba_proj_bias", false);

    return (struct state_space){
        .inner = inner,
        .state = config_size_or(config, "mamba_d_state", 256, SIZE_MAX_HIDDEN),
        .heads = config_size_or(config, "mamba_n_heads", 128, SIZE_MAX_HIDDEN),
        .groups = config_size_or(config, "mamba_n_groups", 1, SIZE_MAX_HEADS),
        .width = config_size_or(config, "mamba_d_conv", 4, SIZE_MAX_HEAD),
        .has_convolution_bias = config_flag_or(config, "mamba_conv_bias", true),
        .has_norm = true,
        .has_input_bias = has_bias,
        .has_output_bias = has_bias,
    };
}

/* Attention and a state space stand side by side in each layer, so that one kind of layer has
 * both. */
static void read_falcon_h1(struct architecture *architecture, struct config_keys *config)
{
    struct state_space space;
    struct layer_kind kind;
    int64_t inner;

    read_decoder_sizes(architecture, config, false);
    inner = config_size_or(config, "mamba_expand", 2, 16) * architecture->hidden_size;
    architecture->is_gated = true;
    kind = attention_layer(architecture, head_size_of(config, architecture));
    if (config_flag_or(config, "attention_bias", false))
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    if (config_flag_or(config, "mlp_bias", false))
        kind.feed_other = 2 * architecture->feed_size + architecture->hidden_size;
    space = read_state_space(config, config_size_or(config, "mamba_d_ssm", inner, SIZE_MAX_FEED));
    space.has_norm = config_flag_or(config, "mamba_rms_norm", false);
    space.has_output_bias = config_flag_or(config, "projectors_bias", false);
    add_state_space(&kind, architecture->hidden_size, &space);
    architecture_add_layers(architecture, kind, architecture->layers);
}

static const char *const falcon_h1_types[] = {"falcon_h1", NULL};

const struct model_family falcon_h1_family = {.model_types = falcon_h1_types,
                                              .read = read_falcon_h1};

/* ---- hybrids ----------------------------------------------------------------------------------
 */

/* Kinds of mixers, and of feed-forwards: a layer has one of each, of Nemotron-H one of them all. */
enum { HAS_ATTENTION, HAS_OTHER_MIXER, MIXERS };
enum { HAS_DENSE, HAS_EXPERTS, FEEDS };

/* Two names each: transformers 5 writes the first. */
static bool is_attention_layer(struct config_keys *config, int64_t layer, const char *other,
                               bool otherwise)
{
    const char *name = config_layer_type(config, layer);

    if (!name)
        return otherwise;
    if (strcmp(name, "full_attention") == 0 || strcmp(name, "attention") == 0)
        return true;
    if (strcmp(name, other) != 0 && strcmp(name, "mamba") != 0)
        config_fail(config,
                    "'layer_types' has '%.40s' for layer %lld: 'full_attention' and '%s' are what "
                    "is known of the model_type '%s'",
                    name, (long long)layer, other, config->model_type);
    return false;
}

/* Linear in the list, which has a few of at most some thousand layers. */
static bool layer_is_listed(const struct config_keys *config, const char *key, int64_t layer)
{
    for (const struct json_node *node = json_items_of(config->root, key); node; node = node->next)
        if (node->is_integer && node->integer == layer)
            return true;
    return false;
}

/* One switch for all four projections, as Llama has it. */
static struct layer_kind grouped_attention(const struct architecture *architecture,
                                           struct config_keys *config)
{
    struct layer_kind kind = attention_layer(architecture, head_size_of(config, architecture));

    if (config_flag_or(config, "attention_bias", false))
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    return kind;
}

/* Inner channels are `expand` times the hidden size, whatever heads the file says. */
static struct layer_kind state_space_layer(const struct architecture *architecture,
                                           struct config_keys *config)
{
    int64_t inner = config_size_or(config, "mamba_expand", 2, 16) * architecture->hidden_size;
    struct layer_kind kind = {.norms = 2 * architecture->hidden_size};
    struct state_space space = read_state_space(config, inner);

    add_state_space(&kind, architecture->hidden_size, &space);
    return kind;
}

/* A whole feed-forward behind either mixer, so that the two kinds differ in that alone. */
static void read_bamba(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kinds[MIXERS];
    int64_t attending = 0;

    kinds[HAS_ATTENTION] = grouped_attention(architecture, config);
    kinds[HAS_OTHER_MIXER] = state_space_layer(architecture, config);
    for (int64_t layer = 0; layer < architecture->layers; layer++)
        attending += layer_is_listed(config, "attn_layer_indices", layer) ? 1 : 0;
    for (int i = 0; i < MIXERS; i++) {
        kinds[i].feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
        if (config_flag_or(config, "mlp_bias", false))
            kinds[i].feed_other = 2 * architecture->feed_size + architecture->hidden_size;
    }
    architecture_add_layers(architecture, kinds[HAS_OTHER_MIXER], architecture->layers - attending);
    architecture_add_layers(architecture, kinds[HAS_ATTENTION], attending);
}

/* A feed-forward that every token meets, and experts unless there are 0. */
static void read_granite(struct architecture *architecture, struct config_keys *config)
{
    int64_t shared = feed_forward_weights(
        architecture, config_size_or(config, "shared_intermediate_size", 1024, SIZE_MAX_FEED));
    struct layer_kind kinds[MIXERS];
    int64_t attending = 0;

    kinds[HAS_ATTENTION] = grouped_attention(architecture, config);
    kinds[HAS_OTHER_MIXER] = state_space_layer(architecture, config);
    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++)
        attending += is_attention_layer(config, layer, "linear_attention", false) ? 1 : 0;
    for (int i = 0; i < MIXERS; i++) {
        struct layer_kind *kind = &kinds[i];

        kind->experts = config_count_or(config, "num_local_experts", 8, SIZE_MAX_EXPERTS);
        if (kind->experts == 0) {
            kind->feed_matrix = shared;
            continue;
        }
        kind->experts_per_token = config_size_or(config, "num_experts_per_tok", 2, kind->experts);
        kind->expert_matrix = feed_forward_weights(architecture, architecture->feed_size);
        kind->router_matrix = architecture->hidden_size * kind->experts;
        kind->shared_matrix = shared;
    }
    architecture_add_layers(architecture, kinds[HAS_OTHER_MIXER], architecture->layers - attending);
    architecture_add_layers(architecture, kinds[HAS_ATTENTION], attending);
}

/* Mamba 1, with norms of step, B and C. */
static struct layer_kind selective_scan_layer(const struct architecture *architecture,
                                              struct config_keys *config)
{
    bool has_bias = config_flag_or(config, "mamba_proj_bias", false);
    struct layer_kind kind = {.norms = 2 * architecture->hidden_size};
    struct state_space space = {
        .inner = config_size_or(config, "mamba_expand", 2, 16) * architecture->hidden_size,
        .state = config_size_or(config, "mamba_d_state", 16, SIZE_MAX_HIDDEN),
        .step_rank = time_step_rank(config, "mamba_dt_rank", architecture->hidden_size),
        .width = config_size_or(config, "mamba_d_conv", 4, SIZE_MAX_HEAD),
        .has_convolution_bias = config_flag_or(config, "mamba_conv_bias", true),
        .has_norm = true,
        .has_input_bias = has_bias,
        .has_output_bias = has_bias,
    };

    add_selective_scan(&kind, architecture->hidden_size, &space);
    return kind;
}

/* Experts in place of the dense feed-forward, as large as it. */
static void add_expert_kinds(struct architecture *architecture, struct config_keys *config,
                             struct layer_kind mixers[MIXERS], int64_t counts[MIXERS][FEEDS])
{
    for (int i = 0; i < MIXERS; i++) {
        struct layer_kind *kind = &mixers[i];

        kind->feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
        architecture_add_layers(architecture, *kind, counts[i][HAS_DENSE]);
        kind->experts = config_size_or(config, "num_experts", 16, SIZE_MAX_EXPERTS);
        kind->experts_per_token = config_size_or(config, "num_experts_per_tok", 2, kind->experts);
        kind->expert_matrix = kind->feed_matrix;
        if (strcmp(architecture->model_type, "lfm2_moe") == 0)
            kind->expert_matrix = feed_forward_weights(
                architecture, config_size_or(config, "moe_intermediate_size", 1792, SIZE_MAX_FEED));
        kind->router_matrix = architecture->hidden_size * kind->experts;
        kind->feed_matrix = 0;
        architecture_add_layers(architecture, *kind, counts[i][HAS_EXPERTS]);
    }
}

/* With one expert a layer is dense: there is no router. */
static void read_jamba(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind mixers[MIXERS];
    int64_t attention_every = config_size_or(config, "attn_layer_period", 8, SIZE_MAX_LAYERS);
    int64_t attention_at = config_count_or(config, "attn_layer_offset", 4, SIZE_MAX_LAYERS);
    int64_t experts_every = config_size_or(config, "expert_layer_period", 2, SIZE_MAX_LAYERS);
    int64_t experts_at = config_count_or(config, "expert_layer_offset", 1, SIZE_MAX_LAYERS);
    bool has_experts = config_size_or(config, "num_experts", 16, SIZE_MAX_EXPERTS) > 1;
    int64_t counts[MIXERS][FEEDS] = {{0}};

    mixers[HAS_ATTENTION] = grouped_attention(architecture, config);
    mixers[HAS_OTHER_MIXER] = selective_scan_layer(architecture, config);
    for (int64_t layer = 0; layer < architecture->layers; layer++)
        counts[layer % attention_every == attention_at ? HAS_ATTENTION : HAS_OTHER_MIXER]
              [has_experts && layer % experts_every == experts_at ? HAS_EXPERTS : HAS_DENSE]++;
    add_expert_kinds(architecture, config, mixers, counts);
}

/* A short convolution between two gates: three projections of the hidden size, and one back. */
static struct layer_kind short_convolution(const struct architecture *architecture,
                                           struct config_keys *config)
{
    int64_t hidden = architecture->hidden_size;

    return (struct layer_kind){
        .convolution_weights = hidden * config_size_or(config, "conv_L_cache", 3, SIZE_MAX_HEAD),
        .mixer_matrix = 4 * hidden * hidden,
        .mixer_other = config_flag_or(config, "conv_bias", false) ? 5 * hidden : 0,
        .norms = 2 * hidden,
    };
}

/* Of the first version the feed-forward is two thirds of what the file says, rounded up to whole
 * blocks. */
static int64_t adjusted_feed_size(const struct architecture *architecture,
                                  struct config_keys *config)
{
    int64_t block = config_size_or(config, "block_multiple_of", 256, SIZE_MAX_FEED);
    const struct json_node *factor = json_member(config->root, "block_ffn_dim_multiplier");
    int64_t size = config_size_or(config, "block_ff_dim", architecture->feed_size, SIZE_MAX_FEED);

    if (!config_flag_or(config, "block_auto_adjust_ff_dim", true))
        return size;
    size = 2 * size / 3;
    if (factor && factor->kind == JSON_NULL)
        return size;
    if (factor && factor->kind == JSON_NUMBER) {
        double times = strtod(factor->text, NULL);

        if (!(times > 0 && times < 16))
            config_fail(config,
                        "'block_ffn_dim_multiplier' is %.40s: more than 0 and less than 16 "
                        "was expected",
                        factor->text);
        else
            size = (int64_t)(times * (double)size);
    }
    return (size + block - 1) / block * block;
}

/* Layers of attention are listed by number in older files and by name in newer ones; a file that
 * has neither is of attention throughout, as its class has it. */
static void read_lfm2(struct architecture *architecture, struct config_keys *config)
{
    bool has_experts = strcmp(architecture->model_type, "lfm2_moe") == 0;
    bool has_list = json_items_of(config->root, "full_attn_idxs") != NULL;
    int64_t dense = has_experts ? config_count_or(config, "num_dense_layers", 2, SIZE_MAX_LAYERS)
                                : architecture->layers;
    int64_t counts[MIXERS][FEEDS] = {{0}};
    struct layer_kind mixers[MIXERS];

    if (!has_experts)
        architecture->feed_size = adjusted_feed_size(architecture, config);
    mixers[HAS_ATTENTION] = attention_layer(architecture, head_size_of(config, architecture));
    mixers[HAS_ATTENTION].mixer_other = 2 * mixers[HAS_ATTENTION].key_size; /* norms */
    mixers[HAS_OTHER_MIXER] = short_convolution(architecture, config);
    for (int64_t layer = 0; layer < architecture->layers && !config->has_failed; layer++) {
        bool attends_by_list = !has_list || layer_is_listed(config, "full_attn_idxs", layer);
        bool attends = is_attention_layer(config, layer, "conv", attends_by_list);

        counts[attends ? HAS_ATTENTION : HAS_OTHER_MIXER]
              [layer >= dense ? HAS_EXPERTS : HAS_DENSE]++;
    }
    add_expert_kinds(architecture, config, mixers, counts);
}

/* What differs is how a file says which layers attend, and what stands behind the mixer. */
static void read_hybrid(struct architecture *architecture, struct config_keys *config)
{
    const char *type = architecture->model_type;
    bool is_lfm = strncmp(type, "lfm2", 4) == 0;
    bool is_tied = config_flag_or(config, "tie_embedding", is_lfm);

    read_decoder_sizes(architecture, config, is_tied);
    architecture->is_gated = true;
    if (strcmp(type, "bamba") == 0)
        read_bamba(architecture, config);
    else if (strcmp(type, "granitemoehybrid") == 0)
        read_granite(architecture, config);
    else if (strcmp(type, "jamba") == 0)
        read_jamba(architecture, config);
    else
        read_lfm2(architecture, config);
}

static const char *const hybrid_types[] = {"bamba", "granitemoehybrid", "jamba",
                                           "lfm2",  "lfm2_moe",         NULL};

const struct model_family hybrid_family = {.model_types = hybrid_types, .read = read_hybrid};

/* ---- Nemotron-H: a layer is a mixer or a feed-forward, behind one norm ------------------------
 */

enum { BLOCK_SCAN, BLOCK_ATTENTION, BLOCK_DENSE, BLOCK_EXPERTS, BLOCKS };

/* By hybrid_override_pattern ("M*-E"), or as transformers 5 writes it. */
static bool count_pattern(struct config_keys *config, int64_t counts[BLOCKS])
{
    static const char letters[BLOCKS + 1] = "M*-E";
    const char *pattern = json_text_of(config->root, "hybrid_override_pattern", NULL);

    for (const char *letter = pattern; letter && *letter; letter++) {
        const char *known = strchr(letters, *letter);

        if (known)
            counts[known - letters]++;
        else
            config_fail(config,
                        "'hybrid_override_pattern' has '%c': M, *, - and E are what is known",
                        *letter);
    }
    return pattern != NULL;
}

/* Both spellings of a name are known, and any other ends the reading: a block that is left out
 * would make the model smaller than it is. */
static void count_blocks(struct config_keys *config, int64_t counts[BLOCKS])
{
    static const char *const names[BLOCKS][2] = {{"linear_attention", "mamba"},
                                                 {"full_attention", "attention"},
                                                 {"mlp", "mlp"},
                                                 {"moe", "moe"}};
    const struct json_node *block = json_items_of(config->root, "layers_block_type");

    if (count_pattern(config, counts))
        return;
    block = block ? block : json_items_of(config->root, "layer_types");
    if (!block)
        config_fail(config, "'hybrid_override_pattern' or 'layers_block_type' is missing: for the "
                            "model_type 'nemotron_h' one of them must be there");
    for (; block; block = block->next) {
        const char *name = block->kind == JSON_STRING ? block->text : "";
        int i = 0;

        while (i < BLOCKS && strcmp(names[i][0], name) != 0 && strcmp(names[i][1], name) != 0)
            i++;
        if (i == BLOCKS)
            config_fail(config, "'layers_block_type' has '%.40s': this is not known", name);
        else
            counts[i]++;
    }
}

/* Heads and their size are given, and not derived from `expand`, which published files have too
 * but no class reads. */
static struct layer_kind nemotron_scan(struct config_keys *config, int64_t hidden)
{
    struct layer_kind kind = {.norms = hidden};
    bool has_bias = config_flag_or(config, "use_bias", false);
    int64_t heads = config_size_or(config, "mamba_num_heads", 128, SIZE_MAX_HIDDEN);
    struct state_space space = {
        .inner = heads * config_size_or(config, "mamba_head_dim", 64, SIZE_MAX_HEAD),
        .state = config_size_or(config, "ssm_state_size", 128, SIZE_MAX_HIDDEN),
        .heads = heads,
        .groups = config_size_or(config, "n_groups", 8, SIZE_MAX_HEADS),
        .width = config_size_or(config, "conv_kernel", 4, SIZE_MAX_HEAD),
        .has_convolution_bias = config_flag_or(config, "use_conv_bias", true),
        .has_norm = true,
        .has_input_bias = has_bias,
        .has_output_bias = has_bias,
    };

    add_state_space(&kind, hidden, &space);
    return kind;
}

/* Feed-forwards have no gate. With a latent size tokens are made as narrow before the experts. */
static void nemotron_experts(struct layer_kind *kind, const struct architecture *architecture,
                             struct config_keys *config)
{
    int64_t hidden = architecture->hidden_size;
    int64_t latent = config_count_or(config, "moe_latent_size", 0, SIZE_MAX_HIDDEN);
    int64_t size = config_size_or(config, "moe_intermediate_size", 7688, SIZE_MAX_FEED);
    int64_t shared =
        config_size_or(config, "moe_shared_expert_intermediate_size", 7688, SIZE_MAX_FEED);

    kind->experts = config_size_or(config, "n_routed_experts", 8, SIZE_MAX_EXPERTS);
    kind->experts_per_token = config_size_or(config, "num_experts_per_tok", 2, kind->experts);
    kind->expert_matrix = 2 * (latent > 0 ? latent : hidden) * size;
    kind->shared_matrix = feed_forward_weights(architecture, shared) + 2 * latent * hidden;
    kind->router_matrix = hidden * kind->experts;
}

/* The list decides how many layers there are: num_hidden_layers is kept for old readers. */
static void read_nemotron_h(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kinds[BLOCKS];
    int64_t counts[BLOCKS] = {0};
    int64_t hidden;

    count_blocks(config, counts);
    for (int i = 0; i < BLOCKS; i++)
        architecture->layers += counts[i];
    read_decoder_widths(architecture, config, false);
    architecture->feed_size = config_size(config, "intermediate_size", SIZE_MAX_FEED);
    hidden = architecture->hidden_size;
    if (architecture->layers > SIZE_MAX_LAYERS)
        config_fail(config, "it has %lld layers, and at most %d are counted",
                    (long long)architecture->layers, SIZE_MAX_LAYERS);
    if (config_flag_or(config, "mlp_bias", false) ||
        config_flag_or(config, "attention_bias", false))
        config_fail(config, "'mlp_bias' or 'attention_bias' is true: this is not counted for "
                            "'nemotron_h'");
    kinds[BLOCK_SCAN] = nemotron_scan(config, hidden);
    kinds[BLOCK_ATTENTION] = attention_layer(architecture, head_size_of(config, architecture));
    kinds[BLOCK_ATTENTION].norms = hidden;
    kinds[BLOCK_DENSE] = (struct layer_kind){
        .norms = hidden,
        .feed_matrix = feed_forward_weights(architecture, architecture->feed_size)};
    kinds[BLOCK_EXPERTS] = (struct layer_kind){.norms = hidden};
    nemotron_experts(&kinds[BLOCK_EXPERTS], architecture, config);
    for (int i = 0; i < BLOCKS; i++)
        architecture_add_layers(architecture, kinds[i], counts[i]);
}

static const char *const nemotron_h_types[] = {"nemotron_h", NULL};

const struct model_family nemotron_h_family = {.model_types = nemotron_h_types,
                                               .read = read_nemotron_h};
