/* BERT: an encoder with learned positions, and a head by its class. */
#include "cost/architectures/encoder_layers.h"

#include <string.h>

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
    architecture->position_embedding =
        config_size(config, "max_position_embeddings", SIZE_MAX_VOCABULARY) * hidden;
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
