/* From a config.json to an architecture: finds the family of its model_type. */
#include "cost/architectures/read_architecture.h"

#include "base/core/arena.h"
#include "base/io/whole_file.h"
#include "base/text/spelling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_FAMILY(name) extern const struct model_family name##_family;
#include "cost/architectures/list.def"
#undef MODEL_FAMILY

#define MODEL_FAMILY(name) &name##_family,
static const struct model_family *const families[] = {
#include "cost/architectures/list.def"
};

static const struct model_family *find_family(const char *model_type, const char **type)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (const char *const *known = families[i]->model_types; *known; known++)
            if (strcmp(*known, model_type) == 0) {
                *type = *known;
                return families[i];
            }
    return NULL;
}

/* Files that lie beside models, or in place of their config.json. */
static bool no_model_type(const char *where, const struct json_node *config, struct error *error)
{
    const char *base = json_text_of(config, "base_model_name_or_path", NULL);
    const char *diffusers = json_text_of(config, "_class_name", NULL);

    if (json_member(config, "peft_type") && base)
        return error_set(error, ERROR_INPUT,
                         "%s: this is an adapter of '%.60s': give the config.json of that model",
                         where, base);
    if (diffusers)
        return error_set(
            error, ERROR_INPUT,
            "%s: this is a model of diffusers (%.60s), and only models of transformers "
            "are known",
            where, diffusers);
    return error_set(error, ERROR_INPUT,
                     "%s: 'model_type' is missing: the config.json of a Hugging Face model has it",
                     where);
}

/* The text comes from a file and is cut to 60 characters. */
static bool no_such_type(const char *where, const char *model_type, struct error *error)
{
    struct spelling best = {0};

    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (const char *const *type = families[i]->model_types; *type; type++)
            spelling_consider(&best, model_type, *type);
    return error_set(error, ERROR_INPUT,
                     "%s: the model_type '%.60s' is not known%s%s%s ('flopledger help "
                     "model-flops-per-token' lists those that are; a recording by 'flopledger run' "
                     "has the FLOPs of any model)",
                     where, model_type, best.word ? ": did you mean '" : "",
                     best.word ? best.word : "", best.word ? "'?" : "");
}

/* What the file is about: itself, or the main model of a capture.json; NULL with `error` set. */
static const struct json_node *config_in(const struct json_node *root, const char *path,
                                         struct error *error)
{
    const struct json_node *config;

    if (strcmp(json_text_of(root, "schema", ""), "flopledger.capture") != 0)
        return root;
    config = json_member(json_items_of(root, "models"), "config");
    if (config && config->kind == JSON_OBJECT)
        return config;
    (void)error_set(error, ERROR_INPUT,
                    "%s: the recorded model has no 'config', which models of transformers have: "
                    "give a config.json",
                    path);
    return NULL;
}

/* The model of text inside a model of images and text; its type where the file leaves it out.
 * The pairs are what the class of the whole model gives its text by default; a type that the
 * text's own config says goes before them. */
static const struct json_node *text_config_in(const struct json_node *config,
                                              const char **model_type)
{
    static const char *const keys[] = {"text_config", "llm_config", "language_config"};
    static const char *const types[][2] = {
        {"gemma3", "gemma3_text"},
        {"gemma3n", "gemma3n_text"},
        {"llama4", "llama4_text"},
        {"mistral3", "mistral"},
        {"qwen2_vl", "qwen2_vl_text"},
        {"qwen2_5_vl", "qwen2_5_vl_text"},
        {"qwen3_vl", "qwen3_vl_text"},
        {"qwen3_vl_moe", "qwen3_vl_moe_text"},
        {"llava", "llama"},
        {"llava_next", "llama"},
        {"paligemma", "gemma"},
        {"idefics3", "llama"},
        {"kimi_k25", "kimi_k2"},
        {"qwen3_5", "qwen3_5_text"},
        {"qwen3_5_moe", "qwen3_5_moe_text"},
        {"gemma4", "gemma4_text"},
        {"smolvlm", "llama"},
        {"idefics2", "mistral"},
        {"aya_vision", "cohere2"},
        {"llava_onevision", "qwen2"},
        {"glm4v_moe", "glm4v_moe_text"},
        {"lfm2_vl", "lfm2"},
        {"internvl", "qwen2"},
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct json_node *text = json_member(config, keys[i]);
        const char *type;

        if (!text || text->kind != JSON_OBJECT)
            continue;
        type = json_text_of(text, "model_type", NULL);
        /* Only where the text's own config says no type; a type that is in no pair leaves the
         * outer one. */
        for (size_t j = 0; !type && j < sizeof types / sizeof types[0]; j++)
            if (strcmp(types[j][0], *model_type) == 0)
                type = types[j][1];
        if (type)
            *model_type = type;
        return text;
    }
    return NULL;
}

/* Some layer sees only what is before it: a model that writes text. */
static bool has_decoder(const struct architecture *architecture)
{
    for (int i = 0; i < architecture->kind_count; i++)
        if (architecture->kinds[i].mask == MASK_CAUSAL ||
            (architecture->kinds[i].mask == MASK_OF_MODEL && architecture->is_causal))
            return true;
    return false;
}

/* Into a copy that is handed out when all was read: a config with one bad key changes nothing. */
/* "default" turns as far as was trained; "mrope" has more axes than one, of the same length. */
static bool scales_positions(const struct json_node *scaling)
{
    const char *type = json_text_of(scaling, "rope_type", json_text_of(scaling, "type", "default"));

    return strcmp(type, "default") != 0 && strcmp(type, "mrope") != 0;
}

/* Learned positions the family has read. Newer files have a member for each type of layer. */
static void read_rotary_positions(struct architecture *architecture, const struct json_node *root)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    int64_t positions = json_integer_of(root, "max_position_embeddings", 0);

    if (architecture->positions == 0 && architecture->vocabulary > 0)
        architecture->positions = positions > 0 ? positions : 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct json_node *scaling = json_member(root, keys[i]);
        const struct json_node *of_layers = json_member(scaling, "full_attention");

        if (scaling && scales_positions(of_layers ? of_layers : scaling))
            architecture->has_scaled_positions = true;
    }
}

bool architecture_check_tokens(const struct architecture *architecture, const char *option,
                               int64_t tokens, struct error *error)
{
    return architecture->position_embedding == 0 || architecture->positions == 0 ||
           tokens <= architecture->positions ||
           error_set(error, ERROR_USAGE,
                     "%s is %lld, and the model has learned %lld positions: give at most as many, "
                     "or a config.json of a model that has more",
                     option, (long long)tokens, (long long)architecture->positions);
}

bool architecture_lacks_positions(const struct architecture *architecture, int64_t tokens)
{
    return architecture->positions > 0 && tokens > architecture->positions &&
           !architecture->has_scaled_positions;
}

bool architecture_from_config(struct architecture *architecture, const struct json_node *config,
                              const char *where, struct error *error)
{
    struct architecture read = {0};
    struct config_keys keys = {.root = config, .whole = config, .path = where, .error = error};
    const char *model_type = json_text_of(config, "model_type", NULL);
    const struct json_node *text = model_type ? text_config_in(config, &model_type) : NULL;
    const struct model_family *family =
        model_type ? find_family(model_type, &read.model_type) : NULL;

    if (config->kind != JSON_OBJECT)
        return error_set(error, ERROR_INPUT, "%s: an object was expected, as in a config.json",
                         where);
    if (!model_type)
        return no_model_type(where, config, error);
    if (!family)
        return no_such_type(where, model_type, error);
    keys.model_type = read.model_type;
    keys.is_nested = text != NULL;
    keys.root = text ? text : config;
    family->read(&read, &keys);
    if (keys.has_failed)
        return false;
    read.has_defaults = keys.has_defaults;
    read_rotary_positions(&read, keys.root);
    read.storage = weight_storage_read(config, keys.root, read.layers);
    /* An encoder of text that stands beside a detector or a tower of images is a small part. */
    if (text && !has_decoder(&read))
        return error_set(error, ERROR_INPUT,
                         "%s: what a model of type '%s' computes is not known: of its parts only "
                         "the encoder of text (%s) is",
                         where, json_text_of(config, "model_type", ""), read.model_type);
    if (text)
        read.note = "only the model of text (text_config) is counted, not those of images or sound";
    *architecture = read;
    return true;
}

/* The capture.json of a recorded model will do as well: config_in finds the model's own config
 * in it. */
bool architecture_read(struct architecture *architecture, const char *path, struct error *error)
{
    SCOPED(arena) arena = {0};
    bool is_missing;
    size_t length = 0;
    char *text = read_whole_file(path, &length, &is_missing, error);
    const struct json_node *root;

    if (!text)
        return false;
    root = json_tree_parse(&arena, text, length, error);
    free(text);
    if (!root)
        return error_in(error, "'%s' is no config.json of a model", path);
    root = config_in(root, path, error);
    return root && architecture_from_config(architecture, root, path, error);
}
