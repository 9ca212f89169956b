/* The keys of a config.json, with their limits. */
#include "cost/architectures/architecture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first failure is kept: those behind it follow from the value that stood in for it.
 * Readers so need no check after each key. */
void config_fail(struct config_keys *config, const char *format, ...)
{
    char text[512];
    va_list arguments;

    if (config->has_failed)
        return;
    config->has_failed = true;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error_set(config->error, ERROR_INPUT, "%s: %s", config->path, text);
}

/* For messages: what is nested is named by its kind, since its text could be the whole file. */
static const char *config_keys_written(const struct json_node *node)
{
    switch (node->kind) {
    case JSON_NULL:
        return "null";
    case JSON_BOOLEAN:
        return node->integer ? "true" : "false";
    case JSON_ARRAY:
        return "a list";
    case JSON_OBJECT:
        return "an object";
    case JSON_NUMBER:
    case JSON_STRING:
        break;
    }
    return node->text;
}

/* Limits keep every product of sizes far within 63 bits, whatever the file says. On failure 1,
 * by which all can be divided. */
static int64_t config_keys_number_of(struct config_keys *config, const struct json_node *node,
                                     int64_t minimum, int64_t maximum)
{
    bool is_number = node->kind == JSON_NUMBER && node->is_integer;

    if (is_number && node->integer >= minimum && node->integer <= maximum)
        return node->integer;
    config_fail(config, "'%s' is %.60s: a whole number of %lld to %lld was expected", node->key,
                config_keys_written(node), (long long)minimum, (long long)maximum);
    return 1;
}

/* transformers writes null for "not set". */
static const struct json_node *present(const struct config_keys *config, const char *key)
{
    const struct json_node *node = json_member(config->root, key);

    return node && node->kind != JSON_NULL ? node : NULL;
}

#define DEFAULT(type, key, value) {type, key, value},
static const struct {
    const char *model_type;
    const char *key;
    int64_t value;
} defaults[] = {
#include "cost/architectures/default_list.def"
};

/* A whole config.json gives its main sizes; without them it is not one. */
static bool must_be_given(const struct config_keys *config, const char *key)
{
    static const char *const sizes[] = {"hidden_size", "num_hidden_layers", "intermediate_size",
                                        "num_attention_heads", "vocab_size"};

    for (size_t i = 0; !config->is_nested && i < sizeof sizes / sizeof sizes[0]; i++)
        if (strcmp(sizes[i], key) == 0)
            return true;
    return false;
}

/* What the class of this model_type in transformers takes where `key` is left out: its default, or
 * `otherwise`.
 * transformers leaves out of a nested config what is its class's default; the table has those
 * of the known classes. For a whole config.json the main sizes must be there: with their
 * defaults an empty file would be a model. */
static int64_t config_default_or(struct config_keys *config, const char *key, int64_t otherwise)
{
    if (json_member(config->root, key) || must_be_given(config, key))
        return otherwise;
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        if (strcmp(defaults[i].model_type, config->model_type) == 0 &&
            strcmp(defaults[i].key, key) == 0) {
            config->has_defaults = true;
            return defaults[i].value;
        }
    return otherwise;
}

/* After a failure 1 stands in, so that callers may divide by it before they look. */
int64_t config_size(struct config_keys *config, const char *key, int64_t maximum)
{
    const struct json_node *node = json_member(config->root, key);
    int64_t value = config_default_or(config, key, -1);

    if (node)
        return config_keys_number_of(config, node, 1, maximum);
    if (value > 0)
        return value;
    config_fail(config,
                "'%s' is missing: for the model_type '%s' it must be there, a whole number of 1 to "
                "%lld (is this the model's whole config.json?)",
                key, config->model_type, (long long)maximum);
    return 1;
}

int64_t config_size_or(struct config_keys *config, const char *key, int64_t otherwise,
                       int64_t maximum)
{
    const struct json_node *node = present(config, key);

    return node ? config_keys_number_of(config, node, 1, maximum)
                : config_default_or(config, key, otherwise);
}

int64_t config_count_or(struct config_keys *config, const char *key, int64_t otherwise,
                        int64_t maximum)
{
    const struct json_node *node = present(config, key);

    return node ? config_keys_number_of(config, node, 0, maximum)
                : config_default_or(config, key, otherwise);
}

/* null means no window where the key is there, and its class's default where it is not: the
 * two differ for Mistral. */
int64_t config_window(struct config_keys *config, const char *key, int64_t if_missing)
{
    const struct json_node *node = json_member(config->root, key);

    if (!node)
        return config_default_or(config, key, if_missing);
    return node->kind == JSON_NULL ? 0 : config_keys_number_of(config, node, 1, INT32_MAX);
}

bool config_flag_or(struct config_keys *config, const char *key, bool otherwise)
{
    const struct json_node *node = present(config, key);

    if (!node && config->is_nested) { /* logits belong to the whole model */
        node = json_member(config->whole, key);
        node = node && node->kind == JSON_BOOLEAN ? node : NULL;
    }
    if (!node)
        return config_default_or(config, key, otherwise) != 0;
    if (node->kind != JSON_BOOLEAN)
        config_fail(config, "'%s' is %.60s: true or false was expected", key,
                    config_keys_written(node));
    return node->kind == JSON_BOOLEAN && node->integer != 0;
}

const char *config_class(const struct config_keys *config)
{
    const struct json_node *first = json_items_of(config->whole, "architectures");

    return first && first->kind == JSON_STRING ? first->text : NULL;
}

/* PretrainedConfig's default is two labels. */
int64_t config_labels(struct config_keys *config)
{
    const struct json_node *names = json_member(config->whole, "id2label");
    int64_t count = 0;

    if (!names || names->kind != JSON_OBJECT)
        return config_size_or(config, "num_labels", 2, SIZE_MAX_VOCABULARY);
    for (const struct json_node *name = names->first; name; name = name->next)
        count++;
    return count;
}

/* Linear in the layer: models have a hundred of them. */
const char *config_layer_type(const struct config_keys *config, int64_t index)
{
    const struct json_node *node = json_items_of(config->root, "layer_types");

    if (!node)
        return NULL;
    for (int64_t i = 0; node && i < index; i++)
        node = node->next;
    return node && node->kind == JSON_STRING ? node->text : "";
}

/* A type that is not known ends the reading, since guessing it would be counted as known. */
bool config_layer_is(struct config_keys *config, int64_t index, const char *type, bool otherwise)
{
    const char *name = config_layer_type(config, index);

    if (!name)
        return otherwise;
    if (strcmp(name, type) != 0 && strcmp(name, "full_attention") != 0)
        config_fail(config,
                    "'layer_types' has '%.40s' for layer %lld: '%s' and 'full_attention' are what "
                    "is known of the model_type '%s'",
                    name, (long long)index, type, config->model_type);
    return strcmp(name, type) == 0;
}

/* The count of entries is checked: a list of another length means that the file was cut by
 * hand. */
int64_t config_sliding_layers(struct config_keys *config, int64_t layers, int64_t otherwise)
{
    const struct json_node *list = present(config, "layer_types");
    int64_t sliding = 0;
    int64_t count = 0;

    if (!list)
        return otherwise;
    for (const struct json_node *type = json_items_of(config->root, "layer_types"); type;
         type = type->next) {
        const char *name = type->kind == JSON_STRING ? type->text : "";

        if (strcmp(name, "sliding_attention") == 0)
            sliding++;
        else if (strcmp(name, "full_attention") != 0)
            config_fail(config,
                        "'layer_types' has '%.40s': 'full_attention' and 'sliding_attention' are "
                        "what is known",
                        name);
        count++;
    }
    if (count != layers)
        config_fail(config, "'layer_types' has %lld entries for %lld layers", (long long)count,
                    (long long)layers);
    return config->has_failed ? 0 : sliding;
}

/* transformers 5 writes each layer's feed-forward by name in place of how many are dense. A list of
 * another length means that the file was cut by hand. */
int64_t config_dense_layers(struct config_keys *config, int64_t layers, int64_t otherwise)
{
    const struct json_node *type = json_items_of(config->root, "mlp_layer_types");
    int64_t dense = 0;
    int64_t count = 0;

    if (!type)
        return otherwise;
    for (; type; type = type->next, count++) {
        const char *name = type->kind == JSON_STRING ? type->text : "";

        if (strcmp(name, "dense") == 0)
            dense++;
        else if (strcmp(name, "sparse") != 0)
            config_fail(config, "'mlp_layer_types' has '%.40s': 'dense' and 'sparse' are known",
                        name);
    }
    if (count != layers)
        config_fail(config, "'mlp_layer_types' has %lld entries for %lld layers", (long long)count,
                    (long long)layers);
    return config->has_failed ? 0 : dense;
}
