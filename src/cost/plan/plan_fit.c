/* Whether a model and its batch can be laid out so, and what comes nearest. */
#include "cost/plan/plan_parts.h"

/* The number nearest to `wanted` that divides `whole`. Outwards from what was wanted, the
 * smaller one first at equal distance. */
static int64_t plan_nearest_divisor(int64_t whole, int64_t wanted)
{
    if (wanted >= whole)
        return whole;
    for (int64_t apart = 0; apart < whole; apart++) {
        if (wanted > apart && whole % (wanted - apart) == 0)
            return wanted - apart;
        if (whole % (wanted + apart) == 0)
            return wanted + apart;
    }
    return 1;
}

int64_t plan_nearest_multiple(int64_t of, int64_t wanted)
{
    int64_t times = (wanted + of / 2) / of;

    return (times > 0 ? times : 1) * of;
}

/* Tensor parallelism cuts attention by heads; a model without heads (a state space) is not cut
 * there. */
bool plan_check_heads(const struct architecture *model, int64_t tensor, struct error *error)
{
    if (model->heads == 0 || model->heads % tensor == 0)
        return true;
    return error_set(error, ERROR_USAGE,
                     "--tp is %lld, which does not divide the %lld heads; the nearest that does is "
                     "%lld",
                     (long long)tensor, (long long)model->heads,
                     (long long)plan_nearest_divisor(model->heads, tensor));
}

/* The embedding and the logits may stand for a layer each, as Megatron lays out 126 or 70 layers.
 */
bool plan_divides_layers(const struct plan_setting *setting, int64_t parts)
{
    int64_t layers = setting->model->layers;

    return parts <= layers + 2 && (setting->is_uneven || layers % parts == 0 ||
                                   (layers + 1) % parts == 0 || (layers + 2) % parts == 0);
}

/* A divisor of the layers where one is near: it needs no explanation. Else, as of 61 layers, with
 * the ends. */
static int64_t plan_nearest_parts(const struct plan_setting *setting, int64_t wanted)
{
    int64_t plain = plan_nearest_divisor(setting->model->layers, wanted);

    for (int64_t apart = 0; apart < wanted && plain < wanted / 2; apart++)
        if (plan_divides_layers(setting, wanted - apart))
            return wanted - apart;
        else if (plan_divides_layers(setting, wanted + apart))
            return wanted + apart;
    return plain;
}

static bool plan_check_layers(const struct plan_setting *setting, const struct plan_layout *layout,
                              struct error *error)
{
    int64_t parts = layout->pipeline * layout->chunks;
    int64_t layers = setting->model->layers;

    if (plan_divides_layers(setting, parts))
        return true;
    return error_set(error, ERROR_USAGE,
                     "%s is %lld, which does not divide the %lld layers; the nearest that does is "
                     "%lld%s",
                     layout->chunks > 1 ? "--pp times --vp" : "--pp", (long long)parts,
                     (long long)layers, (long long)plan_nearest_parts(setting, parts),
                     parts <= layers ? ", or --uneven-stages lets stages differ by a layer" : "");
}

/* The global batch must be whole micro-batches of each replica; interleaving needs a multiple
 * of the stages, as Megatron's schedule asserts. */
static bool plan_check_batch(const struct plan_setting *setting, const struct plan_layout *layout,
                             struct error *error)
{
    int64_t at_once = layout->data * layout->micro;
    int64_t batches = setting->batch / at_once;

    if (setting->batch % at_once != 0)
        return error_set(error, ERROR_USAGE,
                         "--global-batch is %lld, which %lld samples (--dp %lld times "
                         "--micro-batch %lld) do not divide; the nearest that fits is %lld",
                         (long long)setting->batch, (long long)at_once, (long long)layout->data,
                         (long long)layout->micro,
                         (long long)plan_nearest_multiple(at_once, setting->batch));
    if (layout->chunks > 1 && batches % layout->pipeline != 0)
        return error_set(
            error, ERROR_USAGE,
            "--vp interleaves %lld micro-batch%s, which the %lld stages do not "
            "divide; the nearest --global-batch that fits is %lld",
            (long long)batches, batches == 1 ? "" : "es", (long long)layout->pipeline,
            (long long)plan_nearest_multiple(layout->pipeline * at_once, setting->batch));
    return true;
}

/* The nearest that fits is told, since numbers of experts are rarely guessed right. */
static bool plan_check_experts(const struct architecture *model, const struct plan_layout *layout,
                               struct error *error)
{
    int64_t of_stage = layout->tensor * layout->context * layout->data;
    int64_t experts = 0;

    for (int i = 0; i < model->kind_count; i++)
        if (model->kinds[i].experts > experts)
            experts = model->kinds[i].experts;
    if (layout->expert > 1 && experts == 0)
        return error_set(error, ERROR_USAGE,
                         "--ep is %lld, but the model has no experts: leave it out",
                         (long long)layout->expert);
    if (experts > 0 && experts % layout->expert != 0)
        return error_set(error, ERROR_USAGE,
                         "--ep is %lld, which does not divide the %lld experts; the nearest that "
                         "does is %lld",
                         (long long)layout->expert, (long long)experts,
                         (long long)plan_nearest_divisor(experts, layout->expert));
    if (of_stage % layout->expert != 0)
        return error_set(error, ERROR_USAGE,
                         "--ep is %lld, which does not divide the %lld devices of a stage; the "
                         "nearest that does is %lld",
                         (long long)layout->expert, (long long)of_stage,
                         (long long)plan_nearest_divisor(of_stage, layout->expert));
    return true;
}

/* What no layer of the model has is named by mistake. */
static bool plan_check_modules(const struct plan_setting *setting, struct error *error)
{
    static const struct {
        enum plan_module module;
        const char *what;
    } parts[] = {
        {PLAN_MOE_ACTIVATION, "moe_act is of routed experts"},
        {PLAN_MOE, "moe is of routed experts"},
        {PLAN_SHARED_EXPERTS, "shared_experts is of experts that every token meets"},
        {PLAN_DENSE_FEED, "mlp is of dense feed-forwards"},
        {PLAN_LATENT_UP, "mla_up_proj is of latent attention"},
        {PLAN_OPERATORS, "op is of layers of fused attention and a dense feed-forward alone"},
    };
    unsigned there = PLAN_CORE_ATTENTION | PLAN_NORMS |
                     (setting->attention == PLAN_UNFUSED ? 0U : PLAN_OPERATORS);

    if (setting->predicts_further && setting->model->prediction_layers == 0)
        return error_set(error, ERROR_USAGE,
                         "--mtp trains layers that predict further tokens, and this model has none "
                         "(num_nextn_predict_layers): leave it out");
    /* Asked for each layout of a search. */
    if (setting->recomputed == 0)
        return true;
    for (int i = 0; i < setting->model->kind_count; i++) {
        const struct layer_kind *kind = &setting->model->kinds[i];

        there |= (kind->experts > 0 ? PLAN_MOE | PLAN_MOE_ACTIVATION : 0U) |
                 (kind->shared_matrix > 0 ? PLAN_SHARED_EXPERTS : 0U) |
                 (kind->feed_matrix > 0 ? PLAN_DENSE_FEED : 0U) |
                 (kind->latent_up > 0 ? PLAN_LATENT_UP : 0U);
        if (setting->recomputed & PLAN_OPERATORS && !plan_has_plain_matmuls(setting->model, kind))
            there &= ~(unsigned)PLAN_OPERATORS;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (setting->recomputed & parts[i].module & ~there)
            return error_set(error, ERROR_USAGE,
                             "--recompute-modules: %s, which this model has not: leave it out",
                             parts[i].what);
    return true;
}

/* 2 * cp parts: causal attention is split so that each rank has an early and a late part, of
 * equal work together. */
bool plan_check_model(const struct plan_setting *setting, const struct plan_layout *layout,
                      struct error *error)
{
    if (layout->chunks > 1 && layout->pipeline == 1)
        return error_set(error, ERROR_USAGE,
                         "--vp is %lld, but there is one stage only: give --pp, or leave --vp out",
                         (long long)layout->chunks);
    if (layout->context > 1 && setting->sequence % (2 * layout->context) != 0)
        return error_set(error, ERROR_USAGE,
                         "--seq is %lld, of which --cp %lld does not make parts of equal work; the "
                         "nearest that fits is %lld",
                         (long long)setting->sequence, (long long)layout->context,
                         (long long)plan_nearest_multiple(2 * layout->context, setting->sequence));
    if (setting->offloaded_layers > setting->model->layers)
        return error_set(error, ERROR_USAGE,
                         "--offload-layers is %lld, but the model has %lld: give fewer",
                         (long long)setting->offloaded_layers, (long long)setting->model->layers);
    return plan_check_modules(setting, error) &&
           plan_check_heads(setting->model, layout->tensor, error) &&
           plan_check_layers(setting, layout, error);
}

/* What must divide is told with the nearest number that does: the reader wants a layout, not
 * the rule. */
bool plan_check_devices(const struct plan_layout *layout, int64_t devices, bool has_data,
                        struct error *error)
{
    int64_t of_replica = layout->tensor * layout->pipeline * layout->context;

    if (devices % of_replica != 0)
        return error_set(error, ERROR_USAGE,
                         "--tp times --pp times --cp is %lld, which does not divide the %lld "
                         "devices; the nearest number of devices that fits is %lld",
                         (long long)of_replica, (long long)devices,
                         (long long)plan_nearest_multiple(of_replica, devices));
    if (has_data && of_replica * layout->data != devices)
        return error_set(error, ERROR_USAGE,
                         "--devices is %lld, but --tp times --pp times --cp times --dp is %lld; "
                         "the --dp that fits is %lld",
                         (long long)devices, (long long)plan_devices(layout),
                         (long long)(devices / of_replica));
    return true;
}

/* Groups that share what ZeRO shards are equal. */
static bool plan_check_shards(const struct plan_setting *setting, const struct plan_layout *layout,
                              struct error *error)
{
    int64_t ranks = layout->data * layout->context;

    if (setting->shard_devices == 0 || ranks % setting->shard_devices == 0)
        return true;
    return error_set(error, ERROR_USAGE,
                     "--shard-devices is %lld, which does not divide the %lld ranks of --dp times "
                     "--cp; the nearest that does is %lld",
                     (long long)setting->shard_devices, (long long)ranks,
                     (long long)plan_nearest_divisor(ranks, setting->shard_devices));
}

bool plan_check(const struct plan_setting *setting, const struct plan_layout *layout,
                struct error *error)
{
    return plan_check_model(setting, layout, error) &&
           plan_check_experts(setting->model, layout, error) &&
           plan_check_batch(setting, layout, error) && plan_check_shards(setting, layout, error);
}
