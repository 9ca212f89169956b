/* Attention that is spelled out: a product makes the scores, a softmax reads them, and another
 * product reads what that makes. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_ATTENTION_SCORES_H
#define FLOPLEDGER_SECTIONS_ADVICE_ATTENTION_SCORES_H

#include "cost/efficiency/efficiency.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The scores of one kind of attention: `batch` (heads and all) matrices of `rows` x `columns`. */
struct score_shape {
    int64_t batch;
    int64_t rows;
    int64_t columns;
    uint32_t softmax; /* the first of them: index in trace->host */
    bool is_made;     /* a product has them as its result */
    bool is_read;     /* ... as its first input */
};

enum score_use { SCORES_NOT_USED = 1, SCORES_USED, SCORES_MADE, SCORES_READ };

/* Zeroed is empty. */
struct attention_scores {
    struct score_shape *shapes; /* [count]: those that products make and read */
    size_t count;
    uint8_t *use_of_shapes; /* by string of input shapes: enum score_use by ops that are no product;
                               0: not asked yet */
};

/* Sizes below `size_min` are windows and single tokens: fusing brings little there. */
void find_attention_scores(struct attention_scores *scores, const struct efficiency *efficiency,
                           int64_t size_min);
void attention_scores_clear(struct attention_scores *scores);

/* What an op does with scores: SCORES_USED by an op that is no product; MADE and READ by a product.
 */
enum score_use score_use_of_op(struct attention_scores *scores, const struct trace *trace,
                               uint32_t op);
enum score_use score_use_of_product(const struct attention_scores *scores,
                                    const struct trace *trace, uint32_t op);

#endif
