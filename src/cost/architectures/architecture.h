/* A model by its sizes, as a config.json of Hugging Face gives them: enough to count its parameters
 * and FLOPs exactly, without the model itself.
 *
 * To add a family: write architectures/<name>.c with `const struct model_family <name>_family`, and
 * one line MODEL_FAMILY(<name>) in list.def. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_ARCHITECTURE_H
#define FLOPLEDGER_COST_ARCHITECTURES_ARCHITECTURE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/json/json_tree.h"
#include "cost/devices/device_peak.h"

#include <stdbool.h>
#include <stdint.h>

/* How a server keeps a model's weights and its cache of keys and values, by its config.json: bytes
 * of a number, and the number format that matmuls run in. From `torch_dtype` (or `dtype`) and
 * `quantization_config`, as Hugging Face, compressed-tensors and ModelOpt write them. */

/* Matrices that a quantization may take or leave. All others are stored plain. */
enum stored_part {
    STORED_MIXER, /* projections of attention, or of a state space */
    STORED_FEED,
    STORED_EXPERTS,
    STORED_SHARED, /* experts that every token meets */
    STORED_OUTPUT, /* logits */
    STORED_PART_COUNT
};

struct stored_weight {
    double bytes;          /* of one weight, with its share of the scales */
    enum peak_type format; /* of its matmuls */
};

struct weight_storage {
    bool is_known;           /* no: the quantization is none that is known */
    bool is_forced;          /* the layers' matrices are as --dtype says */
    bool has_type;           /* the file says the type of plain weights; no: bf16 is taken */
    enum peak_type type;     /* of what is not quantized: fp32, fp16 or bf16 */
    double plain_bytes;      /* of a weight that is not quantized */
    double cache_bytes;      /* of a number in the cache of keys and values */
    enum peak_type cache_as; /* its type */
    char method[48];         /* quant_method, with its algorithm; "": not quantized */
    struct stored_weight parts[STORED_PART_COUNT];
};

/* `whole`: the file; `model`: the part of it with the model's sizes, which may be the same.
 * Never fails: what is not known is said in the fields above. */
struct weight_storage weight_storage_read(const struct json_node *whole,
                                          const struct json_node *model, int64_t layers);

/* All matrices of the layers in `type`, without scales: what --dtype says. */
void weight_storage_force(struct weight_storage *storage, enum peak_type type);

/* The keys of a config.json, with their limits. The first problem is kept, and later reads are
 * harmless: a family reads all it needs and the caller asks once. */

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

/* What layer_types has for layer `index`: "" where the list has no text there; NULL without a list.
 * The text is the config's. */
const char *config_layer_type(const struct config_keys *config, int64_t index);

/* Is layer `index` of this type by layer_types? `otherwise` without that list, whose types must be
 * two of those known: "full_attention", and `type`. */
bool config_layer_is(struct config_keys *config, int64_t index, const char *type, bool otherwise);

/* How many of `layers` have "sliding_attention" in layer_types; `otherwise` without that list. */
int64_t config_sliding_layers(struct config_keys *config, int64_t layers, int64_t otherwise);

/* How many of `layers` are "dense" in mlp_layer_types; without that list `otherwise`. */
int64_t config_dense_layers(struct config_keys *config, int64_t layers, int64_t otherwise);

/* Keeps this problem, put behind the file's name, unless there is one. PRINTF_LIKE. */
void config_fail(struct config_keys *config, const char *format, ...) PRINTF_LIKE(2, 3);

/* Which keys a query of a layer sees. */
enum attention_mask {
    MASK_OF_MODEL, /* as the architecture's is_causal says */
    MASK_CAUSAL,
    MASK_NONE,
};

/* Layers that are all alike. Weights are numbers of parameters of one layer; "matrix" weights take
 * part in a matrix product with every token, 2 FLOPs each in the forward. */
struct layer_kind {
    int64_t count; /* how many such layers there are */

    /* attention; heads = 0 where there is none */
    int64_t heads;
    int64_t key_heads;  /* heads of keys and values */
    int64_t key_size;   /* of one head: of queries and keys */
    int64_t value_size; /* of one head */
    int64_t window;     /* keys a query sees at most, itself included; 0: no window */
    int64_t chunk;      /* tokens that see one another only among themselves; 0: no chunks */
    enum attention_mask mask;
    int64_t latent_rank;   /* MLA: of the vector that the cache keeps of keys and values; 0: none */
    int64_t latent_rotary; /* ... and of the rotary key beside it */
    int64_t latent_up;     /* ... weights from the latent vectors up to queries, keys and values */
    int64_t index_heads;   /* of an indexer, which scores all keys before a few are attended */
    int64_t index_size;    /* of one of its heads */

    /* state space; 0 where there is none */
    int64_t scan_channels;
    int64_t state_size;
    int64_t convolution_weights;

    int64_t mixer_matrix;   /* projections of attention, or of the state space */
    int64_t mixer_other;    /* their biases and norms; A, D and the like */
    int64_t mixer_products; /* multiply-adds of a token that have no weights of their own */

    int64_t feed_matrix; /* a dense feed-forward */
    int64_t feed_other;

    int64_t experts; /* 0: the feed-forward is dense */
    int64_t experts_per_token;
    int64_t expert_matrix; /* of one expert */
    int64_t expert_other;  /* its biases */
    int64_t shared_matrix; /* of all experts that see every token, with their gate */
    int64_t router_matrix;
    int64_t router_other;

    int64_t norms; /* those of the layer itself */
};

enum { LAYER_KINDS_MAX = 4 };

struct architecture {
    const char *model_type; /* "llama"; static */
    const char *note;       /* what was taken for granted or left out; NULL: nothing; static */
    bool is_causal;         /* a token sees only those before it */
    bool has_defaults;      /* values that the file leaves out are the defaults of its class */
    bool is_gated;          /* feed-forwards have three matrices, not two */
    bool is_tied;           /* the logits use the embedding's matrix */
    bool shares_cache;      /* layers use keys and values of earlier ones */

    int64_t hidden_size;
    int64_t layers;
    int64_t heads; /* 0: no attention */
    int64_t key_heads;
    int64_t feed_size;         /* intermediate_size; 0 where there is none */
    int64_t vocabulary;        /* 0: no tokens of text */
    int64_t fixed_sequence;    /* tokens of every sample, of an image say; 0: any number */
    int64_t positions;         /* tokens of a sample at most; 0: any number, or not said */
    bool has_scaled_positions; /* rotary ones are stretched, by which the file may mean more */

    struct layer_kind kinds[LAYER_KINDS_MAX];
    int kind_count;

    int64_t token_embedding;    /* looked up: no FLOPs */
    int64_t position_embedding; /* learned */
    int64_t other_embedding;    /* token types, norms, biases */
    int64_t patch_matrix;       /* of an image's patches: a matrix product for each */
    int64_t final_norm;
    int64_t output_matrix;    /* logits of every token: weights in the product, tied or not */
    int64_t transform_matrix; /* of every token, before the logits */
    int64_t output_other;
    int64_t head_matrix; /* once for each sample: pooler, classifier */
    int64_t head_other;

    struct weight_storage storage; /* as a server keeps it */

    int64_t prediction_layers; /* layers that predict further tokens (MTP); not in any figure above
                                */
};

/* What a family reads. */
struct model_family {
    const char *const *model_types; /* NULL-terminated */
    /* Fills `architecture`, all zero but for model_type. Problems go to `config`, which keeps the
     * first. */
    void (*read)(struct architecture *architecture, struct config_keys *config);
};

/* Adds `count` layers of this kind; none where it is 0. */
void architecture_add_layers(struct architecture *architecture, struct layer_kind kind,
                             int64_t count);

#endif
