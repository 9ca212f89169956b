/* Memory of the fullest device of a planned run. */

#include "cost/plan/plan_layer.h"

#include <math.h>

/* The CUDA context, its libraries' workspaces, NCCL's buffers. */
static const double RUNTIME_BYTES = 2.0e9;

/* Bytes that PyTorch's allocator keeps for one that tensors take: of the 96 ranks of two logs of
 * Megatron-LM (check_plan_memory.py) 1.08 to 1.40, a median of 1.20 and of 1.25; on the fullest
 * rank, which decides, 1.2 and 1.4. Rounded down for what is told as tight, so that it is. */
static const double RESERVED_BY_ALLOCATED = 1.2;
static const double AT_LEAST_RESERVED = 1.15;

double plan_reserved_bytes(const struct plan_memory *memory)
{
    return RUNTIME_BYTES + RESERVED_BY_ALLOCATED * (memory->total - RUNTIME_BYTES);
}

bool plan_is_tight(const struct plan_memory *memory, double has)
{
    return has > 0.0 && memory->total * AT_LEAST_RESERVED > has;
}

/* Parts that layers do not divide. Where both ends, or the loss alone, make it come out even, each
 * stands for a layer, as Megatron-Core counts them and DeepSpeed with type:transformer|embedding;
 * else all parts but the last are full, as in DeepSpeed's cut of 78 layers among 12 and in
 * Megatron-Bridge's layouts of 61 among 16. */
struct plan_cut plan_cut(const struct plan_context *context)
{
    double chunks = (double)context->layout->chunks;
    double count = (double)context->setting->model->layers;
    double parts = (double)context->layout->pipeline * chunks;
    double full = ceil(count / parts);
    double stage = full * chunks;

    if (fmod(count, parts) == 0.0)
        return (struct plan_cut){stage, stage, stage};
    if (fmod(count + 2.0, parts) == 0.0)
        return (struct plan_cut){stage - 1.0, stage, stage - 1.0};
    if (fmod(count + 1.0, parts) == 0.0)
        return (struct plan_cut){stage, stage, stage - 1.0};
    return (struct plan_cut){stage, stage, stage - full + fmax(count - full * (parts - 1.0), 0.0)};
}

/* What a device of a stage holds. */
struct plan_held {
    double layers;
    double before; /* stages before it */
    double logits; /* columns */
    struct plan_parameters parameters;
};

enum { STAGE_KINDS = 3 };

/* Parameters of `layers` of a stage between the ends, of which as many are of the heaviest kind as
 * some stage must have at least: 58 layers with experts on 16 stages are 4 on one. */
static struct plan_parameters plan_middle_parameters(const struct plan_context *context,
                                                     double layers, struct plan_parameters all)
{
    const struct architecture *model = context->setting->model;
    const struct layer_kind *heaviest = &model->kinds[0];
    struct plan_parameters of;
    double heavy;
    double others;

    for (int i = 1; i < model->kind_count; i++)
        if (plan_local_layer(context, &model->kinds[i]) > plan_local_layer(context, heaviest))
            heaviest = &model->kinds[i];
    others = (double)(model->layers - heaviest->count);
    heavy = fmin(layers, ceil((double)heaviest->count / (double)context->layout->pipeline));
    of = (struct plan_parameters){heavy * plan_layer_parameters(heaviest),
                                  heavy * plan_expert_parameters(heaviest)};
    if (others > 0.0) {
        double share = (layers - heavy) / others;

        of.dense += share * (all.dense - (double)heaviest->count * plan_layer_parameters(heaviest));
        of.experts +=
            share * (all.experts - (double)heaviest->count * plan_expert_parameters(heaviest));
    }
    return of;
}

/* The first stage, which has the embedding, the second, and the last, which has the logits and the
 * layers that predict further tokens; the last alone where there is but one. Tied embeddings on one
 * stage are one matrix; on two stages each has its own copy. Layers of the
 * ends are mean ones: where kinds differ, that a stage has its share of each is taken. */
static int plan_hold(const struct plan_context *context, struct plan_held stages[STAGE_KINDS])
{
    const struct architecture *model = context->setting->model;
    const struct plan_layout *layout = context->layout;
    const struct plan_cut cut = plan_cut(context);
    const struct layer_kind *last = &model->kinds[model->kind_count - 1];
    const double further =
        context->setting->predicts_further ? (double)model->prediction_layers : 0.0;
    const double joined = 2.0 * (double)model->hidden_size * (double)model->hidden_size;
    const double output = (double)model->output_matrix;
    const double embedding = (double)(model->token_embedding + model->position_embedding +
                                      model->other_embedding + model->patch_matrix);
    const bool is_alone = layout->pipeline == 1;
    const double ends = (double)(model->final_norm + model->transform_matrix + model->output_other +
                                 model->head_matrix + model->head_other) +
                        (is_alone ? embedding : 0.0) + (is_alone && model->is_tied ? 0.0 : output);
    struct plan_parameters all = {0.0, 0.0};
    int count = 0;

    for (int i = 0; i < model->kind_count; i++) {
        all.dense += (double)model->kinds[i].count * plan_layer_parameters(&model->kinds[i]);
        all.experts += (double)model->kinds[i].count * plan_expert_parameters(&model->kinds[i]);
    }
    stages[count++] = (struct plan_held){
        .layers = cut.last,
        .before = (double)layout->pipeline - 1.0,
        .logits = output / (double)model->hidden_size / (double)layout->tensor,
        .parameters = {further * (plan_layer_parameters(last) + joined) + ends,
                       further * plan_expert_parameters(last)},
    };
    if (layout->pipeline > 1)
        stages[count++] = (struct plan_held){.layers = cut.first, .parameters = {embedding, 0.0}};
    if (layout->pipeline > 2)
        stages[count++] = (struct plan_held){
            .layers = cut.middle,
            .before = 1.0,
            .parameters = plan_middle_parameters(context, cut.middle, all),
        };
    for (int i = 0; i < count; i++) {
        struct plan_parameters *of = &stages[i].parameters;
        double share = i == STAGE_KINDS - 1 ? 0.0 : stages[i].layers / (double)model->layers;

        of->dense = (of->dense + share * all.dense) / (double)layout->tensor;
        of->experts = (of->experts + share * all.experts) / (double)layout->expert;
    }
    return count;
}

/* What is done once a step, gradients and the optimizer, waits for the stage that has the most
 * parameters, which need not be the one that has the least memory left. */
struct plan_parameters plan_local_parameters(const struct plan_context *context)
{
    struct plan_held stages[STAGE_KINDS];
    int count = plan_hold(context, stages);
    struct plan_parameters most = stages[0].parameters;

    for (int i = 1; i < count; i++)
        if (stages[i].parameters.dense + stages[i].parameters.experts > most.dense + most.experts)
            most = stages[i].parameters;
    return most;
}

/* Columns that are kept between the matrices of a layer's feed-forwards: of what is computed again
 * none, or without the activation's result. */
static double plan_kept_middle(const struct plan_context *context, const struct layer_kind *kind,
                               unsigned again)
{
    const struct architecture *model = context->setting->model;
    double copies = (model->is_gated || kind->experts > 0 ? 3.0 : 2.0) +
                    (model->is_gated && context->setting->is_eager ? 1.0 : 0.0);
    double dense = again & PLAN_DENSE_FEED ? 0.0 : plan_feed_size(model, kind->feed_matrix);
    double shared =
        again & (PLAN_SHARED_EXPERTS | PLAN_MOE) ? 0.0 : plan_feed_size(model, kind->shared_matrix);
    double routed = again & PLAN_MOE ? 0.0 : (double)kind->experts_per_token;
    double of_experts = copies - (again & PLAN_MOE_ACTIVATION ? 1.0 : 0.0);

    return (dense + shared) * copies +
           routed * plan_feed_size(model, kind->expert_matrix) * of_experts;
}

/* Bytes of a hidden column that a norm keeps beside its input and its result where no kernel is
 * fused for it: it has both its input and what it normalizes in 32 bits, as transformers' norms do
 * with the residual that autocast leaves in 32 bits. */
static double plan_norm_bytes(const struct plan_context *context, unsigned again)
{
    return context->setting->is_eager && !(again & PLAN_NORMS) ? 8.0 - context->element : 0.0;
}

/* Of one micro-batch, as the loss needs them: as they are computed and in 32 bits; without a fused
 * kernel the softmax, its gradient and that of the logits, each in 32 bits. */
static double plan_logit_bytes(const struct plan_context *context)
{
    return context->setting->is_eager ? 12.0 : context->element + 4.0;
}

/* PyTorch's gradients are made in the backward, while activations go, and are gone before the next
 * forward: at its most there is one or the other. Those of several micro-batches stay, and so do
 * the buckets that are reduced among devices. */
static bool plan_makes_gradients_late(const struct plan_context *context)
{
    const struct plan_layout *layout = context->layout;
    int64_t replicas = layout->data * layout->context;

    return context->setting->is_eager && layout->pipeline == 1 &&
           context->setting->batch == layout->data * layout->micro &&
           (replicas == 1 || layout->zero >= 3);
}

/* Inputs of products and norms; what a mask or a statistic adds is little. Korthikanti
 * et al. (2022) give the same 34 bytes a token and hidden column, with dropout's masks. */
static double plan_layer_activations(const struct plan_context *context,
                                     const struct layer_kind *kind)
{
    const struct plan_setting *setting = context->setting;
    double hidden = (double)setting->model->hidden_size;
    double tensor = (double)context->layout->tensor;
    double split = setting->splits_sequence ? tensor : 1.0;
    bool is_selective = context->layout->recompute == RECOMPUTE_SELECTIVE;
    unsigned again = !is_selective         ? 0
                     : setting->recomputed ? setting->recomputed
                                           : PLAN_CORE_ATTENTION;
    double routed = again & PLAN_MOE ? 0.0 : (double)kind->experts_per_token;
    double scores =
        setting->attention == PLAN_UNFUSED && !(again & PLAN_CORE_ATTENTION)
            ? (2.0 * context->element + 1.0) * (double)kind->heads * (double)setting->sequence
            : 0.0;
    bool is_made_again = (again & PLAN_LATENT_UP) != 0 && kind->latent_up > 0;
    double queries = is_made_again ? 0.0 : plan_query_columns(kind);

    if (again & PLAN_OPERATORS)
        return plan_kept_by_operators(context, kind);
    if (context->layout->recompute == RECOMPUTE_FULL)
        return fmax(context->element, setting->is_eager ? 4.0 : 0.0) * context->tokens * hidden /
               split;
    return context->tokens * ((context->element * ((again & PLAN_NORMS ? 3.0 : 5.0) + routed) +
                               2.0 * plan_norm_bytes(context, again)) *
                                  hidden / split +
                              (context->element * (plan_kept_middle(context, kind, again) +
                                                   queries + plan_result_columns(kind)) +
                               scores) /
                                  tensor);
}

/* Gradients of the layer at work: of what goes in and comes out, which all devices of a tensor
 * group hold whole whether or not they split the sequence, and between the matrices of its
 * feed-forwards. */
static double plan_working_gradients(const struct plan_context *context,
                                     const struct layer_kind *kind)
{
    return context->element * context->tokens *
           (2.0 * (double)context->setting->model->hidden_size +
            plan_kept_middle(context, kind, 0) / (double)context->layout->tensor);
}

/* Micro-batches whose activations a stage holds at once, in layers' worth of a stage: one fewer
 * for each stage before it, or interleaved two chunks' fewer (Narayanan et al. 2021). */
static double plan_held_micro_batches(const struct plan_context *context, double before)
{
    const struct plan_layout *layout = context->layout;
    double stages = (double)layout->pipeline;
    double batches = (double)context->setting->batch / (double)(layout->data * layout->micro);
    double held = stages - before;

    if (layout->chunks > 1)
        held = stages + (stages - 1.0 - 2.0 * before) / (double)layout->chunks;
    return fmin(held, batches);
}

/* Of one micro-batch in all layers, and what the layer at work has beside. */
struct plan_kept_activations {
    double all;
    double working;
};

/* Full recomputation keeps a layer's input and needs one layer whole while it is recomputed, and so
 * does that by operators. The backward of any has its gradients beside. */
static struct plan_kept_activations plan_kept(const struct plan_context *context)
{
    const struct architecture *model = context->setting->model;
    const struct plan_layout *layout = context->layout;
    struct plan_layout without = *layout;
    struct plan_context working = *context;
    double share = plan_recomputed_share(context->setting, layout);
    bool is_whole_again = layout->recompute == RECOMPUTE_FULL ||
                          (layout->recompute == RECOMPUTE_SELECTIVE &&
                           (context->setting->recomputed & PLAN_OPERATORS) != 0);
    double largest = 0.0;
    double gradients = 0.0;
    double all = 0.0;

    without.recompute = RECOMPUTE_NONE;
    working.layout = &without;
    for (int i = 0; i < model->kind_count; i++) {
        double whole = plan_layer_activations(&working, &model->kinds[i]);
        double kept = plan_layer_activations(context, &model->kinds[i]);

        all += (double)model->kinds[i].count * (share * kept + (1.0 - share) * whole);
        largest = fmax(largest, whole - (layout->recompute == RECOMPUTE_FULL ? 0.0 : kept));
        gradients = fmax(gradients, plan_working_gradients(context, &model->kinds[i]));
    }
    all *= 1.0 - (double)context->setting->offloaded_layers / (double)model->layers;
    return (struct plan_kept_activations){all, gradients + (is_whole_again ? largest : 0.0)};
}

/* Parameters of the largest layer, as one device works on them. */
static double plan_largest_layer(const struct plan_context *context)
{
    const struct architecture *model = context->setting->model;
    double largest = 0.0;

    for (int i = 0; i < model->kind_count; i++)
        largest = fmax(largest, plan_local_layer(context, &model->kinds[i]));
    return largest;
}

/* Bytes a parameter of Adam: two moments, and of weights in 16 bits a copy in 32. */
static double plan_optimizer_bytes_kept(const struct plan_context *context)
{
    return context->element > 2.0 ? 2.0 * context->element : 12.0;
}

/* Mixed precision with Adam: 2 bytes weight, gradients of 2 or 4, 12 of optimizer (32-bit copy
 * and two moments), as Rajbhandari et al. 2020 count 16 + K; weights of 32 bits have no copy.
 * `least` is what the same run may take with savings that frameworks offer. */
static struct plan_memory plan_memory_of_stage(const struct plan_context *context,
                                               struct plan_held held,
                                               struct plan_kept_activations kept)
{
    const struct plan_setting *setting = context->setting;
    const struct plan_layout *layout = context->layout;
    double all = held.parameters.dense + held.parameters.experts;
    double shard =
        held.parameters.dense / (double)plan_shards(context, plan_replicas(layout)).size +
        held.parameters.experts / (double)plan_shards(context, plan_expert_replicas(layout)).size;
    bool is_whole = plan_keeps_whole(setting, layout);
    double states = layout->zero >= 1 ? shard : all;
    double logits = plan_logit_bytes(context) * context->tokens * held.logits;
    /* PyTorch's are, before the first layer's backward begins; of fused ones none was measured. */
    double gone = setting->is_eager ? logits : 0.0;
    struct plan_memory memory = {
        .weights = context->element * (layout->zero >= 3 && !is_whole ? shard : all),
        .gradients =
            (double)setting->gradient_bytes * (layout->zero >= 2 && !is_whole ? shard : all),
        .optimizer = plan_optimizer_bytes_kept(context) * states,
        .activations = fmax(kept.working - gone, 0.0) +
                       kept.all * held.layers / (double)setting->model->layers *
                           plan_held_micro_batches(context, held.before),
    };
    /* The optimizer reads gradients of 16 bits from a copy in 32, when the activations are gone:
     * Megatron's logs of 2021 have 20 bytes a parameter of it, its README as many. FSDP's weights
     * are themselves in 32 bits. */
    double copy = setting->gradient_bytes < 4 && layout->zero < 3 ? 4.0 * states : 0.0;

    /* Gradients in 16 bits, moments in 16 bits without a copy of the weights, the loss in pieces.
     */
    memory.least = memory.weights + memory.gradients * 2.0 / (double)setting->gradient_bytes +
                   4.0 * states + memory.activations * 0.6;
    if (plan_makes_gradients_late(context))
        memory.gradients = fmax(memory.gradients - memory.activations - logits, 0.0);
    memory.other = RUNTIME_BYTES + fmax(logits, copy - memory.activations);

    /* FSDP holds a layer's gathered weights, and those of the next. */
    if (layout->zero >= 3 && !is_whole && shard < all)
        memory.other += 2.0 * context->element * plan_largest_layer(context);
    memory.total =
        memory.weights + memory.gradients + memory.optimizer + memory.activations + memory.other;
    return memory;
}

struct plan_memory plan_memory(const struct plan_setting *setting, const struct plan_layout *layout)
{
    struct plan_context context = plan_context_of(setting, layout);
    struct plan_held stages[STAGE_KINDS];
    int count = plan_hold(&context, stages);
    struct plan_kept_activations kept = plan_kept(&context);
    struct plan_memory fullest = {.total = 0.0};

    for (int i = 0; i < count; i++) {
        struct plan_memory memory = plan_memory_of_stage(&context, stages[i], kept);

        if (memory.total > fullest.total)
            fullest = memory;
    }
    return fullest;
}
