/* Mamba 1 and 2: state spaces instead of attention; and Falcon-H1: both side by side in each layer.
 */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* "auto" is hidden_size / 16, rounded up. */
static int64_t time_step_rank(struct config_keys *config, int64_t hidden)
{
    const struct json_node *node = json_member(config->root, "time_step_rank");

    if (!node || (node->kind == JSON_STRING && strcmp(node->text, "auto") == 0))
        return (hidden + 15) / 16;
    return config_size(config, "time_step_rank", SIZE_MAX_HIDDEN);
}

/* in_proj to x and gate, x_proj to step, B and C, dt_proj from the step's rank, out_proj. A
 * has inner x state numbers, D and the convolution's bias one per channel (Gu and Dao, Mamba). */
static struct layer_kind mamba1_layer(struct config_keys *config, int64_t hidden, int64_t inner)
{
    int64_t state = config_size(config, "state_size", SIZE_MAX_HIDDEN);
    int64_t rank = time_step_rank(config, hidden);
    int64_t width = config_size(config, "conv_kernel", SIZE_MAX_HEAD);
    bool has_bias = config_flag_or(config, "use_bias", false);
    bool has_conv_bias = config_flag_or(config, "use_conv_bias", true);

    return (struct layer_kind){
        .scan_channels = inner,
        .state_size = state,
        .convolution_weights = inner * width,
        .mixer_matrix =
            hidden * 2 * inner + inner * (rank + 2 * state) + rank * inner + inner * hidden,
        .mixer_other = inner + inner * state + inner + (has_conv_bias ? inner : 0) +
                       (has_bias ? 2 * inner + hidden : 0),
        .norms = hidden,
    };
}

/* One input projection to gate, x, B, C and steps; the convolution goes over x, B and C
 * together; A, D and the step's bias are one per head (Dao and Gu, Mamba-2). */
static struct layer_kind mamba2_layer(struct config_keys *config, int64_t hidden, int64_t inner)
{
    int64_t state = config_size(config, "state_size", SIZE_MAX_HIDDEN);
    int64_t heads = config_size(config, "num_heads", SIZE_MAX_HIDDEN);
    int64_t groups = config_size(config, "n_groups", SIZE_MAX_HEADS);
    int64_t width = config_size(config, "conv_kernel", SIZE_MAX_HEAD);
    int64_t head = config_size(config, "head_dim", SIZE_MAX_HEAD);
    int64_t convolved = inner + 2 * groups * state;
    bool has_bias = config_flag_or(config, "use_bias", false);

    if (heads * head != inner)
        config_fail(config,
                    "%lld heads of 'head_dim' %lld are not 'expand' times 'hidden_size', %lld",
                    (long long)heads, (long long)head, (long long)inner);
    return (struct layer_kind){
        .scan_channels = inner,
        .state_size = state,
        .convolution_weights = convolved * width,
        .mixer_matrix = hidden * (inner + convolved + heads) + inner * hidden,
        .mixer_other = 3 * heads + inner +
                       (config_flag_or(config, "use_conv_bias", true) ? convolved : 0) +
                       (has_bias ? inner + convolved + heads + hidden : 0),
        .norms = hidden,
    };
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

/* Input projection to gate, x, B, C and a step per head; 3 numbers a head: A, D and the step's
 * bias. Attention and state space are of one layer, so both add to one kind. */
static void add_state_space(struct layer_kind *kind, const struct architecture *architecture,
                            struct config_keys *config)
{
    int64_t hidden = architecture->hidden_size;
    int64_t expand = config_size_or(config, "mamba_expand", 2, 16);
    int64_t inner = config_size_or(config, "mamba_d_ssm", expand * hidden, SIZE_MAX_FEED);
    int64_t state = config_size_or(config, "mamba_d_state", 256, SIZE_MAX_HIDDEN);
    int64_t heads = config_size_or(config, "mamba_n_heads", 128, SIZE_MAX_HIDDEN);
    int64_t groups = config_size_or(config, "mamba_n_groups", 1, SIZE_MAX_HEADS);
    int64_t convolved = inner + 2 * groups * state;

    kind->scan_channels = inner;
    kind->state_size = state;
    kind->convolution_weights =
        convolved * config_size_or(config, "mamba_d_conv", 4, SIZE_MAX_HEAD);
    kind->mixer_matrix += hidden * (inner + convolved + heads) + inner * hidden;
    kind->mixer_other += 3 * heads;
    if (config_flag_or(config, "mamba_conv_bias", true))
        kind->mixer_other += convolved;
    if (config_flag_or(config, "mamba_proj_bias", false))
        kind->mixer_other += inner + convolved + heads;
    if (config_flag_or(config, "projectors_bias", false))
        kind->mixer_other += hidden;
    if (config_flag_or(config, "mamba_rms_norm", false))
        kind->mixer_other += inner;
}

/* Attention and a state space stand side by side in each layer, so that one kind of layer has
 * both. */
static void read_falcon_h1(struct architecture *architecture, struct config_keys *config)
{
    struct layer_kind kind;

    read_decoder_sizes(architecture, config, false);
    architecture->is_gated = true;
    kind = attention_layer(architecture, head_size_of(config, architecture));
    if (config_flag_or(config, "attention_bias", false))
        kind.mixer_other = qkv_biases(&kind) + architecture->hidden_size;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    if (config_flag_or(config, "mlp_bias", false))
        kind.feed_other = 2 * architecture->feed_size + architecture->hidden_size;
    add_state_space(&kind, architecture, config);
    architecture_add_layers(architecture, kind, architecture->layers);
}

static const char *const falcon_h1_types[] = {"falcon_h1", NULL};

const struct model_family falcon_h1_family = {.model_types = falcon_h1_types,
                                              .read = read_falcon_h1};
