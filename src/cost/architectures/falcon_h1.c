/* Falcon-H1: attention and a state space (Mamba 2) side by side in each layer. */
#include "cost/architectures/decoder_layers.h"

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
