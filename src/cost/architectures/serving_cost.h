/* What one step of an inference server costs by its model's sizes: FLOPs, and the bytes that it
 * must read from memory, on one device. docs/metrics/mbu.md has the formulas.
 *
 * FLOPs: 2 for each weight that a token meets, and 2 (key_size + value_size) for each head and each
 * pair of a query and a key that it sees. A decode with latent attention (MLA) works on the
 * compressed cache: 2 (2 latent_rank + latent_rotary) for each head and pair (DeepSeek-V2, 2.1.2).
 * Logits are of the tokens that get any. Bytes: each weight once, of routed experts those that are
 * expected to be chosen, and the cache of keys and values of all requests once. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_SERVING_COST_H
#define FLOPLEDGER_COST_ARCHITECTURES_SERVING_COST_H

#include "cost/architectures/architecture.h"
#include "cost/architectures/architecture_cost.h"

#include <stdbool.h>
#include <stdint.h>

/* Requests of one kind in a step. Sums are over the requests; keys and pairs below 0: not known. */
struct serving_batch {
    double requests;
    double queries; /* new tokens */
    double keys;    /* tokens that the new ones see, themselves included */
    double pairs;   /* of a new token and one that it sees: it, and those before it */
    double logits;  /* tokens that get logits */
    bool is_ragged; /* the requests may differ: what windows leave is taken at the mean length */
    bool is_decode;
};

/* `requests` of `queries` new tokens each, which see `keys` tokens: at least as many. A decode
 * gives logits to every new token, a prefill to the last of each request. */
struct serving_batch serving_batch_even(int64_t requests, int64_t queries, int64_t keys,
                                        bool is_decode);

struct serving_part {
    double flops;
    double weight_bytes; /* read */
    double cache_bytes;  /* read: keys and values, states of a state space */
    enum peak_type format;
};

struct serving_cost {
    struct serving_part parts[PART_COUNT];
    struct serving_part total; /* its format says nothing */
    double tokens;             /* new ones */
    double experts_read;       /* of one layer, expected where tokens choose evenly; 0: none */
    double experts;            /* of one layer, on this device */
    double held_weight_bytes;  /* all weights, read or not */
    double held_cache_bytes;   /* of the batches' requests, as long as they are */
    bool has_cache;            /* keys of all batches are known: the figures of attention stand */
    bool is_by_mean;           /* a window was taken at the mean length of ragged requests */
};

/* NULL: serving_cost can tell; else why not, as a whole sentence. */
const char *why_no_serving_cost(const struct architecture *architecture);

/* Of one step with these batches, on one of `tensor` devices that share every matrix and the heads
 * (at least 1; heads of keys are copied where there are fewer). */
struct serving_cost serving_cost(const struct architecture *architecture,
                                 const struct serving_batch *batches, int batch_count,
                                 int64_t tensor);

/* The least time that it can take: by its matmuls, each at the peak of its format, and by its
 * bytes. 0: not known. Seconds. */
struct serving_bound {
    double compute_seconds;
    double memory_seconds;
};

struct serving_bound serving_part_bound(const struct serving_part *part,
                                        const double peaks[PEAK_TYPE_COUNT],
                                        double memory_bytes_per_second);
/* Of the whole step. */
struct serving_bound serving_cost_bound(const struct serving_cost *cost,
                                        const double peaks[PEAK_TYPE_COUNT],
                                        double memory_bytes_per_second);

/* The format that a device runs it in: `format`, or where it has no unit for it the nearest larger
 * one (fp4: fp8, then bf16). PEAK_TYPE_COUNT where none of them has a peak. */
enum peak_type format_with_peak(enum peak_type format, const double peaks[PEAK_TYPE_COUNT]);

#endif
