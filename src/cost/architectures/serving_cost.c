/* What one step of an inference server costs by its model's sizes. */
#include "cost/architectures/serving_cost.h"

#include <math.h>
#include <string.h>

/* What is summed up while the cost is made. */
struct serving_sum {
    const struct architecture *architecture;
    const struct weight_storage *storage;
    const struct serving_batch *batches;
    int batch_count;
    double tensor;
    double queries; /* of all batches */
    struct serving_cost *cost;
};

/* What cannot be counted rightly is refused: half a count of bytes would look like a bound. */
const char *why_no_serving_cost(const struct architecture *architecture)
{
    if (!architecture->is_causal || architecture->fixed_sequence > 0)
        return "only decoders are served token by token: this model has no decode";
    if (architecture->shares_cache)
        return "layers of this model share their caches and parts of their weights: this is not "
               "counted";
    for (int i = 0; i < architecture->kind_count; i++)
        if (architecture->kinds[i].mask == MASK_NONE)
            return "it has an encoder: its decode is not counted";
    if (!architecture->storage.is_known)
        return "how its weights are stored is not known: its quantization_config is of a method "
               "that is not; --dtype says what the matrices of the layers are stored in";
    return NULL;
}

/* n new tokens of a request that sees k in total: token i sees k - n + i, the sum is n k - n
 * (n - 1) / 2. In a decode each new token has logits, in a prefill the last one of a request. */
struct serving_batch serving_batch_even(int64_t requests, int64_t queries, int64_t keys,
                                        bool is_decode)
{
    double count = (double)requests;
    double new = (double)queries;

    return (struct serving_batch){
        .requests = count,
        .queries = count * new,
        .keys = count *(double)keys,
        .pairs = count *(new *(double)keys - new *(new - 1) / 2),
        .logits = is_decode ? count *new : count,
        .is_decode = is_decode,
    };
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Pairs of the first `length` tokens of a request, each of which sees `window` keys at most. */
static double pairs_in_window(double length, double window)
{
    if (length <= window)
        return length * (length + 1) / 2;
    return window * (window + 1) / 2 + (length - window) * window;
}

/* Likewise where a token sees those of its chunk alone. */
static double pairs_in_chunks(double length, double chunk)
{
    double whole = floor(length / chunk);
    double rest = length - whole * chunk;

    return whole * chunk * (chunk + 1) / 2 + rest * (rest + 1) / 2;
}

/* What a layer's queries see of a batch. */
struct seen_keys {
    double pairs;
    double keys;
};

/* With a window the pairs of the last `new` tokens are those of the whole request less those
 * of its beginning. Of requests of different lengths only means are known: is_by_mean says
 * that the number is near, not exact, since the limit bends the sum. */
static struct seen_keys seen_keys_of(struct serving_sum *sum, const struct layer_kind *kind,
                                     const struct serving_batch *batch)
{
    double new = batch->queries / batch->requests;
    double length = batch->keys / batch->requests;
    double limit = (double)(kind->chunk > 0 ? kind->chunk : kind->window);
    double pairs;
    double keys;

    if (limit <= 0 || batch->keys <= limit)
        return (struct seen_keys){batch->pairs, batch->keys};
    if (batch->is_ragged)
        sum->cost->is_by_mean = true;
    if (kind->chunk > 0) {
        pairs = pairs_in_chunks(length, limit) - pairs_in_chunks(length - new, limit);
        keys = length - floor((length - new) / limit) * limit;
    } else {
        pairs = pairs_in_window(length, limit) - pairs_in_window(length - new, limit);
        keys = fmin(length, limit + new - 1);
    }
    return (struct seen_keys){pairs * batch->requests, keys * batch->requests};
}

/* FLOPs of one pair, of the heads of all devices. Latent attention in a decode is computed on
 * the latent vectors themselves (weights absorbed): scores over rank + rotary, values over rank,
 * for each head. */
static double flops_of_pair(const struct layer_kind *kind, bool is_decode)
{
    double heads = (double)kind->heads;

    if (is_decode && kind->latent_rank > 0)
        return 2 * heads * (double)(2 * kind->latent_rank + kind->latent_rotary);
    return 2 * heads * (double)(kind->key_size + kind->value_size);
}

/* Numbers that the cache keeps of a token in one layer, on one device. Heads are split over
 * tensor ranks, but at least one is kept on each; the latent vector is on all, as all heads need
 * it. */
static double cache_of_token(const struct serving_sum *sum, const struct layer_kind *kind)
{
    double key_heads = ceil((double)kind->key_heads / sum->tensor);

    if (kind->heads == 0)
        return 0;
    if (kind->latent_rank > 0)
        return (double)(kind->latent_rank + kind->latent_rotary);
    return key_heads * (double)(kind->key_size + kind->value_size);
}

/* The new tokens' keys and values are written, but their bytes are few beside those read, and
 * are left out. */
static void serving_add_attention(struct serving_sum *sum, const struct layer_kind *kind,
                                  const struct serving_batch *batch)
{
    struct serving_part *part = &sum->cost->parts[PART_SCORES];
    double layers = (double)kind->count;
    double cached = cache_of_token(sum, kind) * sum->storage->cache_bytes;
    double indexed = (double)kind->index_size * sum->storage->cache_bytes;
    double index_heads = (double)kind->index_heads / sum->tensor;
    struct seen_keys seen;

    if (kind->heads == 0 || batch->requests <= 0)
        return;
    if (batch->keys < 0 || batch->pairs < 0) {
        sum->cost->has_cache = false;
        return;
    }
    seen = seen_keys_of(sum, kind, batch);
    part->flops += layers * seen.pairs * flops_of_pair(kind, batch->is_decode) / sum->tensor;
    part->flops += layers * batch->pairs * 2 * index_heads * (double)kind->index_size;
    part->cache_bytes += layers * (seen.keys * cached + batch->keys * indexed);
    /* a sparse choice of keys (an indexer) reads few, but all are kept */
    sum->cost->held_cache_bytes +=
        layers *
        ((kind->index_heads > 0 ? batch->keys : seen.keys) * cached + batch->keys * indexed);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* `weights` are those of all devices, read whole; a matrix is shared by the devices. */
static void serving_add_matrix(struct serving_sum *sum, enum model_part at, double weights,
                               struct stored_weight stored)
{
    struct serving_part *part = &sum->cost->parts[at];

    part->weight_bytes += weights * stored.bytes / sum->tensor;
    part->format = stored.format;
    sum->cost->held_weight_bytes += weights * stored.bytes / sum->tensor;
}

/* Norms, biases, routers: on every device. */
static void serving_add_plain(struct serving_sum *sum, enum model_part at, double weights)
{
    double bytes = weights * sum->storage->plain_bytes;

    sum->cost->parts[at].weight_bytes += bytes;
    sum->cost->held_weight_bytes += bytes;
}

/* How many of `experts` at least one token chooses, expected where each token chooses `chosen` of
 * them evenly: experts (1 - (1 - chosen / experts) ^ tokens). */
static double expected_experts(double experts, double chosen, double tokens)
{
    return experts * (1 - pow(1 - chosen / experts, tokens));
}

/* What is read is expected, what is held is all: memory and time are different sums here. */
static void serving_add_experts(struct serving_sum *sum, const struct layer_kind *kind)
{
    struct serving_part *part = &sum->cost->parts[PART_EXPERTS];
    struct stored_weight stored = sum->storage->parts[STORED_EXPERTS];
    double layers = (double)kind->count;
    double experts = (double)kind->experts;
    double chosen = (double)kind->experts_per_token;
    double read = expected_experts(experts, chosen, sum->queries);
    double bytes = ((double)kind->expert_matrix * stored.bytes +
                    (double)kind->expert_other * sum->storage->plain_bytes) /
                   sum->tensor;

    part->format = stored.format;
    part->weight_bytes += layers * read * bytes;
    sum->cost->held_weight_bytes += layers * experts * bytes;
    sum->cost->experts = experts;
    sum->cost->experts_read = read;
}

/* Weights are read once for all requests of a step; caches and states once for each. The state
 * of a scan counts whatever the length so far, which is what makes it cheap in a decode. A layer
 * without heads has a scan as its mixer, whose matrices count there. */
static void serving_add_layers(struct serving_sum *sum, const struct layer_kind *kind)
{
    const struct stored_weight *stored = sum->storage->parts;
    enum model_part mixer = kind->heads > 0 ? PART_PROJECTIONS : PART_STATE_SPACE;
    double layers = (double)kind->count;
    double state = (double)kind->scan_channels * (double)kind->state_size / sum->tensor;

    serving_add_matrix(sum, mixer, layers * (double)kind->mixer_matrix, stored[STORED_MIXER]);
    serving_add_plain(sum, mixer, layers * (double)kind->mixer_other);
    serving_add_plain(sum, PART_STATE_SPACE, layers * (double)kind->convolution_weights);
    if (kind->feed_matrix > 0)
        serving_add_matrix(sum, PART_FEED_FORWARD, layers * (double)kind->feed_matrix,
                           stored[STORED_FEED]);
    serving_add_plain(sum, PART_FEED_FORWARD, layers * (double)kind->feed_other);
    if (kind->experts > 0)
        serving_add_experts(sum, kind);
    if (kind->shared_matrix > 0)
        serving_add_matrix(sum, PART_SHARED_EXPERTS, layers * (double)kind->shared_matrix,
                           stored[STORED_SHARED]);
    serving_add_plain(sum, PART_ROUTER,
                      layers * (double)(kind->router_matrix + kind->router_other));
    serving_add_plain(sum, PART_NORMS, layers * (double)kind->norms);
    for (int i = 0; i < sum->batch_count; i++) {
        double bytes = layers * state * sum->batches[i].requests * sum->storage->plain_bytes;

        serving_add_attention(sum, kind, &sum->batches[i]);
        sum->cost->parts[PART_STATE_SPACE].cache_bytes += bytes;
        sum->cost->held_cache_bytes += bytes;
    }
}

/* Of the tables of tokens and positions the rows of the new tokens are read; the logits' matrix is
 * read whole, and is the table where they are tied. A look-up reads a row a token, not the
 * table. */
static void serving_add_ends(struct serving_sum *sum)
{
    const struct architecture *architecture = sum->architecture;
    double plain = sum->storage->plain_bytes;
    double tables = (double)(architecture->token_embedding + architecture->position_embedding);
    double rows = (double)architecture->hidden_size *
                  ((architecture->token_embedding > 0) + (architecture->position_embedding > 0));
    double held = architecture->is_tied ? tables - (double)architecture->token_embedding : tables;

    sum->cost->parts[PART_EMBEDDING].weight_bytes += sum->queries * rows * plain;
    sum->cost->held_weight_bytes += held * plain / sum->tensor;
    serving_add_plain(sum, PART_EMBEDDING, (double)architecture->other_embedding);
    serving_add_plain(sum, PART_NORMS, (double)architecture->final_norm);
    serving_add_matrix(sum, PART_OUTPUT, (double)architecture->output_matrix,
                       sum->storage->parts[STORED_OUTPUT]);
    serving_add_plain(sum, PART_OUTPUT,
                      (double)(architecture->transform_matrix + architecture->output_other));
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* FLOPs of a token that weights give are those of architecture_cost; a router is computed by every
 * device. */
static void serving_add_flops(struct serving_sum *sum)
{
    struct architecture_cost of_token = architecture_cost(sum->architecture, 1);
    double logits = 0;

    for (int i = 0; i < sum->batch_count; i++)
        logits += sum->batches[i].logits;
    for (int i = 0; i < PART_COUNT; i++) {
        double tokens = i == PART_OUTPUT ? logits : sum->queries;
        double devices = i == PART_ROUTER ? 1 : sum->tensor;

        if (i != PART_SCORES && i != PART_HEAD)
            sum->cost->parts[i].flops += of_token.parts[i].forward_flops * tokens / devices;
    }
}

/* Per step and device. Each weight is read once a step however many tokens there are: that is
 * what makes decoding memory-bound and batches cheap. */
struct serving_cost serving_cost(const struct architecture *architecture,
                                 const struct serving_batch *batches, int batch_count,
                                 int64_t tensor)
{
    struct serving_cost cost = {.has_cache = true};
    struct serving_sum sum = {.architecture = architecture,
                              .storage = &architecture->storage,
                              .batches = batches,
                              .batch_count = batch_count,
                              .tensor = (double)tensor,
                              .cost = &cost};

    for (int i = 0; i < batch_count; i++)
        sum.queries += batches[i].queries;
    for (int i = 0; i < PART_COUNT; i++)
        cost.parts[i].format = architecture->storage.type;
    for (int i = 0; i < architecture->kind_count; i++)
        serving_add_layers(&sum, &architecture->kinds[i]);
    serving_add_ends(&sum);
    serving_add_flops(&sum);
    cost.tokens = sum.queries;
    for (int i = 0; i < PART_COUNT; i++) {
        cost.total.flops += cost.parts[i].flops;
        cost.total.weight_bytes += cost.parts[i].weight_bytes;
        cost.total.cache_bytes += cost.parts[i].cache_bytes;
    }
    return cost;
}

/* A format without a unit on the device is computed in the next larger one that has, as
 * kernels dequantize first. */
enum peak_type format_with_peak(enum peak_type format, const double peaks[PEAK_TYPE_COUNT])
{
    static const enum peak_type larger[PEAK_TYPE_COUNT] = {
        [PEAK_FP64] = PEAK_TYPE_COUNT, [PEAK_FP64_MATRIX] = PEAK_FP64,
        [PEAK_FP32] = PEAK_TYPE_COUNT, [PEAK_TF32] = PEAK_FP32,
        [PEAK_FP16] = PEAK_TYPE_COUNT, [PEAK_BF16] = PEAK_FP16,
        [PEAK_FP8] = PEAK_BF16,        [PEAK_FP4] = PEAK_FP8,
        [PEAK_INT8] = PEAK_BF16,
    };

    while (format != PEAK_TYPE_COUNT && peaks[format] <= 0)
        format = larger[format];
    return format;
}

/* Without a peak or a bandwidth that bound is zero, which the caller tells as not known. */
struct serving_bound serving_part_bound(const struct serving_part *part,
                                        const double peaks[PEAK_TYPE_COUNT],
                                        double memory_bytes_per_second)
{
    enum peak_type format = format_with_peak(part->format, peaks);
    struct serving_bound bound = {0};

    if (format != PEAK_TYPE_COUNT)
        bound.compute_seconds = part->flops / peaks[format];
    if (memory_bytes_per_second > 0)
        bound.memory_seconds = (part->weight_bytes + part->cache_bytes) / memory_bytes_per_second;
    return bound;
}

/* Part by part, each at the peak of its own format: the logits are seldom quantized, the layers
 * may be. */
struct serving_bound serving_cost_bound(const struct serving_cost *cost,
                                        const double peaks[PEAK_TYPE_COUNT],
                                        double memory_bytes_per_second)
{
    struct serving_bound bound = {0};

    for (int i = 0; i < PART_COUNT; i++) {
        struct serving_bound part =
            serving_part_bound(&cost->parts[i], peaks, memory_bytes_per_second);

        bound.compute_seconds += part.compute_seconds;
        bound.memory_seconds += part.memory_seconds;
    }
    return bound;
}
