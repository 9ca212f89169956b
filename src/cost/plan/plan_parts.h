/* Sizes of a layer's parts, and what checkpointing keeps and computes again of them. */
#ifndef FLOPLEDGER_COST_PLAN_PLAN_PARTS_H
#define FLOPLEDGER_COST_PLAN_PLAN_PARTS_H

#include "cost/plan/plan_operators.h"

/* Asked for each layout of a search, so that they are no calls. */

/* Columns that a token's queries, keys and values have together, and those of its result. */
static inline double plan_query_columns(const struct layer_kind *kind)
{
    return (double)(kind->heads * kind->key_size +
                    kind->key_heads * (kind->key_size + kind->value_size));
}

static inline double plan_result_columns(const struct layer_kind *kind)
{
    return (double)(kind->heads * kind->value_size);
}

/* Output columns and the depth of a kind's feed-forward: from the weights back to the width, as
 * models differ in what they call intermediate_size. */
static inline double plan_feed_size(const struct architecture *model, int64_t matrix)
{
    return (double)matrix / (double)model->hidden_size / (model->is_gated ? 3.0 : 2.0);
}

/* Kernels of the operators that stream, in a framework without fusion over them. */
#define STREAM_KERNELS 10.0

/* Bytes that the operators between the products of a layer stream, forward: norms, the residual,
 * what stands between the feed-forward's matrices, and the order of heads. */
double plan_streamed_bytes(const struct plan_context *context, const struct layer_kind *kind);

/* Of a token, the matmuls that `recomputed` of the setting says are made once more, but for
 * attention's own. */
double plan_module_flops(const struct plan_setting *setting);

/* ---- checkpointing by operators ---- */

/* Whether a kind's matmuls are those whose order it counts by. */
bool plan_has_plain_matmuls(const struct architecture *model, const struct layer_kind *kind);
/* What it computes again: weights that a token meets, and time. */
double plan_second_matmuls(const struct architecture *model, const struct layer_kind *kind);
void plan_add_second_matmuls(const struct plan_context *context, const struct layer_kind *kind,
                             struct plan_pass *pass);
/* Bytes that it keeps of a micro-batch in one layer. */
double plan_kept_by_operators(const struct plan_context *context, const struct layer_kind *kind);

#endif
