/* A model by its sizes, as a config.json of Hugging Face gives them: enough to count its parameters
 * and FLOPs exactly, without the model itself.
 *
 * To add a family: write architectures/<name>.c with `const struct model_family <name>_family`, and
 * one line MODEL_FAMILY(<name>) in list.def. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_ARCHITECTURE_H
#define FLOPLEDGER_COST_ARCHITECTURES_ARCHITECTURE_H

#include "cost/architectures/config_keys.h"
#include "cost/architectures/weight_storage.h"

#include <stdbool.h>
#include <stdint.h>

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

    int64_t hidden_size;
    int64_t layers;
    int64_t heads; /* 0: no attention */
    int64_t key_heads;
    int64_t feed_size;      /* intermediate_size; 0 where there is none */
    int64_t vocabulary;     /* 0: no tokens of text */
    int64_t fixed_sequence; /* tokens of every sample, of an image say; 0: any number */

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
