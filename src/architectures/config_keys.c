/* The keys of a config.json, with their limits. */
#include "architectures/config_keys.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static const char *written(const struct json_node *node)
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

static int64_t number_of(struct config_keys *config, const struct json_node *node, int64_t minimum,
                         int64_t maximum)
{
    bool is_number = node->kind == JSON_NUMBER && node->is_integer;

    if (is_number && node->integer >= minimum && node->integer <= maximum)
        return node->integer;
    config_fail(config, "'%s' is %.60s: a whole number of %lld to %lld was expected", node->key,
                written(node), (long long)minimum, (long long)maximum);
    return 1;
}

static const struct json_node *present(const struct config_keys *config, const char *key)
{
    const struct json_node *node = json_member(config->root, key);

    return node && node->kind != JSON_NULL ? node : NULL;
}

int64_t config_size(struct config_keys *config, const char *key, int64_t maximum)
{
    const struct json_node *node = json_member(config->root, key);

    if (node)
        return number_of(config, node, 1, maximum);
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

    return node ? number_of(config, node, 1, maximum) : otherwise;
}

int64_t config_count_or(struct config_keys *config, const char *key, int64_t otherwise,
                        int64_t maximum)
{
    const struct json_node *node = present(config, key);

    return node ? number_of(config, node, 0, maximum) : otherwise;
}

int64_t config_window(struct config_keys *config, const char *key, int64_t if_missing)
{
    const struct json_node *node = json_member(config->root, key);

    if (!node)
        return if_missing;
    return node->kind == JSON_NULL ? 0 : number_of(config, node, 1, INT32_MAX);
}

bool config_flag_or(struct config_keys *config, const char *key, bool otherwise)
{
    const struct json_node *node = present(config, key);

    if (!node)
        return otherwise;
    if (node->kind != JSON_BOOLEAN)
        config_fail(config, "'%s' is %.60s: true or false was expected", key, written(node));
    return node->kind == JSON_BOOLEAN && node->integer != 0;
}

const char *config_class(const struct config_keys *config)
{
    const struct json_node *first = json_items_of(config->root, "architectures");

    return first && first->kind == JSON_STRING ? first->text : NULL;
}

int64_t config_labels(struct config_keys *config)
{
    const struct json_node *names = json_member(config->root, "id2label");
    int64_t count = 0;

    if (!names || names->kind != JSON_OBJECT)
        return config_size_or(config, "num_labels", 2, SIZE_MAX_VOCABULARY);
    for (const struct json_node *name = names->first; name; name = name->next)
        count++;
    return count;
}

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
