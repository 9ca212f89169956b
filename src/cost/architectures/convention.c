/* How other tools count the FLOPs of a token. */
#include "cost/architectures/convention.h"

#include "cost/architectures/architecture_cost.h"

#include <string.h>

const char why_convention_does_not_fit[] = "its formula does not fit this model";

/* Below zero, which no count is. */
static const double does_not_fit = -1.0;

/* Its layers are blocks of attention and feed-forward behind a causal mask. */
static bool is_decoder(const struct architecture *architecture)
{
    return architecture->is_causal && architecture->heads > 0;
}

/* Dense layers stand first where a model has both, so its last kind of layer tells. */
static bool convention_has_experts(const struct architecture *architecture)
{
    return architecture->kinds[architecture->kind_count - 1].experts > 0;
}

/* Sum over layers of heads x (key_size + value_size) x keys that count for each of them. For
 * conventions that take one number of keys for all queries; times 2 it is what the scores cost
 * in a forward, times 6 with the backward. */
static double score_sum(const struct architecture *architecture, double keys, bool obeys_windows)
{
    double sum = 0.0;

    for (int i = 0; i < architecture->kind_count; i++) {
        const struct layer_kind *kind = &architecture->kinds[i];
        double seen = keys;

        if (obeys_windows && kind->window > 0 && (double)kind->window < keys)
            seen = (double)kind->window;
        sum += (double)(kind->count * kind->heads) * (double)(kind->key_size + kind->value_size) *
               seen;
    }
    return sum;
}

/* FLOPs of the parts but attention scores, forward and backward. Forward once, backward twice:
 * the gradient of the input and that of the weight are a product each of the forward's size. */
static double matrix_flops(const struct architecture_cost *cost)
{
    return 3.0 * (cost->total.forward_flops - cost->parts[PART_SCORES].forward_flops);
}

static double count_exact(const struct architecture *architecture,
                          struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);

    return 3.0 * cost.total.forward_flops;
}

static double count_full(const struct architecture *architecture, struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);

    return 3.0 * cost.total.unmasked_flops;
}

/* num_floating_point_operations() of Megatron-LM: causal attention halves S^2, vocabularies
 * are padded to a multiple of 128 (make-vocab-size-divisible-by). */
static double count_megatron(const struct architecture *architecture,
                             struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);
    int64_t padding = (128 - architecture->vocabulary % 128) % 128;
    double keys = (double)setting.sequence / 2.0;

    if (!architecture->is_causal)
        return does_not_fit;
    return matrix_flops(&cost) - 3.0 * cost.parts[PART_ROUTER].forward_flops +
           6.0 * score_sum(architecture, keys, false) +
           (architecture->output_matrix > 0
                ? 6.0 * (double)padding * (double)architecture->hidden_size
                : 0.0);
}

/* calculate_tflops_training_per_device() of MaxText: a window leaves w - w^2 / 2L keys on
 * average. */
static double count_maxtext(const struct architecture *architecture,
                            struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);
    double sum = 0.0;

    if (!is_decoder(architecture))
        return does_not_fit;
    for (int i = 0; i < architecture->kind_count; i++) {
        const struct layer_kind *kind = &architecture->kinds[i];
        double length = (double)setting.sequence;
        double window = (double)kind->window;
        double keys = kind->window > 0 && window < length ? window - window * window / (2 * length)
                                                          : length / 2.0;

        sum += (double)(kind->count * kind->heads) * (double)(kind->key_size + kind->value_size) *
               keys;
    }
    return matrix_flops(&cost) + 6.0 * sum;
}

/* The formula knows gated, dense decoders alone; for all others the tool itself would print a
 * figure that means nothing. */
static double count_nemo(const struct architecture *architecture, struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);

    if (!is_decoder(architecture) || !architecture->is_gated ||
        convention_has_experts(architecture))
        return does_not_fit;
    return matrix_flops(&cost) +
           6.0 * score_sum(architecture, (double)setting.sequence / 2.0, false);
}

/* transformer() of NeMo's flops_formulas.py: queries and output 2 h^2, keys and values by the
 * ratio of heads, two matrices of the feed-forward whatever it is. */
static double count_nemo_default(const struct architecture *architecture,
                                 struct convention_setting setting)
{
    double hidden = (double)architecture->hidden_size;
    double layers = (double)architecture->layers;
    double heads_by_keys = (double)architecture->key_heads / (double)architecture->heads;
    double block = 2.0 * hidden * hidden * (1.0 + heads_by_keys) +
                   2.0 * hidden * (double)architecture->feed_size;

    if (!is_decoder(architecture) || convention_has_experts(architecture))
        return does_not_fit;
    return 6.0 * layers * (block + 2.0 * hidden * (double)setting.sequence) +
           6.0 * (double)architecture->vocabulary * hidden;
}

/* 6 * (parameters - embedding) + 6 * layers * heads * (key + value size) * sequence, as its
 * get_nparams_and_flops has it; a tied embedding is not taken off, since there it is the
 * logits' matrix. */
static double count_torchtitan(const struct architecture *architecture,
                               struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);
    int64_t looked_up = architecture->is_tied ? 0 : cost.token_embedding;

    if (!is_decoder(architecture))
        return does_not_fit;
    return 6.0 * (double)(cost.total.active_parameters - looked_up) +
           6.0 * score_sum(architecture, (double)setting.sequence, false);
}

/* The tied embedding computes once as logits and is looked up once: the look-up is taken off,
 * the logits stay. */
static double count_olmo(const struct architecture *architecture, struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);
    int64_t looked_up = architecture->is_tied ? cost.token_embedding - architecture->output_matrix
                                              : cost.token_embedding;

    if (!is_decoder(architecture))
        return does_not_fit;
    return 6.0 * (double)(cost.total.active_parameters - looked_up -
                          architecture->position_embedding) +
           6.0 * score_sum(architecture, (double)setting.sequence, true);
}

/* Chowdhery et al. 2022, appendix B: 6 N + 12 L H Q T a token, N with the embedding. */
static double count_palm(const struct architecture *architecture, struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);

    if (!is_decoder(architecture))
        return does_not_fit;
    return 6.0 * (double)cost.total.parameters +
           6.0 * score_sum(architecture, (double)setting.sequence, false);
}

/* estimate_mfu() of nanoGPT: PaLM's formula, where get_num_params() leaves learned positions
 * out. */
static double count_nanogpt(const struct architecture *architecture,
                            struct convention_setting setting)
{
    double palm = count_palm(architecture, setting);

    return palm < 0.0 ? palm : palm - 6.0 * (double)architecture->position_embedding;
}

/* 12 L d s: the hidden size stands for heads times their size, which differs where head_dim is
 * given. */
static double count_llm_foundry(const struct architecture *architecture,
                                struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);

    if (!is_decoder(architecture))
        return does_not_fit;
    return 6.0 * (double)cost.total.parameters + 12.0 * (double)architecture->layers *
                                                     (double)architecture->hidden_size *
                                                     (double)setting.sequence;
}

/* get_megatron_flops() of InternEvo: SwiGLU makes the ratio of the feed-forward 1.5 times as
 * large; logits count 3 passes, recomputed or not. */
static double count_internevo(const struct architecture *architecture,
                              struct convention_setting setting)
{
    double hidden = (double)architecture->hidden_size;
    double ratio = (double)architecture->feed_size / hidden;
    double passes = setting.recompute == RECOMPUTE_FULL ? 4.0 : 3.0;

    if (!is_decoder(architecture))
        return does_not_fit;
    return passes *
               ((8.0 + 4.0 * ratio * 1.5) * hidden * hidden +
                4.0 * (double)setting.sequence * hidden) *
               (double)architecture->layers +
           6.0 * hidden * (double)architecture->vocabulary;
}

/* Narayanan et al., SC'21: 96 B s l h^2 (1 + s / 6h + V / 16lh), per token, with full
 * recomputation. */
static double count_sc21(const struct architecture *architecture, struct convention_setting setting)
{
    double hidden = (double)architecture->hidden_size;
    double layers = (double)architecture->layers;

    if (!is_decoder(architecture))
        return does_not_fit;
    return 96.0 * layers * hidden * hidden *
           (1.0 + (double)setting.sequence / (6.0 * hidden) +
            (double)architecture->vocabulary / (16.0 * layers * hidden));
}

/* As its code computes, with its integer division: the aim is the number that the tool prints,
 * not a right one. */
static double count_megatron_deepspeed(const struct architecture *architecture,
                                       struct convention_setting setting)
{
    double hidden = (double)architecture->hidden_size;
    int64_t group = architecture->key_heads > 0 ? architecture->heads / architecture->key_heads : 1;
    int64_t keys_and_values = group > 0 ? 2 / group : 0; /* whole numbers: 0 for groups over 2 */
    const struct layer_kind *last = &architecture->kinds[architecture->kind_count - 1];
    double experts = last->experts > 0 ? (double)last->experts_per_token : 1.0;
    double core = 2.0 * hidden * (double)setting.sequence;
    double block = (double)(2 + keys_and_values) * hidden * hidden + core +
                   (last->experts > 0 ? (double)last->expert_matrix * experts
                                      : (architecture->is_gated ? 3.0 : 2.0) *
                                            (double)architecture->feed_size * hidden);
    double products =
        (double)architecture->layers * block + (double)architecture->vocabulary * hidden;
    double passes = setting.recompute == RECOMPUTE_FULL ? 4.0 : 3.0;

    if (!is_decoder(architecture))
        return does_not_fit;
    if (setting.recompute == RECOMPUTE_SELECTIVE)
        return 2.0 * (3.0 * products + (double)architecture->layers * core);
    return 2.0 * passes * products;
}

static double count_six_all(const struct architecture *architecture,
                            struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);

    return 6.0 * (double)cost.total.parameters;
}

static double count_six_active(const struct architecture *architecture,
                               struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);

    return 6.0 * (double)cost.total.active_parameters;
}

/* What the device executes. Scores: forward 1, backward 2.5 (fused attention computes S once
 * more), one more where recomputed. Selective recomputation is of the scores alone
 * (Korthikanti et al. 2022). Embedding and output are never recomputed. */
double hardware_flops(const struct architecture *architecture, struct convention_setting setting)
{
    struct architecture_cost cost = architecture_cost(architecture, setting.sequence);
    double scores = cost.parts[PART_SCORES].forward_flops;
    double ends = cost.parts[PART_OUTPUT].forward_flops + cost.parts[PART_EMBEDDING].forward_flops +
                  cost.parts[PART_HEAD].forward_flops;
    double layers = cost.total.forward_flops - scores - ends;
    double again = setting.recompute == RECOMPUTE_FULL ? 1.0 : 0.0;
    double scores_again = setting.recompute == RECOMPUTE_NONE ? 0.0 : 1.0;

    return 3.0 * ends + (3.0 + again) * layers + (1.0 + 2.5 + scores_again) * scores;
}

static const struct convention conventions[] = {
    {"exact", "exact", "exact, behind the mask",
     "every matmul of the model once forward and twice backward; attention only of the "
     "pairs that the mask and windows leave; logits and router yes, embedding look-up no; of "
     "experts those a token meets; no recomputation",
     count_exact},
    {"full", "full", "exact, without the mask", "as exact, but every query with every key",
     count_full},
    {"megatron", "megatron", "Megatron-LM",
     "attention halved for the causal mask, windows not regarded; logits of the padded vocabulary; "
     "no router; active experts; no recomputation (2026-08; so do Megatron-Bridge and NeMo from "
     "25.09)",
     count_megatron},
    {"maxtext", "maxtext", "MaxText",
     "attention halved for the causal mask (since 2025-07; before that full); router and active "
     "experts; no recomputation",
     count_maxtext},
    {"nemo", "nemo", "NeMo, formula of the model",
     "attention halved for the causal mask; grouped keys; no recomputation; for dense gated models "
     "(2026-08; NeMo's tables of 24.07 count full attention)",
     count_nemo},
    {"nemo-default", "nemo_default", "NeMo, transformer()",
     "full attention; takes two matrices for each feed-forward, gated or not (2026-08)",
     count_nemo_default},
    {"torchtitan", "torchtitan", "torchtitan",
     "6 for each active parameter but the embedding's (which is not taken off where it is tied), "
     "full attention (2026-08)",
     count_torchtitan},
    {"olmo-core", "olmo_core", "OLMo-core",
     "6 for each parameter of the layers and of the logits, full attention within windows "
     "(2026-08)",
     count_olmo},
    {"nanotron", "nanotron", "nanotron", "every matmul, full attention (2026-08)", count_full},
    {"deepspeed", "deepspeed", "DeepSpeed's profiler x 3",
     "the measured forward times 3, full attention, real experts; no recomputation (2026-08)",
     count_full},
    {"palm", "palm", "PaLM, appendix B",
     "6 for each parameter, embedding and all experts too; full attention (2022)", count_palm},
    {"nanogpt", "nanogpt", "nanoGPT",
     "as PaLM, without learned positions; divides by 312 TFLOP/s whatever the device (2026-08)",
     count_nanogpt},
    {"llm-foundry", "llm_foundry", "llm-foundry",
     "as PaLM, with the hidden size for heads by their size (2024-04)", count_llm_foundry},
    {"internevo", "internevo", "InternEvo",
     "takes as many keys as queries, and full attention; 4 passes instead of 3 with full "
     "recomputation (not of the logits): then it is what the device computes (2026-08)",
     count_internevo},
    {"megatron-sc21", "megatron_sc21", "Megatron-LM, SC'21 paper",
     "4 passes, whether recomputed or not; feed-forwards of 4 hidden sizes, as many keys as "
     "queries, full attention (2021; BLOOM in 2022)",
     count_sc21},
    {"megatron-deepspeed", "megatron_deepspeed", "Megatron-DeepSpeed",
     "full attention; none of the keys' and values' products where more than 2 queries share a key "
     "(an integer division); active experts of their own size in all layers, shared ones "
     "not; with recomputation its FLOPs, too (2026-08)",
     count_megatron_deepspeed},
    {"6n-active", "six_n_active", "6 x active parameters", "no attention; embedding too",
     count_six_active},
    {"6n", "six_n", "6 x all parameters", "no attention; embedding and all experts too",
     count_six_all},
};

const struct convention *all_conventions(size_t *count)
{
    *count = sizeof conventions / sizeof conventions[0];
    return conventions;
}

const struct convention *convention_named(const char *name)
{
    for (size_t i = 0; i < sizeof conventions / sizeof conventions[0]; i++)
        if (strcmp(conventions[i].name, name) == 0)
            return &conventions[i];
    return NULL;
}
