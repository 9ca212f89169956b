/* What the layers and the ends of a model take for one micro-batch. */
#include "cost/plan/plan_layer.h"

#include "cost/architectures/architecture_cost.h"

#include <math.h>

/* Checkpointing a layer as Megatron does: states of the random numbers are read back and set. From
 * vTrain's smallest models, where the host is what a layer waits for. */
static const double CHECKPOINT_SECONDS = 2.3e-3;

/* Without routed experts, which are sharded by other ranks than the rest. */
double plan_layer_parameters(const struct layer_kind *kind)
{
    return (double)(kind->mixer_matrix + kind->mixer_other + kind->convolution_weights +
                    kind->feed_matrix + kind->feed_other + kind->shared_matrix +
                    kind->router_matrix + kind->router_other + kind->norms);
}

/* Ranks that hold the same experts: all of a stage by the expert ranks. */
struct plan_group plan_expert_replicas(const struct plan_layout *layout)
{
    return (struct plan_group){layout->tensor * layout->context * layout->data / layout->expert,
                               layout->expert};
}

struct plan_group plan_replicas(const struct plan_layout *layout)
{
    return (struct plan_group){layout->data * layout->context, layout->tensor};
}

/* Neighbors, so that what is gathered for each step or layer stays in a node. */
struct plan_group plan_shards(const struct plan_context *context, struct plan_group replicas)
{
    int64_t most = context->setting->shard_devices;

    return (struct plan_group){most > 0 && most < replicas.size ? most : replicas.size,
                               replicas.stride};
}

struct plan_group plan_shard_copies(const struct plan_context *context, struct plan_group replicas)
{
    struct plan_group shards = plan_shards(context, replicas);

    return (struct plan_group){replicas.size / shards.size, replicas.stride * shards.size};
}

double plan_expert_parameters(const struct layer_kind *kind)
{
    return (double)kind->experts * (double)(kind->expert_matrix + kind->expert_other);
}

enum { PLAN_PRODUCTS_MAX = 8 };

/* Products of a layer's forward on one device. */
struct plan_products {
    struct plan_product products[PLAN_PRODUCTS_MAX];
    int count;
};

/* Sizes of zero are parts that a kind of layer does not have. */
static void plan_list(struct plan_products *list, struct plan_product product)
{
    product.is_low = true;
    if (product.batch <= 0.0)
        product.batch = 1.0;
    if (product.n > 0.0 && product.k > 0.0 && list->count < PLAN_PRODUCTS_MAX)
        list->products[list->count++] = product;
}

/* Projections: those of queries, keys, values and the result, where the weights are as many; else,
 * of latent attention or a state space, two products of the same weights. */
static void plan_list_mixer(const struct plan_context *context, const struct layer_kind *kind,
                            struct plan_products *list)
{
    double hidden = (double)context->setting->model->hidden_size;
    double tensor = (double)context->layout->tensor;
    double queries = plan_query_columns(kind);
    double results = plan_result_columns(kind);
    double all = (double)kind->mixer_matrix / hidden;

    if (kind->heads == 0 || fabs(queries + results - all) > 0.01 * all) {
        queries = all * 0.6;
        results = all * 0.4;
    } else {
        results = all - queries; /* a gate of a few columns is with them */
    }
    plan_list(list,
              (struct plan_product){.m = context->tokens, .n = queries / tensor, .k = hidden});
    plan_list(list,
              (struct plan_product){.m = context->tokens, .n = hidden, .k = results / tensor});
}

/* A feed-forward of `n` columns on this device behind `k` matrices into it (2: it is gated), for
 * `m` tokens, `batch` of them; its middle is ready where kernels are fused over it. */
static void plan_list_feed(const struct plan_context *context, struct plan_products *list,
                           struct plan_product feed)
{
    double hidden = (double)context->setting->model->hidden_size;
    struct plan_product up = {.m = feed.m,
                              .n = feed.n * feed.k,
                              .k = hidden,
                              .batch = feed.batch,
                              .is_output_ready = feed.is_input_ready};
    struct plan_product down = {.m = feed.m,
                                .n = hidden,
                                .k = feed.n,
                                .batch = feed.batch,
                                .is_input_ready = feed.is_input_ready};

    plan_list(list, up);
    plan_list(list, down);
}

/* A feed-forward that every token meets, of all experts' shared one or of its own. */
static void plan_list_dense(const struct plan_context *context, struct plan_products *list,
                            int64_t matrix)
{
    const struct architecture *model = context->setting->model;
    double columns = plan_feed_size(model, matrix) / (double)context->layout->tensor;

    if (matrix > 0)
        plan_list_feed(context, list,
                       (struct plan_product){.m = context->tokens,
                                             .n = columns,
                                             .k = model->is_gated ? 2.0 : 1.0,
                                             .batch = 1.0});
}

/* Routed tokens are spread evenly over the local experts: `batch` products of `m` rows.
 * Imbalance is not planned. */
static void plan_list_experts(const struct plan_context *context, const struct layer_kind *kind,
                              struct plan_products *list)
{
    const struct architecture *model = context->setting->model;
    double tensor = (double)context->layout->tensor;
    double local = (double)kind->experts / (double)context->layout->expert;

    if (kind->experts > 0)
        plan_list_feed(context, list,
                       (struct plan_product){.m = context->tokens / tensor *
                                                  (double)kind->experts_per_token / local,
                                             .n = plan_feed_size(model, kind->expert_matrix),
                                             .k = model->is_gated ? 2.0 : 1.0,
                                             .batch = local,
                                             .is_input_ready = context->setting->fuses_experts});
}

static struct plan_products plan_products_of(const struct plan_context *context,
                                             const struct layer_kind *kind)
{
    struct plan_products list = {.count = 0};

    plan_list_mixer(context, kind, &list);
    plan_list_dense(context, &list, kind->feed_matrix);
    plan_list_dense(context, &list, kind->shared_matrix);
    plan_list_experts(context, kind, &list);
    return list;
}

/* Those that choose experts and put tokens in their order. */
static const double ROUTING_KERNELS = 20.0;

/* Of collectives in pieces beside matmuls, the share that is seen: the first and last piece, and
 * what the matmuls are slowed by. */
static const double SEEN_OF_TENSOR = 0.3;

/* Scores of a token for each expert, in 16 bits at least: of each token on one of the devices that
 * share the sequence. */
static struct plan_product plan_router(const struct plan_context *context,
                                       const struct layer_kind *kind)
{
    double hidden = (double)context->setting->model->hidden_size;

    return (struct plan_product){.m = context->tokens / (double)context->layout->tensor,
                                 .n = (double)kind->router_matrix / hidden,
                                 .k = hidden,
                                 .batch = 1.0};
}

/* Two all-reduces a layer and pass (attention and feed-forward), of states; with a
 * split sequence reduce-scatter and all-gather have the same volume together. */
static void plan_add_tensor(const struct plan_context *context, struct plan_pass *pass)
{
    double bytes =
        context->element * context->tokens * (double)context->setting->model->hidden_size;
    struct plan_group group = {context->layout->tensor, 1};

    plan_pass_charge(pass, PLAN_TENSOR,
                     2.0 * (context->setting->hides_tensor ? SEEN_OF_TENSOR : 1.0) *
                         plan_collective_seconds(context, PLAN_ALL_REDUCE, bytes, group));
}

/* Keys and values go around the ring of context ranks while attention works, all of it and not only
 * what it takes beyond the peak; only what takes longer is seen. */
static void plan_add_context(const struct plan_context *context, const struct layer_kind *kind,
                             struct plan_pass *pass, double attention, double factor)
{
    struct plan_group group = {context->layout->context, context->layout->tensor};
    double columns = (double)(kind->key_heads * (kind->key_size + kind->value_size)) /
                     (double)context->layout->tensor;
    double bytes = context->element * context->tokens * columns * (double)group.size;
    double seconds = factor * plan_collective_seconds(context, PLAN_ALL_GATHER, bytes, group);

    plan_pass_charge(pass, PLAN_CONTEXT, fmax(seconds - attention, 0.1 * seconds));
}

/* A hidden collective takes multiprocessors and memory from the work that hides it: 16 to 24 of
 * 132. */
static const double SLOWED_SHARE = 0.15;

/* Of exchanges beside another micro-batch's work, the share that is seen: of 10.8 s that they took
 * in a step of Qwen3 30B on 16 H100, Nsight saw 36.55 % beside matmuls and attention, and the step
 * took 3.7 s less (Megatron-Bridge's notes on that overlap, July 2026; in no table of runs). */
static const double SEEN_OF_EXCHANGE = 0.63;

/* Two all-to-alls, to the experts and back. */
static void plan_add_routing(const struct plan_context *context, const struct layer_kind *kind,
                             struct plan_pass *pass)
{
    struct plan_group group = {context->layout->expert, 1};
    double copies = (double)kind->experts_per_token;
    double bytes = context->element * context->tokens * copies *
                   (double)context->setting->model->hidden_size / (double)context->layout->tensor;
    double seconds;

    if (kind->experts == 0)
        return;
    pass->kernels += ROUTING_KERNELS;
    if (context->setting->sends_copies)
        copies = 1.0;
    seconds = 2.0 * plan_exchange_seconds(context, bytes, copies, group);
    if (context->setting->hides_exchange)
        seconds = fmax(seconds - pass->device, SEEN_OF_EXCHANGE * seconds);
    plan_pass_charge(pass, PLAN_EXPERT, seconds);
}

/* What a routed token streams between the kernels of its experts, in bytes of a 16-bit column,
 * counted from Megatron-Core (token_dispatcher.py, experts.py, fused_bias_geglu.py). Behind NCCL's
 * exchange rows are sorted by expert and back, and for 8 bits padded and back: 8 bytes each.
 * Biases (GPT-OSS) take the token's weight, are added, and all experts put together: 12 forward,
 * 16 backward, or in 32 bits, as DeepEP and HybridEP leave the weights, 28 and 40. The clamp cuts
 * off both halves and puts them together outside of the fused activation: 16 and 20. */
static void plan_add_between_experts(const struct plan_context *context,
                                     const struct layer_kind *kind, struct plan_pass *pass,
                                     bool is_backward)
{
    const struct plan_setting *setting = context->setting;
    const struct plan_layout *layout = context->layout;
    double routed = context->tokens * (double)kind->experts_per_token / (double)layout->tensor *
                    (context->element / 2.0);
    double local = (double)kind->experts / (double)layout->expert;
    double hidden = (double)setting->model->hidden_size;
    double feed = plan_feed_size(setting->model, kind->expert_matrix);
    bool is_exchanged = setting->sends_copies && layout->expert > 1;
    bool is_wide = layout->expert > 1 && !setting->sends_copies;
    double biased = is_backward ? (is_wide ? 40.0 : 16.0) : (is_wide ? 28.0 : 12.0);
    bool is_padded = is_exchanged && !setting->fuses_experts && context->peak > context->peak_16;

    if (kind->experts == 0)
        return;
    if (is_exchanged && local > 1.0)
        plan_add_stream(context, pass, 8.0 * hidden * routed, 2.0);
    if (is_padded)
        plan_add_stream(context, pass, 8.0 * hidden * routed, 2.0);
    if (kind->expert_other > 0 && !setting->fuses_experts)
        plan_add_stream(context, pass,
                        routed * (biased * hidden + (is_backward ? 20.0 : 16.0) * feed),
                        (is_backward ? 4.0 : 2.0) * local + 4.0);
}

/* Operators one behind the other, as one stream runs them; what overlaps is subtracted where
 * it does (context, shards, tensor). */
static struct plan_pass plan_forward(const struct plan_context *context,
                                     const struct layer_kind *kind)
{
    struct plan_products list = plan_products_of(context, kind);
    struct plan_pass pass = {.device = 0.0};
    double attention;

    for (int i = 0; i < list.count; i++)
        plan_add_product(context, &pass, list.products[i]);
    plan_add_product(context, &pass, plan_router(context, kind));
    attention = -pass.device;
    plan_add_scores(context, kind, &pass, false);
    attention += pass.device;
    plan_add_scan(context, kind, &pass, false);
    plan_add_stream(context, &pass, plan_streamed_bytes(context, kind), STREAM_KERNELS);
    plan_add_rotation(context, kind, &pass, false);
    plan_add_between_experts(context, kind, &pass, false);
    plan_add_tensor(context, &pass);
    plan_add_context(context, kind, &pass, attention, 1.0);
    plan_add_routing(context, kind, &pass);
    return pass;
}

double plan_local_layer(const struct plan_context *context, const struct layer_kind *kind)
{
    return plan_layer_parameters(kind) / (double)context->layout->tensor +
           plan_expert_parameters(kind) / (double)context->layout->expert;
}

/* Streams 1.5 times the forward's bytes: gradients are read and written beside what was kept. */
static struct plan_pass plan_backward(const struct plan_context *context,
                                      const struct layer_kind *kind)
{
    struct plan_products list = plan_products_of(context, kind);
    struct plan_pass pass = {.device = 0.0};
    double attention;

    for (int i = 0; i < list.count; i++)
        plan_add_backward(context, &pass, list.products[i]);
    plan_add_backward(context, &pass, plan_router(context, kind));
    attention = -pass.device;
    plan_add_scores(context, kind, &pass, true);
    attention += pass.device;
    plan_add_scan(context, kind, &pass, true);
    plan_add_stream(context, &pass,
                    1.5 * plan_streamed_bytes(context, kind) +
                        (double)context->setting->accumulated_bytes *
                            plan_local_layer(context, kind),
                    2.0 * STREAM_KERNELS);
    plan_add_rotation(context, kind, &pass, true);
    plan_add_between_experts(context, kind, &pass, true);
    plan_add_tensor(context, &pass);
    plan_add_context(context, kind, &pass, attention, 2.0);
    plan_add_routing(context, kind, &pass);
    return pass;
}

/* The host launches kernels while the device works; what it cannot keep up with is waiting. The
 * fourth root of the sum of fourth powers: the larger of the two where they differ, and more where
 * they are alike, since neither hides the other fully. */
static void plan_wait_for_host(struct plan_pass *pass, double host, bool is_blocking)
{
    double device_2 = pass->device * pass->device;
    double host_2 = host * host;
    double both =
        is_blocking ? pass->device + host : sqrt(sqrt(device_2 * device_2 + host_2 * host_2));

    plan_pass_charge(pass, PLAN_LAUNCH, both - pass->device);
    pass->device = both;
}

/* What is gathered or scattered among the devices that share it, and what those that hold the same
 * shard reduce among them. */
struct plan_sharing {
    double gather;
    double across;
};

static struct plan_sharing plan_sharing(const struct plan_context *context,
                                        struct plan_group replicas, double bytes)
{
    struct plan_group shards = plan_shards(context, replicas);

    if (bytes <= 0.0)
        return (struct plan_sharing){0.0, 0.0};
    return (struct plan_sharing){
        .gather = plan_collective_seconds(context, PLAN_ALL_GATHER, bytes, shards),
        .across = plan_collective_seconds(context, PLAN_ALL_REDUCE, bytes / (double)shards.size,
                                          plan_shard_copies(context, replicas)),
    };
}

/* Weights gathered before a layer's work, and gradients scattered behind it, hide behind the work
 * of the layer before: what takes longer is seen. */
static void plan_add_shards(const struct plan_context *context, const struct layer_kind *kind,
                            struct plan_passes *passes)
{
    const struct plan_layout *layout = context->layout;
    struct plan_sharing dense;
    struct plan_sharing experts;
    double forward;
    double backward;

    if (layout->zero < 3 || plan_replicas(layout).size == 1 ||
        plan_keeps_whole(context->setting, layout))
        return;
    dense = plan_sharing(context, plan_replicas(layout),
                         context->element * plan_layer_parameters(kind) / (double)layout->tensor);
    experts =
        plan_sharing(context, plan_expert_replicas(layout),
                     context->element * plan_expert_parameters(kind) / (double)layout->expert);
    forward = dense.gather + experts.gather;
    backward = 2.0 * forward + dense.across + experts.across;
    plan_pass_charge(&passes->forward, PLAN_SHARDS,
                     fmax(forward - plan_pass_seconds(&passes->forward), SLOWED_SHARE * forward));
    plan_pass_charge(
        &passes->backward, PLAN_SHARDS,
        fmax(backward - plan_pass_seconds(&passes->backward), SLOWED_SHARE * backward));
}

/* What an activation streams in the forward between matrices of `columns` columns. */
static double plan_activated_bytes(const struct plan_context *context, double columns)
{
    return context->streamed * context->tokens * columns *
           (context->setting->model->is_gated ? 3.0 : 2.0) / (double)context->layout->tensor;
}

/* The products of `list` forward, and the activation between them. */
static void plan_add_feed(const struct plan_context *context, struct plan_pass *pass,
                          struct plan_products list, double columns)
{
    for (int i = 0; i < list.count; i++)
        plan_add_product(context, pass, list.products[i]);
    if (list.count > 0 && columns > 0.0)
        plan_add_stream(context, pass, plan_activated_bytes(context, columns), 1.0);
}

/* All behind the second norm: tokens are exchanged and put in order again, too. */
static void plan_add_moe(const struct plan_context *context, const struct layer_kind *kind,
                         struct plan_pass *pass)
{
    const struct architecture *model = context->setting->model;
    double routed = (double)kind->experts_per_token;
    double ordered = 4.0 * context->element * context->tokens * routed *
                     (double)model->hidden_size / (double)context->layout->tensor;
    struct plan_products list = {.count = 0};

    plan_list_experts(context, kind, &list);
    plan_list_dense(context, &list, kind->shared_matrix);
    plan_add_product(context, pass, plan_router(context, kind));
    plan_add_feed(context, pass, list,
                  plan_feed_size(model, kind->shared_matrix) +
                      (context->setting->fuses_experts
                           ? 0.0
                           : routed * plan_feed_size(model, kind->expert_matrix)));
    plan_add_stream(context, pass, ordered, 2.0);
    plan_add_between_experts(context, kind, pass, false);
    plan_add_routing(context, kind, pass);
}

/* Between the experts' matmuls, with the clamp of plan_add_between_experts; part of their kernels
 * where those are fused. */
static void plan_add_moe_activation(const struct plan_context *context,
                                    const struct layer_kind *kind, struct plan_pass *pass)
{
    double columns = (double)kind->experts_per_token *
                     plan_feed_size(context->setting->model, kind->expert_matrix);

    if (kind->experts == 0 || context->setting->fuses_experts)
        return;
    plan_add_stream(context, pass, plan_activated_bytes(context, columns), 1.0);
    if (kind->expert_other > 0)
        plan_add_stream(context, pass,
                        8.0 * context->element * context->tokens * columns /
                            (double)context->layout->tensor,
                        4.0);
}

/* Megatron-Core, transformer_config.py: recompute_modules. Without tensor parallelism's own
 * collectives. */
static void plan_add_modules(const struct plan_context *context, const struct layer_kind *kind,
                             struct plan_pass *pass)
{
    const struct plan_setting *setting = context->setting;
    const struct architecture *model = setting->model;
    unsigned modules = setting->recomputed ? setting->recomputed : PLAN_CORE_ATTENTION;
    double tensor = (double)context->layout->tensor;
    bool is_moe = (modules & PLAN_MOE) != 0 && kind->experts > 0;
    struct plan_products dense = {.count = 0};
    struct plan_products shared = {.count = 0};

    if (modules & PLAN_OPERATORS) {
        plan_add_second_matmuls(context, kind, pass);
        return;
    }
    if (modules & PLAN_CORE_ATTENTION)
        plan_add_scores(context, kind, pass, false);
    /* Two norms, each of which reads and writes a column. */
    if (modules & PLAN_NORMS)
        plan_add_stream(context, pass,
                        4.0 * context->streamed * context->tokens * (double)model->hidden_size /
                            (setting->splits_sequence ? tensor : 1.0),
                        2.0);
    /* One product with the FLOPs of all projections up; the rotation reads and writes their
     * columns. */
    if (modules & PLAN_LATENT_UP && kind->latent_up > 0) {
        plan_add_product(
            context, pass,
            (struct plan_product){.m = context->tokens,
                                  .n = (double)kind->latent_up / (double)kind->latent_rank / tensor,
                                  .k = (double)kind->latent_rank,
                                  .batch = 1.0,
                                  .is_low = true});
        plan_add_stream(
            context, pass,
            2.0 * context->element * context->tokens * plan_query_columns(kind) / tensor, 2.0);
    }
    plan_list_dense(context, &dense, modules & PLAN_DENSE_FEED ? kind->feed_matrix : 0);
    plan_add_feed(context, pass, dense, plan_feed_size(model, kind->feed_matrix));
    plan_list_dense(context, &shared,
                    modules & PLAN_SHARED_EXPERTS && !is_moe ? kind->shared_matrix : 0);
    plan_add_feed(context, pass, shared, plan_feed_size(model, kind->shared_matrix));
    /* The whole has its activation in it, and the shared experts: neither is made a third time,
     * whichever are named beside it. */
    if (is_moe)
        plan_add_moe(context, kind, pass);
    else if (modules & PLAN_MOE_ACTIVATION)
        plan_add_moe_activation(context, kind, pass);
}

/* Recomputation is planned as the forward once more (full) or some of its parts (selective), and
 * moved to an account of its own. */
static struct plan_passes plan_layer(const struct plan_context *context,
                                     const struct layer_kind *kind)
{
    const enum recompute recompute = context->layout->recompute;
    struct plan_passes passes = {.forward = plan_forward(context, kind),
                                 .backward = plan_backward(context, kind)};
    double launch = context->setting->launch_seconds;
    double share = plan_recomputed_share(context->setting, context->layout);
    double checkpoint = recompute == RECOMPUTE_FULL ? CHECKPOINT_SECONDS * share : 0.0;
    struct plan_pass again = {.device = 0.0};

    if (recompute == RECOMPUTE_FULL)
        again = passes.forward;
    else if (recompute == RECOMPUTE_SELECTIVE)
        plan_add_modules(context, kind, &again);
    plan_pass_recompute(&again);
    plan_pass_add(&passes.backward, &again, share);
    plan_wait_for_host(&passes.forward, passes.forward.kernels * launch + checkpoint / 3.0,
                       context->setting->is_blocking);
    plan_wait_for_host(&passes.backward, passes.backward.kernels * launch + checkpoint / 1.5,
                       context->setting->is_blocking);
    plan_add_shards(context, kind, &passes);
    return passes;
}

/* Layers of one kind cost the same, so each kind is planned once. */
struct plan_passes plan_layers(const struct plan_context *context)
{
    const struct architecture *model = context->setting->model;
    struct plan_passes all = {.forward.device = 0.0};

    for (int i = 0; i < model->kind_count; i++) {
        struct plan_passes one = plan_layer(context, &model->kinds[i]);

        plan_pass_add(&all.forward, &one.forward, (double)model->kinds[i].count);
        plan_pass_add(&all.backward, &one.backward, (double)model->kinds[i].count);
    }
    return all;
}

/* Code that fuses its kernels pads the vocabulary, too, as Megatron's does; other code leaves it as
 * it is. Numbers in 32 bits are not asked for their rows. */
static int64_t plan_vocabulary_columns(const struct plan_context *context, double columns)
{
    const struct plan_setting *setting = context->setting;
    bool is_narrower = setting->precision != PEAK_FP32 && setting->precision != PEAK_TF32 &&
                       setting->precision != PEAK_FP64;

    return setting->is_eager && is_narrower ? (int64_t)columns : 0;
}

/* Logits of one micro-batch and their loss, in 32 bits: written, its largest found, exponents
 * summed; its gradient written, and cast. */
static void plan_add_logits(const struct plan_context *context, struct plan_passes *ends,
                            double times)
{
    const struct architecture *model = context->setting->model;
    double hidden = (double)model->hidden_size;
    double tensor = (double)context->layout->tensor;
    double columns = (double)(model->output_matrix + model->transform_matrix) / hidden;
    struct plan_product logits = {
        .m = context->tokens, .n = ceil(columns / tensor), .k = hidden, .batch = 1.0};
    struct plan_passes one = {.forward.device = 0.0};

    logits.columns = plan_vocabulary_columns(context, logits.n);

    if (columns <= 0.0)
        return;
    plan_add_product(context, &one.forward, logits);
    plan_add_backward(context, &one.backward, logits);
    plan_add_stream(context, &one.forward, 14.0 * context->tokens * columns / tensor, 6.0);
    plan_add_stream(context, &one.backward, 10.0 * context->tokens * columns / tensor, 4.0);
    plan_pass_add(&ends->forward, &one.forward, times);
    plan_pass_add(&ends->backward, &one.backward, times);
}

/* Layers that predict further tokens (MTP) are like the last ones, fed through a matrix of two
 * hidden sizes by one, with three norms more, and have logits and a loss each. They stand at the
 * end of the last stage, beside the loss. */
static void plan_add_predictions(const struct plan_context *context, struct plan_passes *ends)
{
    const struct architecture *model = context->setting->model;
    double count = (double)model->prediction_layers;
    double hidden = (double)model->hidden_size;
    struct plan_product joined = {.m = context->tokens,
                                  .n = hidden / (double)context->layout->tensor,
                                  .k = 2.0 * hidden,
                                  .batch = 1.0,
                                  .is_low = true};
    struct plan_passes layer = plan_layer(context, &model->kinds[model->kind_count - 1]);

    plan_add_product(context, &layer.forward, joined);
    plan_add_backward(context, &layer.backward, joined);
    plan_add_stream(context, &layer.forward, 6.0 * context->element * context->tokens * hidden,
                    3.0);
    plan_add_stream(context, &layer.backward, 9.0 * context->element * context->tokens * hidden,
                    3.0);
    plan_pass_add(&ends->forward, &layer.forward, count);
    plan_pass_add(&ends->backward, &layer.backward, count);
    plan_add_logits(context, ends, count);
}

/* An image's patches come in by a matrix, and a classifier has one of each sample. */
static void plan_add_patches_and_head(const struct plan_context *context, struct plan_passes *ends)
{
    const struct architecture *model = context->setting->model;
    double hidden = (double)model->hidden_size;
    double tensor = (double)context->layout->tensor;
    const struct plan_product products[] = {
        {.m = context->tokens,
         .n = hidden / tensor,
         .k = (double)model->patch_matrix / hidden,
         .batch = 1.0},
        {.m = context->tokens / (double)context->setting->sequence,
         .n = (double)model->head_matrix / hidden / tensor,
         .k = hidden,
         .batch = 1.0},
    };

    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        plan_add_product(context, &ends->forward, products[i]);
        plan_add_backward(context, &ends->backward, products[i]);
    }
}

/* Embedding and loss of one micro-batch; a pipeline's first and last stage do them, which is
 * their imbalance. */
struct plan_passes plan_ends(const struct plan_context *context)
{
    double hidden = (double)context->setting->model->hidden_size;
    struct plan_passes ends = {.forward.device = 0.0};

    plan_add_stream(context, &ends.forward, 4.0 * context->element * context->tokens * hidden, 4.0);
    plan_add_stream(context, &ends.backward, 6.0 * context->element * context->tokens * hidden,
                    4.0);
    plan_add_patches_and_head(context, &ends);
    plan_add_logits(context, &ends, 1.0);
    if (context->setting->predicts_further)
        plan_add_predictions(context, &ends);
    return ends;
}
