/* A planned step: passes of all micro-batches, as the schedule lays them, and what comes after. */
#include "cost/architectures/architecture_cost.h"
#include "cost/plan/plan_layer.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Of the backward, the share behind which gradients can hide: the first layers' come last; and of
 * the forward, that behind which weights can be gathered: it begins with the first layers. */
static const double HIDING_SHARE = 0.8;
/* Bytes that the optimizer reads and writes for a parameter: gradient, weights in 32 and 16 bits,
 * two moments, and the gradient once more for its norm. */
static const double OPTIMIZER_BYTES = 42.0;
/* Its launches, and what a step does besides: loss scale, norms, the log's synchronization. */
static const double STEP_SECONDS = 8e-3;
/* What eight of ten of the compared runs took lies between these, as a share of the plan, of
 * published runs as of vTrain's (docs/plan.md); of models with experts; of TPUs; and of any where
 * the nearest run of their source calibrates them. Of devices that no run was compared on it is
 * that of the others, and said to be. */
struct plan_interval {
    double low;
    double high;
    const char *runs;
};
static const char of_compared[] = "eight of ten compared runs lie between";
static const struct plan_interval of_dense = {0.88, 1.13, of_compared};
static const struct plan_interval of_experts = {0.94, 1.32, of_compared};
static const struct plan_interval of_tpus = {0.75, 1.25,
                                             "eight of ten compared runs of TPUs lie between"};
static const struct plan_interval of_calibrated = {0.90, 1.10, of_compared};

static bool plan_compared_device(const struct device_peak *device)
{
    static const char *const compared[] = {"Ampere", "Hopper", "Blackwell"};

    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++)
        if (strcmp(device->architecture, compared[i]) == 0)
            return true;
    return false;
}

/* A model with experts errs otherwise than a dense one: how its tokens are routed, exchanged and
 * put in order changes from release to release of a framework, mostly for the worse of a plan. */
static struct plan_interval plan_interval(const struct plan_setting *setting)
{
    struct plan_interval interval = of_dense;

    if (setting->calibration > 0.0)
        return of_calibrated;
    if (strcmp(setting->device->architecture, "TPU") == 0)
        return of_tpus;
    for (int i = 0; i < setting->model->kind_count; i++)
        if (setting->model->kinds[i].experts > 0)
            interval = of_experts;
    if (!plan_compared_device(setting->device))
        interval.runs = "eight of ten compared runs lie between, none on such a device";
    return interval;
}

static const struct {
    const char *key, *title, *limit;
} account_texts[] = {
#define PLAN_ACCOUNT(id, key, title, limit) [PLAN_##id] = {key, title, limit},
#include "cost/plan/plan_account_list.def"
#undef PLAN_ACCOUNT
};

const char *plan_account_key(enum plan_account account)
{
    return account_texts[account].key;
}

const char *plan_account_title(enum plan_account account)
{
    return account_texts[account].title;
}

const char *plan_account_limit(enum plan_account account)
{
    return account_texts[account].limit;
}

const char *plan_module_name(int place)
{
    static const char *const names[] = {
#define PLAN_MODULE(id, name, needs) [PLAN_##id##_PLACE] = name,
#include "cost/plan/plan_module_list.def"
#undef PLAN_MODULE
    };

    return names[place];
}

double plan_recomputed_share(const struct plan_setting *setting, const struct plan_layout *layout)
{
    return layout->recompute == RECOMPUTE_FULL && setting->recomputed_share > 0.0
               ? setting->recomputed_share
               : 1.0;
}

/* The default of torchtitan, fsdp.py, get_fsdp_reshard_after_forward_policy ("to avoid
 * per-microbatch all-gathers", in December 2024 in parallelize_llama.py), and of PyTorch's
 * pipelines for gradients: stage.py lets no micro-batch but the last scatter them. */
bool plan_keeps_whole(const struct plan_setting *setting, const struct plan_layout *layout)
{
    return layout->zero >= 3 && layout->pipeline > 1 && !setting->gathers_each_pass;
}

int64_t plan_devices(const struct plan_layout *layout)
{
    return layout->tensor * layout->pipeline * layout->context * layout->data;
}

/* Of one kind of parameters, gradients and weights as a step sends them. */
struct plan_exchanged {
    double reduced;
    double gathered;
};

/* What one broadcast among nodes takes besides its bytes, where each device sends its shard in
 * turn. From InternEvo's runs of a 7B model with --zero 1 over 64 to 1,024 devices. */
static const double BROADCAST_SECONDS = 2.8e-3;

static double plan_broadcast_seconds(const struct plan_context *context, struct plan_group shards)
{
    bool is_in_node = shards.size * shards.stride <= context->setting->node;

    return context->setting->broadcasts_weights && !is_in_node
               ? BROADCAST_SECONDS * (double)shards.size
               : 0.0;
}

/* Without shards, or where only the optimizer knows of them, gradients are all-reduced. With them
 * they are scattered, reduced among the devices of the same shard, and weights gathered in 16 bits;
 * by ZeRO 3 layer by layer, in plan_layer.c. */
static struct plan_exchanged plan_exchanged(const struct plan_context *context,
                                            struct plan_group replicas, double parameters)
{
    double bytes = (double)context->setting->gradient_bytes * parameters;
    struct plan_group shards = plan_shards(context, replicas);
    double gathered = 0.0;

    bool is_by_layer =
        context->layout->zero >= 3 && !plan_keeps_whole(context->setting, context->layout);

    if (parameters <= 0.0 || is_by_layer)
        return (struct plan_exchanged){0.0, 0.0};
    if (context->layout->zero > 0)
        gathered = plan_collective_seconds(context, PLAN_ALL_GATHER,
                                           fmin(context->element * parameters, bytes), shards) +
                   plan_broadcast_seconds(context, shards);
    if (context->layout->zero == 0 || context->setting->reduces_whole)
        return (struct plan_exchanged){
            plan_collective_seconds(context, PLAN_ALL_REDUCE, bytes, replicas), gathered};
    return (struct plan_exchanged){
        plan_collective_seconds(context, PLAN_ALL_GATHER, bytes, shards) +
            plan_collective_seconds(context, PLAN_ALL_REDUCE, bytes / (double)shards.size,
                                    plan_shard_copies(context, replicas)),
        gathered};
}

/* What is seen of a collective behind the work of one micro-batch. */
static double plan_seen_seconds(const struct plan_context *context, double seconds,
                                const struct plan_pass *work)
{
    double hidden = HIDING_SHARE * plan_pass_seconds(work) / (double)context->layout->pipeline;

    return fmax(seconds - hidden, 0.15 * seconds);
}

/* Sharded, gradients are scattered behind the backward, which is half of an all-reduce, and weights
 * gathered in 16 bits after the optimizer: only the next forward can hide that. */
static void plan_add_gradients(const struct plan_context *context, struct plan_pass *step,
                               const struct plan_passes *layers)
{
    const struct plan_setting *setting = context->setting;
    const struct plan_layout *layout = context->layout;
    struct plan_parameters local = plan_local_parameters(context);
    struct plan_exchanged dense = plan_exchanged(context, plan_replicas(layout), local.dense);
    struct plan_exchanged experts =
        plan_exchanged(context, plan_expert_replicas(layout), local.experts);
    double reduced = dense.reduced + experts.reduced;
    double gathered = dense.gathered + experts.gathered;

    /* Whole gradients are scattered behind the last backward, weights gathered before the first
     * micro-batch's layers, each behind the one before. */
    bool is_whole = plan_keeps_whole(setting, layout);

    if (setting->hides_gradients && !is_whole)
        reduced = plan_seen_seconds(context, reduced, &layers->backward);
    if (setting->hides_weights || is_whole)
        gathered = plan_seen_seconds(context, gathered, &layers->forward);
    plan_pass_charge(step, PLAN_GRADIENTS, reduced);
    plan_pass_charge(step, PLAN_SHARDS, gathered);
    if (context->layout->pipeline > 1 && context->setting->model->is_tied) {
        struct plan_group ends = {2, context->layout->tensor * context->layout->context *
                                         context->layout->data};

        plan_pass_charge(
            step, PLAN_GRADIENTS,
            plan_collective_seconds(context, PLAN_ALL_REDUCE,
                                    (double)(context->setting->gradient_bytes *
                                             context->setting->model->token_embedding) /
                                        (double)context->layout->tensor,
                                    ends));
    }
}

/* An optimizer's step is bound by memory: bytes of the parameters that a device holds, with
 * their states. ZeRO 1 and on share them out; experts over their own replicas. */
static double plan_optimizer_bytes(const struct plan_context *context)
{
    const struct plan_layout *layout = context->layout;
    struct plan_group dense = plan_shards(context, plan_replicas(layout));
    struct plan_group experts = plan_shards(context, plan_expert_replicas(layout));
    struct plan_parameters local = plan_local_parameters(context);
    double parameters = local.dense / (layout->zero >= 1 ? (double)dense.size : 1.0) +
                        local.experts / (layout->zero >= 1 ? (double)experts.size : 1.0);

    return OPTIMIZER_BYTES * parameters;
}

/* Each micro-batch waits twice for its neighbors: forward for its input, backward for its gradient.
 * Of a tensor that all devices of a tensor group hold, each sends its part through its own card,
 * and the parts are gathered over the links (Narayanan et al. 2021, 4.1; DeepSpeed's pipelines,
 * too). */
static double plan_stage_seconds(const struct plan_context *context)
{
    const struct plan_layout *layout = context->layout;
    struct plan_group group = {2, layout->tensor * layout->context * layout->data};
    struct plan_group tensors = {layout->tensor, 1};
    double bytes =
        context->element * context->tokens * (double)context->setting->model->hidden_size;
    double seconds =
        plan_collective_seconds(context, PLAN_SEND, bytes / (double)layout->tensor, group);

    if (layout->pipeline == 1)
        return 0.0;
    if (!context->setting->splits_sequence)
        seconds += plan_collective_seconds(context, PLAN_ALL_GATHER, bytes, tensors);
    return 2.0 * (double)layout->chunks * seconds;
}

/* Interleaved, a stage sends one chunk's result while it works on another's, but where nothing is
 * to overlap. Of sends beside work a share is seen. */
static double plan_seen_sends(const struct plan_context *context, double work)
{
    double all = plan_stage_seconds(context);

    if (context->layout->chunks == 1 || !context->setting->hides_gradients)
        return all;
    return fmax(all - work, 0.15 * all);
}

/* Micro-batches follow one another through the fullest stage; the first fills the pipeline and the
 * last empties it, in pieces as long as a chunk. Narayanan et al. (2021). Of stages that leave
 * gradients of weights for then, each fills its part of the bubble with them, and waits the less
 * for those behind it: (p - 1)(F + B - W) in place of (p - 1)(F + B + W), with B of inputs alone,
 * in the same memory. ZB-H1 of Qi et al. (2023), table 2. */
static void plan_add_bubble(const struct plan_context *context, struct plan_pass *step,
                            double batches, const struct plan_pass *layers,
                            const struct plan_pass *ends)
{
    const struct plan_layout *layout = context->layout;
    double stages = (double)layout->pipeline;
    double count = (double)context->setting->model->layers;
    struct plan_cut cut = plan_cut(context);
    double of_layers = plan_pass_seconds(layers);
    double of_ends = plan_pass_seconds(ends);
    double largest = cut.middle / count * of_layers;
    double last = cut.last / count * of_layers + of_ends;
    double mean = (of_layers + of_ends) / stages;
    double slowest = fmax(fmax(largest, last), mean);
    double one_through = of_layers + of_ends - mean;
    double delayed = 2.0 * (stages - 1.0) / stages * (layers->weights + ends->weights);

    if (context->setting->delays_weights)
        one_through = fmax(one_through - delayed, 0.0);
    if (layout->pipeline == 1)
        return;
    plan_pass_charge(step, PLAN_BUBBLE,
                     (batches - 1.0) * (slowest - mean) + one_through / (double)layout->chunks +
                         (stages - 1.0) * plan_stage_seconds(context) / (double)layout->chunks);
    plan_pass_charge(step, PLAN_STAGES, batches * plan_seen_sends(context, mean));
}

/* By a run like this, the step takes `calibration` times as long: FLOPs at the peak are what they
 * are, all else follows. No step takes less than they do. */
static void plan_calibrate(struct plan_pass *step, double calibration)
{
    double useful = step->accounts[PLAN_USEFUL];
    double before = plan_pass_seconds(step);
    double rest = fmax(calibration * before - useful, 0.0) / fmax(before - useful, DBL_MIN);

    if (calibration <= 0.0)
        return;
    for (int i = 0; i < PLAN_ACCOUNT_COUNT; i++)
        step->accounts[i] *= i == PLAN_USEFUL ? 1.0 : rest;
    step->again_streamed *= rest;
}

/* Half of attention's core, which selective recomputation is of: queries by keys, not by values. */
static double plan_rescored_flops(const struct plan_setting *setting)
{
    struct convention_setting core = {setting->sequence, RECOMPUTE_SELECTIVE};
    struct convention_setting none = {setting->sequence, RECOMPUTE_NONE};

    return setting->attention == PLAN_UNFUSED
               ? 0.0
               : 0.5 * (double)setting->batch * (double)setting->sequence *
                     (hardware_flops(setting->model, core) - hardware_flops(setting->model, none));
}

/* Layers are shared by the stages, ends (embedding, logits, loss) belong to the first and
 * last; a step is the work of all micro-batches on one stage, then the bubble, the gradients
 * that nothing hides, and the optimizer. Useful FLOPs are three forwards: the backward is
 * twice the forward (PaLM, appendix B). */
struct plan_outcome plan_step(const struct plan_setting *setting, const struct plan_layout *layout)
{
    struct plan_context context = plan_context_of(setting, layout);
    struct plan_passes layers = plan_layers(&context);
    struct plan_passes ends = plan_ends(&context);
    struct plan_pass all_layers = layers.forward;
    struct plan_pass all_ends = ends.forward;
    struct plan_pass step = {.device = 0.0};
    double batches = (double)setting->batch / (double)(layout->data * layout->micro);
    /* Of the conventions, selective is attention's core; what is recomputed without it has its
     * FLOPs added below. */
    bool is_selective = layout->recompute == RECOMPUTE_SELECTIVE;
    bool has_core = setting->recomputed == 0 || (setting->recomputed & PLAN_CORE_ATTENTION) != 0;
    struct convention_setting counted = {
        setting->sequence, is_selective && !has_core ? RECOMPUTE_NONE : layout->recompute};
    struct convention_setting kept = {setting->sequence, RECOMPUTE_NONE};
    double share = plan_recomputed_share(setting, layout);
    struct architecture_cost cost = architecture_cost(setting->model, setting->sequence);
    double predicted = setting->predicts_further ? cost.prediction.forward_flops : 0.0;
    const struct plan_interval interval = plan_interval(setting);
    struct plan_outcome outcome = {.peak = context.peak};

    plan_pass_add(&all_layers, &layers.backward, 1.0);
    plan_pass_add(&all_ends, &ends.backward, 1.0);
    plan_pass_add(&step, &all_layers, batches / (double)layout->pipeline);
    plan_pass_add(&step, &all_ends, batches / (double)layout->pipeline);
    plan_add_bubble(&context, &step, batches, &all_layers, &all_ends);
    plan_add_gradients(&context, &step, &layers);
    outcome.optimizer_bytes = plan_optimizer_bytes(&context);
    outcome.step_end = STEP_SECONDS + outcome.optimizer_bytes / context.memory_rate;
    plan_pass_charge(&step, PLAN_OPTIMIZER, outcome.step_end);
    outcome.step_end = STEP_SECONDS / outcome.step_end;
    plan_calibrate(&step, setting->calibration);
    for (int i = 0; i < PLAN_ACCOUNT_COUNT; i++)
        outcome.accounts[i] = step.accounts[i];
    outcome.step_end *= outcome.accounts[PLAN_OPTIMIZER]; /* calibrated as the account is */
    outcome.in_16_bits = step.in_16_bits;
    outcome.again_useful = fmin(step.again_useful, step.accounts[PLAN_RECOMPUTE]);
    outcome.again_streamed =
        fmin(step.again_streamed, step.accounts[PLAN_RECOMPUTE] - outcome.again_useful);
    outcome.step = plan_pass_seconds(&step);
    outcome.low = outcome.step * interval.low;
    outcome.high = outcome.step * interval.high;
    outcome.interval_of = interval.runs;
    outcome.devices = (double)plan_devices(layout);
    outcome.tokens = (double)setting->batch * (double)setting->sequence;
    outcome.useful_flops = 3.0 * outcome.tokens * (cost.total.forward_flops + predicted);
    outcome.hardware_flops =
        outcome.tokens * (share * hardware_flops(setting->model, counted) +
                          (1.0 - share) * hardware_flops(setting->model, kept) +
                          (layout->recompute == RECOMPUTE_FULL ? 3.0 + share : 3.0) * predicted +
                          (is_selective ? plan_module_flops(setting) : 0.0));
    outcome.again_useful += plan_rescored_flops(setting) / outcome.devices /
                            (setting->attention == PLAN_FLASH_8 ? context.peak : context.peak_16);
    outcome.memory = plan_memory(setting, layout);
    return outcome;
}
