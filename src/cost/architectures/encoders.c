/* Encoders, in whose layers each token sees every other: BERT, with a head by its class, and ViT
 * over the patches of an image. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* Reads hidden_size, num_hidden_layers, num_attention_heads and intermediate_size, and adds the
 * layers, with biases and two norms; queries, keys and values have biases where `has_qkv_bias`.
 * Post-norm or pre-norm alike: two LayerNorms with weight and bias are 4 hidden sizes. No mask:
 * each token sees all. */
static void read_encoder_layers(struct architecture *architecture, struct config_keys *config,
                                bool has_qkv_bias)
{
    int64_t hidden = config_size(config, "hidden_size", SIZE_MAX_HIDDEN);
    struct layer_kind kind;

    architecture->hidden_size = hidden;
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->heads = config_size(config, "num_attention_heads", SIZE_MAX_HEADS);
    architecture->key_heads = architecture->heads;
    architecture->feed_size = config_size(config, "intermediate_size", SIZE_MAX_FEED);
    kind = attention_layer(architecture, head_size_of(config, architecture));
    kind.mixer_other = (has_qkv_bias ? qkv_biases(&kind) : 0) + hidden;
    kind.feed_matrix = feed_forward_weights(architecture, architecture->feed_size);
    kind.feed_other = architecture->feed_size + hidden;
    kind.norms = 4 * hidden;
    architecture_add_layers(architecture, kind, architecture->layers);
}

struct bert_head {
    const char *class_name;
    bool has_pooler;
    bool has_logits;    /* of every token, tied to the embedding */
    bool has_next;      /* is the second sentence the next? */
    bool labels_tokens; /* a classifier of each token */
    bool labels_text;   /* a classifier of the sequence */
};

/* By class, since the model_type is "bert" for all of them: which parts of a head there are
 * decides the parameters. */
static const struct bert_head heads[] = {
    {"BertModel", true, false, false, false, false},
    {"BertForMaskedLM", false, true, false, false, false},
    {"BertForPreTraining", true, true, true, false, false},
    {"BertForSequenceClassification", true, false, false, false, true},
    {"BertForTokenClassification", false, false, false, true, false},
    {"BertForQuestionAnswering", false, false, false, true, false},
};

/* The head decides how many parameters there are, so a class that is not known is refused, not
 * counted without one. A file that names none is of the bare model, and the page says so. */
static const struct bert_head *find_head(struct architecture *architecture,
                                         struct config_keys *config)
{
    const char *class_name = config_class(config);

    if (!class_name)
        architecture->note = "counted as BertModel: the file does not say its class";
    for (size_t i = 0; class_name && i < sizeof heads / sizeof heads[0]; i++)
        if (strcmp(heads[i].class_name, class_name) == 0)
            return &heads[i];
    if (class_name)
        config_fail(config,
                    "'architectures' has '%.60s': BertModel, BertForMaskedLM, BertForPreTraining "
                    "and BertFor...Classification or QuestionAnswering are counted",
                    class_name);
    return &heads[0];
}

static void read_bert(struct architecture *architecture, struct config_keys *config)
{
    const struct bert_head *head = find_head(architecture, config);
    const char *positions = json_text_of(config->root, "position_embedding_type", "absolute");
    int64_t hidden;
    int64_t labels = head->labels_text || head->labels_tokens ? config_labels(config) : 0;

    if (strcmp(positions, "absolute") != 0)
        config_fail(config, "'position_embedding_type' is '%.40s': only 'absolute' is counted",
                    positions);
    read_encoder_layers(architecture, config, true);
    hidden = architecture->hidden_size;
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * hidden;
    architecture->positions = config_size(config, "max_position_embeddings", SIZE_MAX_VOCABULARY);
    architecture->position_embedding = architecture->positions * hidden;
    architecture->other_embedding =
        config_size(config, "type_vocab_size", SIZE_MAX_VOCABULARY) * hidden + 2 * hidden;
    if (head->has_pooler) {
        architecture->head_matrix = hidden * hidden;
        architecture->head_other = hidden;
    }
    if (head->has_next) {
        architecture->head_matrix += 2 * hidden;
        architecture->head_other += 2;
    }
    if (head->labels_text) {
        architecture->head_matrix += labels * hidden;
        architecture->head_other += labels;
    }
    if (head->labels_tokens) {
        architecture->output_matrix = labels * hidden;
        architecture->output_other = labels;
    }
    if (head->has_logits) { /* a transform with its norm, then the embedding's matrix */
        architecture->is_tied = true;
        architecture->output_matrix = architecture->token_embedding;
        architecture->transform_matrix = hidden * hidden;
        architecture->output_other = hidden + 2 * hidden + architecture->vocabulary;
    }
}

static const char *const bert_types[] = {"bert", NULL};

const struct model_family bert_family = {.model_types = bert_types, .read = read_bert};

/* The class decides which head there is; without one it is the plain model, with its pooler. */
static void read_head(struct architecture *architecture, struct config_keys *config)
{
    const char *class_name = config_class(config);
    int64_t hidden = architecture->hidden_size;

    if (class_name && strcmp(class_name, "ViTForImageClassification") == 0) {
        int64_t labels = config_labels(config);

        architecture->head_matrix = labels * hidden;
        architecture->head_other = labels;
        return;
    }
    if (class_name && strcmp(class_name, "ViTModel") != 0)
        config_fail(config,
                    "'architectures' has '%.60s': ViTModel and ViTForImageClassification are "
                    "counted",
                    class_name);
    if (!class_name)
        architecture->note = "counted as ViTModel: the file does not say its class";
    architecture->head_matrix = hidden * hidden;
    architecture->head_other = hidden;
}

static void read_vit(struct architecture *architecture, struct config_keys *config)
{
    int64_t image = config_size(config, "image_size", 1 << 14);
    int64_t patch = config_size(config, "patch_size", 1 << 12);
    int64_t channels = config_size_or(config, "num_channels", 3, 1 << 12);
    int64_t patches = (image / patch) * (image / patch);

    if (patches == 0)
        config_fail(config, "'patch_size' is %lld, more than 'image_size', %lld", (long long)patch,
                    (long long)image);
    read_encoder_layers(architecture, config, config_flag_or(config, "qkv_bias", true));
    architecture->fixed_sequence = patches + 1;
    architecture->position_embedding = (patches + 1) * architecture->hidden_size;
    architecture->other_embedding = 2 * architecture->hidden_size; /* the class, and a bias */
    architecture->patch_matrix = channels * patch * patch * architecture->hidden_size;
    architecture->final_norm = 2 * architecture->hidden_size;
    read_head(architecture, config);
}

static const char *const vit_types[] = {"vit", NULL};

const struct model_family vit_family = {.model_types = vit_types, .read = read_vit};
