/* What an architecture costs, by part. */
#include "cost/architectures/architecture_cost.h"

/* Of a channel's state and element, as Mamba's selective scan does it: discretize A (a product
 * and an exponential), discretize B times x (two products), update (a multiply-add), and read
 * with C, 7 FLOPs. */
enum { SCAN_FLOPS = 7 };

/* The head counts once a sample and not once a token, which its name says: the figures beside
 * it are per token. */
const char *model_part_name(enum model_part part)
{
    static const char *const names[PART_COUNT] = {
        [PART_EMBEDDING] = "embedding",
        [PART_PROJECTIONS] = "attention projections",
        [PART_SCORES] = "attention scores and values",
        [PART_STATE_SPACE] = "state space",
        [PART_FEED_FORWARD] = "feed-forward",
        [PART_EXPERTS] = "routed experts",
        [PART_SHARED_EXPERTS] = "shared experts",
        [PART_ROUTER] = "router",
        [PART_NORMS] = "norms",
        [PART_OUTPUT] = "output (logits)",
        [PART_HEAD] = "head, once a sample",
    };

    return names[part];
}

/* Mean over the queries of a sequence. Causal: query i sees i + 1 keys, the mean of 1..L is (L
 * + 1) / 2. With a window w: the first w queries see 1..w, the others w. In chunks of c each
 * is a causal sequence of its own, the last one L mod c long. */
double attended_keys(const struct architecture *architecture, const struct layer_kind *kind,
                     int64_t sequence)
{
    double length = (double)sequence;
    double window = (double)kind->window;
    bool is_causal =
        kind->mask == MASK_OF_MODEL ? architecture->is_causal : kind->mask == MASK_CAUSAL;

    if (!is_causal)
        return length;
    if (kind->chunk > 0 && kind->chunk < sequence) {
        double chunk = (double)kind->chunk;
        double last = (double)(sequence % kind->chunk);

        return ((length - last) * (chunk + 1) / 2 + last * (last + 1) / 2) / length;
    }
    if (kind->window == 0 || kind->window >= sequence)
        return (length + 1) / 2;
    return (window * (window + 1) / 2 + (length - window) * window) / length;
}

/* `flops` of one token in the forward, masked and not. */
static void architecture_cost_add(struct architecture_cost *cost, enum model_part part,
                                  int64_t parameters, int64_t active, double flops)
{
    struct part_cost *at = &cost->parts[part];

    at->parameters += parameters;
    at->active_parameters += active;
    at->forward_flops += flops;
    at->unmasked_flops += flops;
}

/* One multiply-add per weight and token: 2 FLOPs. What is no matrix (biases, norms) counts as
 * parameters alone, as in all conventions. */
static void add_matrix(struct architecture_cost *cost, enum model_part part, int64_t count,
                       int64_t matrix, int64_t other)
{
    architecture_cost_add(cost, part, count * (matrix + other), count * (matrix + other),
                          2.0 * (double)count * (double)matrix);
    cost->sharded_matrices += count * matrix;
}

double scan_flops(const struct layer_kind *kind)
{
    return 2.0 * (double)kind->convolution_weights +
           (double)SCAN_FLOPS * (double)kind->scan_channels * (double)kind->state_size;
}

/* Q K^T and P V: 2 FLOPs per head, key and dimension of key and of value. An indexer (DeepSeek
 * V3.2) scores all keys behind the mask, also those that the window of the chosen ones leaves
 * out. */
static void add_scores(struct architecture_cost *cost, const struct architecture *architecture,
                       const struct layer_kind *kind, int64_t sequence)
{
    double of_one_key =
        2.0 * (double)(kind->count * kind->heads) * (double)(kind->key_size + kind->value_size);

    struct layer_kind indexer = {.mask = kind->mask};
    double of_index = 2.0 * (double)(kind->count * kind->index_heads) * (double)kind->index_size;

    cost->parts[PART_SCORES].forward_flops +=
        of_one_key * attended_keys(architecture, kind, sequence) +
        of_index * attended_keys(architecture, &indexer, sequence);
    cost->parts[PART_SCORES].unmasked_flops += (of_one_key + of_index) * (double)sequence;
}

/* Parameters count all experts, active ones and FLOPs those that a token meets. */
static void architecture_cost_add_layers(struct architecture_cost *cost,
                                         const struct architecture *architecture,
                                         const struct layer_kind *kind, int64_t sequence)
{
    enum model_part mixer = kind->heads > 0 ? PART_PROJECTIONS : PART_STATE_SPACE;
    int64_t count = kind->count;
    int64_t expert = kind->expert_matrix + kind->expert_other;
    int64_t routed = count * kind->experts * expert;
    int64_t active = count * kind->experts_per_token * expert;

    add_matrix(cost, mixer, count, kind->mixer_matrix, kind->mixer_other);
    architecture_cost_add(cost, mixer, 0, 0, 2.0 * (double)count * (double)kind->mixer_products);
    architecture_cost_add(cost, PART_STATE_SPACE, count * kind->convolution_weights,
                          count * kind->convolution_weights, (double)count * scan_flops(kind));
    add_scores(cost, architecture, kind, sequence);
    add_matrix(cost, PART_FEED_FORWARD, count, kind->feed_matrix, kind->feed_other);
    architecture_cost_add(cost, PART_EXPERTS, routed, active,
                          2.0 * (double)(count * kind->experts_per_token * kind->expert_matrix));
    cost->sharded_matrices += count * kind->experts * kind->expert_matrix;
    add_matrix(cost, PART_SHARED_EXPERTS, count, kind->shared_matrix, 0);
    add_matrix(cost, PART_ROUTER, count, kind->router_matrix, kind->router_other);
    architecture_cost_add(cost, PART_NORMS, count * kind->norms, count * kind->norms, 0.0);
}

/* Tied logits have no parameters of their own, but compute all the same. A head counts once a
 * sample, hence its share of a token. */
static void architecture_cost_add_ends(struct architecture_cost *cost,
                                       const struct architecture *architecture, int64_t sequence)
{
    int64_t tables = architecture->token_embedding + architecture->position_embedding;
    int64_t embedded = tables + architecture->other_embedding;
    int64_t head = architecture->head_matrix + architecture->head_other;
    int64_t output = architecture->transform_matrix + architecture->output_other +
                     (architecture->is_tied ? 0 : architecture->output_matrix);

    architecture_cost_add(cost, PART_EMBEDDING, embedded, embedded, 0.0);
    add_matrix(cost, PART_EMBEDDING, 1, architecture->patch_matrix, 0);
    architecture_cost_add(cost, PART_NORMS, architecture->final_norm, architecture->final_norm,
                          0.0);
    architecture_cost_add(
        cost, PART_OUTPUT, output, output,
        2.0 * (double)(architecture->output_matrix + architecture->transform_matrix));
    architecture_cost_add(cost, PART_HEAD, head, head,
                          2.0 * (double)architecture->head_matrix / (double)sequence);
    cost->sharded_matrices += tables + architecture->transform_matrix + architecture->head_matrix +
                              (architecture->is_tied ? 0 : architecture->output_matrix);
    cost->token_embedding = architecture->token_embedding;
}

static void sum_parts(struct architecture_cost *cost)
{
    for (int i = 0; i < PART_COUNT; i++) {
        cost->total.parameters += cost->parts[i].parameters;
        cost->total.active_parameters += cost->parts[i].active_parameters;
        cost->total.forward_flops += cost->parts[i].forward_flops;
        cost->total.unmasked_flops += cost->parts[i].unmasked_flops;
    }
}

/* A layer as the last ones, fed from the embedding and the layers before through a matrix of two
 * hidden sizes by one, with three norms more; it shares embedding and logits. Kept beside the
 * total: whether multi-token prediction belongs to "the model" is a matter of taste, and no
 * convention counts it. */
static struct part_cost prediction_cost(const struct architecture *architecture, int64_t sequence)
{
    struct architecture_cost cost = {0};
    struct layer_kind kind;
    int64_t hidden = architecture->hidden_size;

    if (architecture->prediction_layers == 0 || architecture->kind_count == 0)
        return cost.total;
    kind = architecture->kinds[architecture->kind_count - 1];
    kind.count = architecture->prediction_layers;
    architecture_cost_add_layers(&cost, architecture, &kind, sequence);
    add_matrix(&cost, PART_OUTPUT, kind.count, 2 * hidden * hidden, 0);
    architecture_cost_add(&cost, PART_NORMS, kind.count * 3 * hidden, kind.count * 3 * hidden, 0.0);
    architecture_cost_add(&cost, PART_OUTPUT, 0, 0,
                          2.0 * (double)kind.count * (double)architecture->output_matrix);
    sum_parts(&cost);
    return cost.total;
}

/* Layers for predicting further tokens are counted apart: they are of no use once a model is
 * trained, and many runs leave them out. */
struct architecture_cost architecture_cost(const struct architecture *architecture,
                                           int64_t sequence)
{
    struct architecture_cost cost = {0};

    for (int i = 0; i < architecture->kind_count; i++)
        architecture_cost_add_layers(&cost, architecture, &architecture->kinds[i], sequence);
    architecture_cost_add_ends(&cost, architecture, sequence);
    sum_parts(&cost);
    cost.prediction = prediction_cost(architecture, sequence);
    return cost;
}
