/* How a server keeps a model's weights and its cache of keys and values. */
#include "base/core/invariant.h"
#include "cost/architectures/architecture.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 256 };

/* A quantization of matrices. */
struct quantization {
    double bits;           /* of a weight, scales included; 0: none */
    enum peak_type format; /* of the matmuls; PEAK_TYPE_COUNT: that of plain weights */
};

static bool has_object(const struct json_node *node, const char *key)
{
    const struct json_node *member = node ? json_member(node, key) : NULL;

    return member && member->kind == JSON_OBJECT;
}

/* The type of weights that are not quantized. transformers wrote torch_dtype up to version 4,
 * dtype since; of a nested config the outer one may have it. */
static void read_type(struct weight_storage *storage, const struct json_node *whole,
                      const struct json_node *model)
{
    const char *name = json_text_of(model, "torch_dtype", NULL);
    enum peak_type type;

    if (!name)
        name = json_text_of(model, "dtype", NULL);
    if (!name)
        name = json_text_of(whole, "torch_dtype", NULL);
    if (!name)
        name = json_text_of(whole, "dtype", NULL);
    type = name ? peak_type_named(name) : PEAK_TYPE_COUNT;
    storage->has_type = type == PEAK_FP32 || type == PEAK_FP16 || type == PEAK_BF16;
    storage->type = storage->has_type ? type : PEAK_BF16;
    storage->plain_bytes = bytes_of_peak_type(storage->type);
    storage->cache_bytes = storage->plain_bytes;
    storage->cache_as = storage->type;
}

/* Bits of a weight in groups that share a scale of `scale_bits`; a group of 0 or less is a whole
 * row, whose scale weighs nothing. */
static double grouped_bits(int64_t bits, int64_t group, double scale_bits)
{
    return (double)bits + (group > 0 ? scale_bits / (double)group : 0);
}

/* config_groups of compressed-tensors, of which the first speaks for all. Scales are of 16 bits;
 * of 4-bit floats in groups of 16 they are of 8 (NVFP4), in groups of 32 too (MXFP4). */
static struct quantization of_groups(const struct json_node *config)
{
    const struct json_node *groups = json_member(config, "config_groups");
    const struct json_node *group = groups && groups->kind == JSON_OBJECT ? groups->first : NULL;
    const struct json_node *weights = group ? json_member(group, "weights") : NULL;
    int64_t bits = json_integer_of(weights, "num_bits", 0);
    int64_t size = json_integer_of(weights, "group_size", 0);
    bool is_float = strcmp(json_text_of(weights, "type", "int"), "float") == 0;
    bool is_weight_only = !has_object(group, "input_activations");
    struct quantization quantization = {.format = PEAK_TYPE_COUNT};

    if (bits != 4 && bits != 8)
        return quantization;
    quantization.bits = grouped_bits(bits, size, is_float && bits == 4 ? 8 : 16);
    if (!is_weight_only)
        quantization.format = !is_float   ? (bits == 8 ? PEAK_INT8 : PEAK_TYPE_COUNT)
                              : bits == 8 ? PEAK_FP8
                                          : PEAK_FP4;
    return quantization;
}

/* NVIDIA's ModelOpt names an algorithm. */
static struct quantization of_algorithm(const char *algorithm)
{
    static const struct {
        const char *name;
        double bits;
        enum peak_type format;
    } known[] = {
        {"FP8", 8, PEAK_FP8},
        {"FP8_PER_CHANNEL_PER_TOKEN", 8, PEAK_FP8},
        {"FP8_PB_WO", 8 + 32.0 / (128 * 128), PEAK_TYPE_COUNT},
        {"NVFP4", 4.5, PEAK_FP4},
        {"NVFP4_AWQ", 4.5, PEAK_FP4},
        {"MXFP8", 8.25, PEAK_FP8},
        {"W4A16_AWQ", 4 + 16.0 / 128, PEAK_TYPE_COUNT},
        {"W8A8_SQ_PER_CHANNEL", 8, PEAK_INT8},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, algorithm) == 0)
            return (struct quantization){known[i].bits, known[i].format};
    return (struct quantization){0, PEAK_TYPE_COUNT};
}

/* Blocks of weight_block_size share a scale of 32 bits. */
static struct quantization of_fp8(const struct json_node *config)
{
    const struct json_node *block = json_items_of(config, "weight_block_size");
    double rows =
        block && block->kind == JSON_NUMBER && block->integer > 0 ? (double)block->integer : 0;
    double columns =
        block && block->next && block->next->integer > 0 ? (double)block->next->integer : 0;

    return (struct quantization){rows * columns > 0 ? 8 + 32 / (rows * columns) : 8, PEAK_FP8};
}

/* What each method stores; bits 0: not known. bitsandbytes' 4 bits have a scale per 64, which
 * nested quantization halves: about 4.5 bits; AWQ and GPTQ have a 16-bit scale and a zero of
 * `bits` per group. */
static struct quantization quantization_of(const struct json_node *config, const char *method)
{
    int64_t bits = json_integer_of(config, "bits", 4);
    int64_t group = json_integer_of(config, "group_size", 128);
    const struct json_node *in_8 = json_member(config, "load_in_8bit");
    bool loads_8 = in_8 && in_8->kind == JSON_BOOLEAN && in_8->integer;

    if (strcmp(method, "fp8") == 0)
        return of_fp8(config);
    if (strcmp(method, "fbgemm_fp8") == 0)
        return (struct quantization){8, PEAK_FP8};
    if (strcmp(method, "mxfp4") == 0) /* a scale of 8 bits for each 32; matmuls run in 16 bits */
        return (struct quantization){4.25, PEAK_TYPE_COUNT};
    if (strcmp(method, "awq") == 0 || strcmp(method, "gptq") == 0 ||
        strcmp(method, "auto-round") == 0)
        return (struct quantization){grouped_bits(bits, group, 16.0 + (double)bits),
                                     PEAK_TYPE_COUNT};
    if (strcmp(method, "bitsandbytes") == 0)
        return (struct quantization){loads_8 ? 8 : 4.5, loads_8 ? PEAK_INT8 : PEAK_TYPE_COUNT};
    if (strcmp(method, "compressed-tensors") == 0)
        return of_groups(config);
    if (strcmp(method, "modelopt") == 0)
        return of_algorithm(json_text_of(config, "quant_algo", ""));
    return (struct quantization){0, PEAK_TYPE_COUNT};
}

/* ---- what is left out ------------------------------------------------------------------------ */

/* An entry of the list of modules that stay as they are, as the libraries match it: a part of the
 * name, a pattern of a shell, or "re:" and an expression. */
struct module_pattern {
    const char *text;
    bool is_expression;
    regex_t regex;
};

/* False where the entry is none, or an expression that may take much memory. */
static bool module_pattern_init(struct module_pattern *pattern, const struct json_node *entry)
{
    if (entry->kind != JSON_STRING || !entry->text[0] || strlen(entry->text) >= NAME_MAX_LENGTH)
        return false;
    pattern->text = entry->text;
    pattern->is_expression = strncmp(entry->text, "re:", 3) == 0;
    return !pattern->is_expression ||
           (!strchr(entry->text, '{') &&
            regcomp(&pattern->regex, entry->text + 3, REG_EXTENDED | REG_NOSUB) == 0);
}

/* Three kinds stand in such lists: regular expressions, parts of a name, and names with stars,
 * which may go on behind. */
static bool module_pattern_fits(const struct module_pattern *pattern, const char *name)
{
    char whole[NAME_MAX_LENGTH + 1];

    if (pattern->is_expression)
        return regexec(&pattern->regex, name, 0, NULL, 0) == 0;
    if (!strchr(pattern->text, '*'))
        return strstr(name, pattern->text) != NULL;
    (void)snprintf(whole, sizeof whole, "%s*", pattern->text);
    return fnmatch(whole, name, 0) == 0;
}

static void module_pattern_clear(struct module_pattern *pattern)
{
    if (pattern->is_expression)
        regfree(&pattern->regex);
}

/* Marks the layers in which the list `key` has the module. Tested against names that such a
 * module has in layer i, since a list may name layers ("model.layers.0.") or kinds
 * ("re:.*gate"). */
static void mark_left_out(bool *is_left_out, int64_t layers, const struct json_node *list,
                          const char *module)
{
    char name[NAME_MAX_LENGTH];

    for (const struct json_node *entry = list; entry; entry = entry->next) {
        struct module_pattern pattern;

        if (!module_pattern_init(&pattern, entry))
            continue;
        for (int64_t layer = 0; layer < layers; layer++) {
            (void)snprintf(name, sizeof name, "model.layers.%lld.%s", (long long)layer, module);
            is_left_out[layer] = is_left_out[layer] || module_pattern_fits(&pattern, name);
        }
        module_pattern_clear(&pattern);
    }
}

/* The share of the layers in which these matrices are quantized. One module stands for its part:
 * methods take the matrices of a part together. */
static double quantized_share(const struct json_node *config, enum stored_part part, int64_t layers)
{
    static const char *const modules[STORED_PART_COUNT] = {
        [STORED_MIXER] = "self_attn.o_proj",
        [STORED_FEED] = "mlp.down_proj",
        [STORED_EXPERTS] = "mlp.experts.0.down_proj",
        [STORED_SHARED] = "mlp.shared_experts.down_proj",
    };
    static const char *const keys[] = {"ignore", "modules_to_not_convert", "exclude_modules",
                                       "ignored_layers"};
    bool *is_left_out;
    int64_t quantized = 0;

    if (layers <= 0)
        return 0;
    is_left_out = require_memory(calloc((size_t)layers, sizeof *is_left_out));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        mark_left_out(is_left_out, layers, json_items_of(config, keys[i]), modules[part]);
    for (int64_t layer = 0; layer < layers; layer++)
        quantized += !is_left_out[layer];
    free(is_left_out);
    return (double)quantized / (double)layers;
}

/* Do such quantizations take the logits' matrix? No method does unless it is told to. */
static bool is_quantized_by(const char *method, enum stored_part part)
{
    if (part == STORED_OUTPUT)
        return false;
    return strcmp(method, "mxfp4") != 0 || part == STORED_EXPERTS;
}

/* The cache is of the model's own type unless the config says FP8, in the words of ModelOpt or
 * of compressed-tensors. */
static void read_cache(struct weight_storage *storage, const struct json_node *config)
{
    const struct json_node *scheme = json_member(config, "kv_cache_scheme");
    bool is_fp8 =
        strcmp(json_text_of(config, "kv_cache_quant_algo", ""), "FP8") == 0 ||
        (scheme && scheme->kind == JSON_OBJECT && json_integer_of(scheme, "num_bits", 0) == 8);

    if (!is_fp8)
        return;
    storage->cache_as = PEAK_FP8;
    storage->cache_bytes = 1;
}

/* Shares between 0 and 1 mix bytes; the format of the matmul is that of the larger part. */
static void read_quantization(struct weight_storage *storage, const struct json_node *config,
                              int64_t layers)
{
    const char *method = json_text_of(config, "quant_method", "");
    const char *algorithm = json_text_of(config, "quant_algo", "");
    struct quantization quantization = quantization_of(config, method);

    (void)snprintf(storage->method, sizeof storage->method, "%.20s%s%.24s",
                   method[0] ? method : "no quant_method", algorithm[0] ? " " : "", algorithm);
    storage->is_known = quantization.bits > 0;
    for (int i = 0; i < STORED_PART_COUNT && storage->is_known; i++) {
        double share = is_quantized_by(method, (enum stored_part)i)
                           ? quantized_share(config, (enum stored_part)i, layers)
                           : 0;
        struct stored_weight *part = &storage->parts[i];

        part->bytes = share * quantization.bits / 8 + (1 - share) * storage->plain_bytes;
        if (share > 0.5 && quantization.format != PEAK_TYPE_COUNT)
            part->format = quantization.format;
    }
    read_cache(storage, config);
}

/* What the config says of quantization holds for some parts alone, so each begins with the
 * plain type. The key may stand at the text model or at the whole. */
struct weight_storage weight_storage_read(const struct json_node *whole,
                                          const struct json_node *model, int64_t layers)
{
    struct weight_storage storage = {.is_known = true};
    const struct json_node *config = json_member(model, "quantization_config");

    read_type(&storage, whole, model);
    for (int i = 0; i < STORED_PART_COUNT; i++)
        storage.parts[i] = (struct stored_weight){storage.plain_bytes, storage.type};
    if (!config)
        config = json_member(whole, "quantization_config");
    if (config && config->kind == JSON_OBJECT)
        read_quantization(&storage, config, layers);
    return storage;
}

void weight_storage_force(struct weight_storage *storage, enum peak_type type)
{
    storage->is_known = true;
    storage->is_forced = true;
    for (int i = 0; i < STORED_OUTPUT; i++)
        storage->parts[i] = (struct stored_weight){bytes_of_peak_type(type), type};
}
