/* Sizes of a layer's parts, what is computed again of them, and what of checkpointing by operators
 * is kept. */
#include "cost/plan/plan_parts.h"

#include <math.h>

double plan_streamed_bytes(const struct plan_context *context, const struct layer_kind *kind)
{
    const struct plan_setting *setting = context->setting;
    const struct architecture *model = setting->model;
    double hidden = (double)model->hidden_size;
    double tensor = (double)context->layout->tensor;
    double split = setting->splits_sequence ? tensor : 1.0;
    double routed = (double)kind->experts_per_token;
    double between =
        setting->fuses_experts ? 0.0 : routed * plan_feed_size(model, kind->expert_matrix);
    double middle = (plan_feed_size(model, kind->feed_matrix + kind->shared_matrix) + between) *
                    (model->is_gated ? 3.0 : 2.0);
    double order = plan_query_columns(kind) * 2.0;
    /* A routed token is read and written before and behind its experts. */
    double permuted = 4.0 * routed * hidden / tensor;

    return context->streamed * context->tokens *
           ((2.0 * 2.0 + 2.0 * 3.0) * hidden / split + (middle + order) / tensor + permuted);
}

/* ---- checkpointing by operators ----
 *
 * torchtitan's (activation_checkpoint.py, SelectiveAC, its default; selective_ac_option "op"
 * before): the results of attention and of each first of two matmuls are kept, of queries, keys,
 * values, what attention results in, and the feed-forward, in that order. All else is computed
 * again: keys, what attention results in, a gated feed-forward's second matrix, and what stands
 * between. The layer's last product is of use to no gradient, so that a compiler leaves it out. */

/* Layers of other matmuls have them in another order, which is not counted. */
bool plan_has_plain_matmuls(const struct architecture *model, const struct layer_kind *kind)
{
    double columns = plan_query_columns(kind) + plan_result_columns(kind);
    double all = (double)kind->mixer_matrix / (double)model->hidden_size;

    return kind->heads > 0 && kind->latent_rank == 0 && kind->experts == 0 &&
           kind->shared_matrix == 0 && kind->scan_channels == 0 && kind->index_heads == 0 &&
           fabs(columns - all) <= 0.01 * all;
}

static double plan_key_columns(const struct layer_kind *kind)
{
    return (double)(kind->key_heads * kind->key_size);
}

/* Weights of the matmuls that are computed again. */
double plan_second_matmuls(const struct architecture *model, const struct layer_kind *kind)
{
    return (double)model->hidden_size * (plan_key_columns(kind) + plan_result_columns(kind)) +
           (model->is_gated ? (double)kind->feed_matrix / 3.0 : 0.0);
}

/* Of tensor parallelism what is scattered is kept, and what is gathered is gathered again, before
 * attention and before the feed-forward. */
void plan_add_second_matmuls(const struct plan_context *context, const struct layer_kind *kind,
                             struct plan_pass *pass)
{
    const struct architecture *model = context->setting->model;
    double hidden = (double)model->hidden_size;
    double tensor = (double)context->layout->tensor;
    struct plan_group group = {context->layout->tensor, 1};
    const struct plan_product products[] = {
        {.n = plan_key_columns(kind) / tensor, .k = hidden},
        {.n = hidden, .k = plan_result_columns(kind) / tensor},
        {.n = model->is_gated ? plan_feed_size(model, kind->feed_matrix) / tensor : 0.0,
         .k = hidden},
    };

    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct plan_product product = products[i];

        product.m = context->tokens;
        product.batch = 1.0;
        product.is_low = true;
        plan_add_product(context, pass, product);
    }
    plan_add_stream(context, pass, plan_streamed_bytes(context, kind), STREAM_KERNELS);
    plan_add_rotation(context, kind, pass, false);
    plan_pass_charge(pass, PLAN_TENSOR,
                     2.0 * plan_collective_seconds(context, PLAN_ALL_GATHER,
                                                   context->element * context->tokens * hidden,
                                                   group));
}

/* The layer's input, and results: queries, values, of attention, and of the first matrix of the
 * feed-forward; in eager code that of its last, too. */
double plan_kept_by_operators(const struct plan_context *context, const struct layer_kind *kind)
{
    const struct plan_setting *setting = context->setting;
    double tensor = (double)context->layout->tensor;
    double split = setting->splits_sequence ? tensor : 1.0;
    double columns = plan_query_columns(kind) - plan_key_columns(kind) + plan_result_columns(kind) +
                     plan_feed_size(setting->model, kind->feed_matrix);

    return context->element * context->tokens *
           ((setting->is_eager ? 2.0 : 1.0) * (double)setting->model->hidden_size / split +
            columns / tensor);
}

/* Of a token. */
double plan_module_flops(const struct plan_setting *setting)
{
    double weights = 0.0;

    for (int i = 0; i < setting->model->kind_count; i++) {
        const struct layer_kind *kind = &setting->model->kinds[i];
        double of_experts = (double)(kind->experts_per_token * kind->expert_matrix);
        bool is_moe = (setting->recomputed & PLAN_MOE) != 0;
        bool has_shared = is_moe || (setting->recomputed & PLAN_SHARED_EXPERTS) != 0;

        if (setting->recomputed & PLAN_OPERATORS) {
            weights += (double)kind->count * plan_second_matmuls(setting->model, kind);
            continue;
        }
        weights += (double)kind->count *
                   ((setting->recomputed & PLAN_LATENT_UP ? (double)kind->latent_up : 0.0) +
                    (setting->recomputed & PLAN_DENSE_FEED ? (double)kind->feed_matrix : 0.0) +
                    (has_shared ? (double)kind->shared_matrix : 0.0) +
                    (is_moe ? of_experts + (double)kind->router_matrix : 0.0));
    }
    return 2.0 * weights;
}
