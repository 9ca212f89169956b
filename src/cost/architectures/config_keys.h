/* The keys of a config.json, with their limits. The first problem is kept, and later reads are
 * harmless: a family reads all it needs and the caller asks once. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_CONFIG_KEYS_H
#define FLOPLEDGER_COST_ARCHITECTURES_CONFIG_KEYS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/json/json_tree.h"

#include <stdbool.h>
#include <stdint.h>

struct config_keys {
    const struct json_node *root;  /* an object: what the keys are read from */
    const struct json_node *whole; /* the whole file, which has the class */
    bool is_nested;                /* root is text_config, which may leave anything out */
    bool has_defaults;             /* a value came from default_list.def */
    const char *path;              /* for messages: the file */
    const char *model_type;
    struct error *error;
    bool has_failed;
};

/* Limits with which no count of parameters overflows 64 bits. */
enum {
    SIZE_MAX_HIDDEN = 1 << 17,
    SIZE_MAX_FEED = 1 << 20,
    SIZE_MAX_LAYERS = 1 << 12,
    SIZE_MAX_HEADS = 1 << 11,
    SIZE_MAX_HEAD = 1 << 12,
    SIZE_MAX_EXPERTS = 1 << 11,
    SIZE_MAX_VOCABULARY = 1 << 24,
};

/* A whole number from 1 to `maximum`, which must be there. 1 after a problem. */
int64_t config_size(struct config_keys *config, const char *key, int64_t maximum);

/* Likewise; `otherwise` where the key is missing or null. */
int64_t config_size_or(struct config_keys *config, const char *key, int64_t otherwise,
                       int64_t maximum);

/* Likewise, and 0 is taken too. */
int64_t config_count_or(struct config_keys *config, const char *key, int64_t otherwise,
                        int64_t maximum);

/* A sliding window: 0 where the key is null, `if_missing` where there is none. */
int64_t config_window(struct config_keys *config, const char *key, int64_t if_missing);

bool config_flag_or(struct config_keys *config, const char *key, bool otherwise);

/* The first of "architectures": "LlamaForCausalLM"; NULL where the file has none. */
const char *config_class(const struct config_keys *config);

/* How many labels a classifier has: num_labels, the members of id2label, or 2. */
int64_t config_labels(struct config_keys *config);

/* What the class of this model_type in transformers takes where `key` is left out: its default, or
 * `otherwise`. */
int64_t config_default_or(struct config_keys *config, const char *key, int64_t otherwise);

/* Is layer `index` of this type by layer_types? `otherwise` without that list, whose types must be
 * two of those known: "full_attention", and `type`. */
bool config_layer_is(struct config_keys *config, int64_t index, const char *type, bool otherwise);

/* How many of `layers` have "sliding_attention" in layer_types; `otherwise` without that list. */
int64_t config_sliding_layers(struct config_keys *config, int64_t layers, int64_t otherwise);

/* Keeps this problem, put behind the file's name, unless there is one. PRINTF_LIKE. */
void config_fail(struct config_keys *config, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
