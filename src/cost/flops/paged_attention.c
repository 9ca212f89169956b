/* FLOPs of attention over a cache of keys and values, as inference servers call it.
 *
 * For each pair of a query and a key that it sees: 2 H D for the score and 2 H Dv for the value.
 * The shapes of such a call tell heads and sizes, not how many tokens each request sees. That is
 * known where vLLM's range around it has the sums over its requests (ledger/serving_range.h), or
 * where all requests are as long as the longest. Keys and values are read once each, in the type of
 * the cache where it is an argument, else in that of the new keys. A window stands in the model's
 * config alone: with one a call gets the mean of the layers, each request as long as the mean;
 * without a config it is not seen. With latent attention (MLA) a decode works on the compressed
 * cache: 2 H (2 R + rotary) for each pair. Sources: Kwon et al., PagedAttention;
 * DeepSeek-V2, 2.1.2; argument lists from the schemas that vLLM, SGLang and aiter register. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

#include <stddef.h>

/* Pairs that a call attends to, and the tokens that it reads from the cache. */
struct attended {
    int64_t all_pairs;
    int64_t causal_pairs;
    int64_t keys;
};

/* Pairs of `length` tokens that see those before and themselves, `window` at most. */
static double pairs_within(double length, double window)
{
    return length <= window ? length * (length + 1) / 2
                            : window * (window + 1) / 2 + (length - window) * window;
}

/* What a window leaves, where all requests are as long as the mean. Exact for equal requests; of
 * unequal ones the mean is what is known (the sums have no distribution), and a window bends the
 * sum of those longer than it. */
static struct attended within_window(const struct request_sums *sums, double window)
{
    double requests = (double)sums->requests;
    double length = (double)sums->keys / requests;
    double new = (double)sums->queries / requests;
    double pairs = pairs_within(length, window) - pairs_within(length - new, window);
    double keys = length < window + new - 1 ? length : window + new - 1;

    return (struct attended){sums->pairs, (int64_t)(requests * pairs + 0.5),
                             (int64_t)(requests * keys + 0.5)};
}

/* The mean over layers by their number: one call is of one layer, but nothing in it says of
 * which kind. */
static struct attended attended_by(const struct request_sums *sums,
                                   const struct attention_windows *windows)
{
    struct attended all = {sums->pairs, causal_pairs(sums), sums->keys};
    double pairs = 0;
    double keys = 0;
    double layers = 0;

    if (!windows || sums->requests == 0)
        return all;
    for (int i = 0; i < windows->count; i++) {
        double window = (double)windows->windows[i];
        struct attended of_layer =
            window > 0 && window < (double)sums->keys ? within_window(sums, window) : all;

        layers += (double)windows->layers[i];
        pairs += (double)windows->layers[i] * (double)of_layer.causal_pairs;
        keys += (double)windows->layers[i] * (double)of_layer.keys;
    }
    return (struct attended){all.all_pairs, (int64_t)(pairs / layers + 0.5),
                             (int64_t)(keys / layers + 0.5)};
}

/* Which requests a call with `rows` queries serves: those of both kinds (rows beyond them are
 * padding), or of one where servers call attention for each kind by itself. */
static bool attended_in_step(struct attended *attended, const struct call_surroundings *around,
                             int64_t rows)
{
    const struct serving_range *step = around->step;
    const struct request_sums *context;
    const struct request_sums *generation;
    int64_t queries;

    if (!step || !step->has_sums)
        return false;
    context = &step->context;
    generation = &step->generation;
    queries = context->queries + generation->queries;
    if (rows >= queries) {
        struct attended decoded = attended_by(generation, around->windows);

        *attended = attended_by(context, around->windows);
        attended->all_pairs += decoded.all_pairs;
        attended->causal_pairs += decoded.causal_pairs;
        attended->keys += decoded.keys;
        return true;
    }
    /* Both kinds have as many queries, so that the number of rows does not tell which this
     * call serves. */
    if (context->queries == generation->queries)
        return false;
    if (rows == context->queries)
        *attended = attended_by(context, around->windows);
    else if (rows == generation->queries)
        *attended = attended_by(generation, around->windows);
    return rows == context->queries || rows == generation->queries;
}

/* Numbers of one token: of heads and their sizes, which stand behind the tokens or, in a cache,
 * behind its blocks. */
static int64_t width_of(const struct op_call *call, uint32_t argument)
{
    int rank = rank_of(call, argument);

    if (rank < 2)
        return -1;
    return rank == 2 ? size_of(call, argument, -1)
                     : times(size_of(call, argument, -2), size_of(call, argument, -1));
}

/* What is attended to, and how wide. */
struct paged_sizes {
    struct attended attended;
    int64_t rows;        /* queries */
    int64_t query_width; /* H D */
    int64_t value_width; /* H Dv */
    int64_t cache_width; /* numbers that the cache keeps of a token */
    uint32_t cache;      /* the argument whose type it is kept in */
};

/* Grouped queries: scores count for all query heads, the cache is read once per key head,
 * hence the two widths. */
static bool count_paged(struct op_cost *cost, const struct op_call *call,
                        const struct paged_sizes *sizes)
{
    const struct attended *attended = &sizes->attended;
    int64_t macs_of_pair = plus(sizes->query_width, sizes->value_width);
    int64_t query_bytes = call->arguments[0].element_bytes;
    int64_t cache_bytes = call->arguments[sizes->cache].element_bytes;
    int64_t bytes = plus(times(times(sizes->rows, macs_of_pair), query_bytes),
                         times(times(attended->keys, sizes->cache_width), cache_bytes));

    (void)matrix_cost(cost, times(attended->all_pairs, macs_of_pair),
                      query_bytes && cache_bytes ? bytes : -1);
    if (cost->flops != TOO_LARGE)
        cost->masked_flops = times(times(attended->causal_pairs, macs_of_pair), 2);
    return true;
}

/* Heads of keys and values as they are: numbers: index of the queries, of the keys (the values
 * follow), of the output or 0 where it is returned, then as wide as the queries where keys and
 * values are equally wide. */
static bool read_paged_sizes(struct paged_sizes *sizes, const struct op_call *call,
                             const struct op_rule *rule)
{
    uint32_t query = (uint32_t)rule->numbers[0];
    uint32_t keys = (uint32_t)rule->numbers[1];
    uint32_t output = (uint32_t)rule->numbers[2];
    int64_t key_width = width_of(call, keys);
    int64_t value_width = width_of(call, keys + 1);

    *sizes = (struct paged_sizes){.rows = size_of(call, query, 0),
                                  .query_width = width_of(call, query),
                                  .value_width = width_of(call, output),
                                  .cache_width = plus(key_width, value_width),
                                  .cache = keys};
    if (sizes->query_width < 0 || key_width < 0 || value_width < 0)
        return false;
    return output != query ? sizes->value_width >= 0 : key_width == value_width;
}

/* Without the sums of a step there is no number: heads and sizes alone would need a length,
 * and the longest possible would be wrong by far. */
static bool count_unified(struct op_cost *cost, const struct op_call *call,
                          const struct op_rule *rule)
{
    struct paged_sizes sizes;

    if (!read_paged_sizes(&sizes, call, rule))
        return not_counted(cost, why_odd_shapes);
    if (!attended_in_step(&sizes.attended, &call->around, sizes.rows))
        return own_work_not_counted(cost, why_no_lengths);
    return count_paged(cost, call, &sizes);
}

/* A decode of pages of another layout: numbers: index of the queries [requests, H, D], the number
 * of heads that the cache keeps, as an argument. */
static bool count_paged_decode(struct op_cost *cost, const struct op_call *call,
                               const struct op_rule *rule)
{
    uint32_t query = (uint32_t)rule->numbers[0];
    struct paged_sizes sizes = {.rows = size_of(call, query, 0),
                                .query_width = width_of(call, query),
                                .value_width = width_of(call, query),
                                .cache = query + 1};
    int64_t heads;

    if (rank_of(call, query) != 3 || !is_tensor(call, query + 1))
        return not_counted(cost, why_odd_shapes);
    if (!integer_value(call, (uint32_t)rule->numbers[1], &heads) || heads < 1)
        return own_work_not_counted(cost, why_no_values);
    sizes.cache_width = times(times(2, heads), size_of(call, query, -1));
    if (!attended_in_step(&sizes.attended, &call->around, sizes.rows))
        return own_work_not_counted(cost, why_no_lengths);
    return count_paged(cost, call, &sizes);
}

/* aiter's mha_batch_prefill(q [T, H, D], k, v, query offsets [n + 1], page offsets, pages,
 * longest query, longest key, dropout, scale, cap, zero, is_causal, window left, right, ...) */
static bool count_batch_prefill(struct op_cost *cost, const struct op_call *call,
                                const struct op_rule *rule)
{
    struct paged_sizes sizes;
    int64_t requests = size_of(call, 3, 0) - 1;
    int64_t window = -1;
    int64_t longest[2];
    bool is_causal;

    if (!read_paged_sizes(&sizes, call, rule) || requests < 0)
        return not_counted(cost, why_odd_shapes);
    if (!boolean_value(call, 12, &is_causal) || !integer_value(call, 6, &longest[0]) ||
        !integer_value(call, 7, &longest[1]))
        return own_work_not_counted(cost, why_no_values);
    if (integer_value(call, 13, &window) && window >= 0)
        return own_work_not_counted(cost, why_packed_sequences);
    if (!attended_in_step(&sizes.attended, &call->around, sizes.rows)) {
        /* pages tell no lengths of keys, but new requests see themselves alone */
        struct request_sums even = {requests, sizes.rows, sizes.rows, times(sizes.rows, longest[0]),
                                    times(sizes.rows, longest[0])};

        if (longest[0] != longest[1] || sizes.rows != times(requests, longest[0]))
            return own_work_not_counted(cost, why_no_lengths);
        sizes.attended = attended_by(&even, NULL);
    }
    if (!is_causal)
        sizes.attended.causal_pairs = sizes.attended.all_pairs;
    return count_paged(cost, call, &sizes);
}

/* A decode of latent attention: numbers: index of the queries' part without positions [T, H, R];
 * the rotary part [T, H, rotary] and the cache [..., R + rotary] follow. */
static bool count_latent_decode(struct op_cost *cost, const struct op_call *call,
                                const struct op_rule *rule)
{
    uint32_t query = (uint32_t)rule->numbers[0];
    int64_t cached = size_of(call, query + 2, -1);
    struct paged_sizes sizes = {
        .rows = size_of(call, query, 0),
        .query_width = plus(width_of(call, query), width_of(call, query + 1)),
        .value_width = width_of(call, query),
        .cache_width = cached,
        .cache = query + 2,
    };

    if (rank_of(call, query) != 3 || rank_of(call, query + 1) != 3 ||
        cached != plus(size_of(call, query, -1), size_of(call, query + 1, -1)))
        return not_counted(cost, why_odd_shapes);
    if (!attended_in_step(&sizes.attended, &call->around, sizes.rows))
        return own_work_not_counted(cost, why_no_lengths);
    return count_paged(cost, call, &sizes);
}

static const struct op_rule rules[] = {
    {"serving::unified_attention", count_unified, {0, 1, 0}},
    {"serving::unified_attention_with_output", count_unified, {0, 1, 3}},
    {"serving::attention_paged_attention_ragged", count_unified, {2, 3, 0}},
    {"serving::mha_batch_prefill", count_batch_prefill, {0, 1, 0}},
    {"serving::paged_attention_v1", count_paged_decode, {1, 4}},
    {"serving::paged_attention_v2", count_paged_decode, {4, 7}},
    {"serving::paged_attention", count_paged_decode, {4, 7}},
    {"serving::cutlass_mla_decode", count_latent_decode, {1}},
    {"serving::sm100_cutlass_mla_decode", count_latent_decode, {2}},
};

const struct flop_formula paged_attention_formula = {
    .name = "paged_attention",
    .summary = "attention of inference servers: 2 H (D + Dv) for each pair of query and key",
    RULES(rules),
};
