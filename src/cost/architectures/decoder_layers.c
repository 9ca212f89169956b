/* What the layers of most decoders have in common. */
#include "cost/architectures/decoder_layers.h"

#include <string.h>

/* "LlamaModel" has no logits; "GPT2LMHeadModel" ends with Model and has. */
static bool is_bare_model(const char *class_name)
{
    size_t length = class_name ? strlen(class_name) : 0;

    return length > 5 && strcmp(class_name + length - 5, "Model") == 0 &&
           !strstr(class_name, "LMHeadModel");
}

/* Classifiers of decoders are a product of every token, though one token of a sample counts. */
static bool read_classifier(struct architecture *architecture, struct config_keys *config)
{
    const char *name = config_class(config);
    bool is_of_samples = name && strstr(name, "ForSequenceClassification");
    bool is_of_tokens = name && strstr(name, "ForTokenClassification");
    bool finds_answers = name && strstr(name, "ForQuestionAnswering");
    int64_t labels = finds_answers ? 2 : config_labels(config);

    if (!is_of_samples && !is_of_tokens && !finds_answers)
        return false;
    architecture->output_matrix = labels * architecture->hidden_size;
    architecture->output_other = is_of_samples ? 0 : labels;
    architecture->note = "its class has a classifier of each token instead of logits";
    return true;
}

/* Weights that are tied are no parameters of their own, but the product with them is computed
 * all the same. */
void read_output_layer(struct architecture *architecture, struct config_keys *config,
                       bool is_tied_by_default)
{
    if (read_classifier(architecture, config))
        return;
    if (is_bare_model(config_class(config))) {
        architecture->note = "its class has no output layer: no logits are counted";
        return;
    }
    architecture->is_tied = config_flag_or(config, "tie_word_embeddings", is_tied_by_default);
    architecture->output_matrix = architecture->vocabulary * architecture->hidden_size;
}

/* Without a number of key heads each query head has its own, as before grouped queries. Each
 * size has a limit, so that products of them stay in 63 bits. */
void read_decoder_widths(struct architecture *architecture, struct config_keys *config,
                         bool is_tied_by_default)
{
    architecture->is_causal = true;
    architecture->hidden_size = config_size(config, "hidden_size", SIZE_MAX_HIDDEN);
    architecture->heads = config_size(config, "num_attention_heads", SIZE_MAX_HEADS);
    architecture->key_heads =
        config_size_or(config, "num_key_value_heads", architecture->heads, SIZE_MAX_HEADS);
    architecture->vocabulary = config_size(config, "vocab_size", SIZE_MAX_VOCABULARY);
    architecture->token_embedding = architecture->vocabulary * architecture->hidden_size;
    architecture->final_norm = architecture->hidden_size;
    read_output_layer(architecture, config, is_tied_by_default);
}

/* How many layers there are and how wide their feed-forward is stands apart: hybrids list their
 * blocks, and models of experts alone have no such size. */
void read_decoder_sizes(struct architecture *architecture, struct config_keys *config,
                        bool is_tied_by_default)
{
    read_decoder_widths(architecture, config, is_tied_by_default);
    architecture->layers = config_size(config, "num_hidden_layers", SIZE_MAX_LAYERS);
    architecture->feed_size = config_size(config, "intermediate_size", SIZE_MAX_FEED);
}

/* head_dim where it is given: Gemma, Qwen 3 and Mistral Nemo have heads whose sizes do not sum
 * to the hidden size. */
int64_t head_size_of(struct config_keys *config, const struct architecture *architecture)
{
    int64_t size = config_size_or(config, "head_dim", 0, SIZE_MAX_HEAD);

    if (size > 0)
        return size;
    if (architecture->hidden_size % architecture->heads != 0)
        config_fail(config,
                    "'hidden_size' is %lld, which %lld heads do not divide, and there is no "
                    "'head_dim'",
                    (long long)architecture->hidden_size, (long long)architecture->heads);
    size = architecture->hidden_size / architecture->heads;
    return size > 0 ? size : 1;
}

/* Queries and output have all heads, keys and values the key heads: h * (2 heads + 2 key
 * heads) * size. Two norms, before attention and feed-forward. */
struct layer_kind attention_layer(const struct architecture *architecture, int64_t head_size)
{
    int64_t all_heads = 2 * architecture->heads + 2 * architecture->key_heads;

    return (struct layer_kind){
        .heads = architecture->heads,
        .key_heads = architecture->key_heads,
        .key_size = head_size,
        .value_size = head_size,
        .mixer_matrix = architecture->hidden_size * all_heads * head_size,
        .norms = 2 * architecture->hidden_size,
    };
}

/* Gated: up, gate and down; else up and down. */
int64_t feed_forward_weights(const struct architecture *architecture, int64_t feed_size)
{
    return (architecture->is_gated ? 3 : 2) * architecture->hidden_size * feed_size;
}

int64_t qkv_biases(const struct layer_kind *kind)
{
    return kind->heads * kind->key_size + kind->key_heads * (kind->key_size + kind->value_size);
}

void architecture_add_layers(struct architecture *architecture, struct layer_kind kind,
                             int64_t count)
{
    if (count <= 0 || architecture->kind_count == LAYER_KINDS_MAX)
        return;
    kind.count = count;
    architecture->kinds[architecture->kind_count++] = kind;
}
