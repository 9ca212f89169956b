/* T5, BART and mBART: an encoder, and a decoder that attends to it. A token is one of the encoder
 * and one of the decoder: both samples are taken as equally long. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

static const char token_of_both[] =
    "a token is one of the encoder and one of the decoder: both of --seq";

/* Heads may be wider or narrower than the hidden size; no biases. */
static struct layer_kind t5_attention(const struct architecture *architecture, int64_t head_size,
                                      enum attention_mask mask)
{
    return (struct layer_kind){
        .heads = architecture->heads,
        .key_heads = architecture->heads,
        .key_size = head_size,
        .value_size = head_size,
        .mask = mask,
        .mixer_matrix = 4 * architecture->hidden_size * architecture->heads * head_size,
        .norms = architecture->hidden_size,
    };
}

static void read_t5(struct architecture *architecture, struct config_keys *config)
{
    int64_t hidden = config_size(config, "d_model", SIZE_MAX_HIDDEN);
    int64_t layers = config_size(config, "num_layers", SIZE_MAX_LAYERS);
    int64_t decoder = config_size_or(config, "num_decoder_layers", layers, SIZE_MAX_LAYERS);
    int64_t head_size = config_size(config, "d_kv", SIZE_MAX_HEAD);
    const char *feed = json_text_of(config->root, "feed_forward_proj", "relu");
    struct layer_kind kind;
    int64_t feed_matrix;

    architecture->hidden_size = hidden;
    architecture->layers = layers + decoder;
    architecture->heads = config_size(config, "num_heads", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = config_size(config, "d_ff", SIZE_MAX_FEED);
    architecture->is_gated = strncmp(feed, "gated", 5) == 0;
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * hidden;
    architecture->other_embedding =
        2 * architecture->heads *
        config_size_or(config, "relative_attention_num_buckets", 32, SIZE_MAX_HIDDEN);
    architecture->final_norm = 2 * hidden;
    read_output_layer(architecture, config, true);
    architecture->is_tied = architecture->output_matrix > 0; /* by its class, whatever the file says
                                                              */
    architecture->note = token_of_both;
    feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind = t5_attention(architecture, head_size, MASK_NONE); /* the decoder's, to the encoder */
    architecture_add_layers(architecture, kind, decoder);
    kind.feed_matrix = feed_matrix;
    kind.norms = 2 * hidden;
    architecture_add_layers(architecture, kind, layers);
    kind.mask = MASK_CAUSAL;
    architecture_add_layers(architecture, kind, decoder);
}

/* With biases, and norms that have them, too: of heads' attention alone, to the encoder. */
static struct layer_kind bart_attention(const struct architecture *architecture, int64_t heads)
{
    int64_t hidden = architecture->hidden_size;

    return (struct layer_kind){
        .heads = heads,
        .key_heads = heads,
        .key_size = hidden / heads,
        .value_size = hidden / heads,
        .mask = MASK_NONE,
        .mixer_matrix = 4 * hidden * hidden,
        .mixer_other = 4 * hidden,
        .norms = 2 * hidden,
    };
}

/* The same with its feed-forward, of a norm of its own. */
static struct layer_kind bart_layer(const struct architecture *architecture, int64_t heads,
                                    int64_t feed, enum attention_mask mask)
{
    struct layer_kind kind = bart_attention(architecture, heads);

    kind.mask = mask;
    kind.feed_matrix = 2 * architecture->hidden_size * feed;
    kind.feed_other = feed + architecture->hidden_size;
    kind.norms *= 2;
    return kind;
}

/* Positions are learned, two more than there are tokens, of each half its own; mBART has a norm
 * behind the layers of each. */
static void read_bart(struct architecture *architecture, struct config_keys *config)
{
    int64_t hidden = config_size(config, "d_model", SIZE_MAX_HIDDEN);
    int64_t encoder = config_size(config, "encoder_layers", SIZE_MAX_LAYERS);
    int64_t decoder = config_size(config, "decoder_layers", SIZE_MAX_LAYERS);
    int64_t heads = config_size(config, "encoder_attention_heads", SIZE_MAX_HEADS);
    int64_t decoder_heads = config_size(config, "decoder_attention_heads", SIZE_MAX_HEADS);

    architecture->hidden_size = hidden;
    architecture->layers = encoder + decoder;
    architecture->heads = heads;
    architecture->key_heads = heads;
    architecture->feed_size = config_size(config, "encoder_ffn_dim", SIZE_MAX_FEED);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->positions = config_size(config, "max_position_embeddings", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * hidden;
    architecture->position_embedding = 2 * (architecture->positions + 2) * hidden;
    architecture->other_embedding = 4 * hidden;
    architecture->final_norm = strcmp(architecture->model_type, "mbart") == 0 ? 4 * hidden : 0;
    read_output_layer(architecture, config, true);
    architecture->note = token_of_both;
    if (hidden % heads != 0 || hidden % decoder_heads != 0)
        config_fail(config, "heads do not divide 'd_model', %lld", (long long)hidden);
    if (config_class(config) && strstr(config_class(config), "For") &&
        !strstr(config_class(config), "ForConditionalGeneration"))
        config_fail(config, "'architectures' has '%.60s': only ForConditionalGeneration is counted",
                    config_class(config));
    architecture_add_layers(architecture, bart_attention(architecture, decoder_heads), decoder);
    architecture_add_layers(
        architecture, bart_layer(architecture, heads, architecture->feed_size, MASK_NONE), encoder);
    architecture_add_layers(architecture,
                            bart_layer(architecture, decoder_heads,
                                       config_size(config, "decoder_ffn_dim", SIZE_MAX_FEED),
                                       MASK_CAUSAL),
                            decoder);
}

/* Of one family, as all of them are counted by the rule that a token is one of each half; what
 * their files call the same sizes differs. */
static void read_encoder_decoder(struct architecture *architecture, struct config_keys *config)
{
    (strcmp(architecture->model_type, "t5") == 0 ? read_t5 : read_bart)(architecture, config);
}

static const char *const t5_types[] = {"t5", "bart", "mbart", NULL};

const struct model_family t5_family = {.model_types = t5_types, .read = read_encoder_decoder};
