/* All layouts of a model over a number of devices. */
#include "cost/plan/plan_search.h"

#include <math.h>
#include <string.h>

/* Larger ones win nothing that was ever published, and multiply what is tried. */
enum { CHUNKS_MAX = 16, CONTEXT_MAX = 64, MICRO_MAX = 1024, TOKENS_OF_PART = 256 };

/* The largest loss; useful time is none. */
enum plan_account plan_limit(const struct plan_outcome *outcome)
{
    enum plan_account most = PLAN_RATE;

    for (int i = 0; i < PLAN_ACCOUNT_COUNT; i++)
        if (i != PLAN_USEFUL && outcome->accounts[i] > outcome->accounts[most])
            most = (enum plan_account)i;
    return most;
}

/* Faster, then smaller. Equal within 1e-9, as sums in another order differ in the last bits. */
static bool plan_is_better(const struct plan_outcome *one, const struct plan_outcome *other)
{
    if (fabs(one->step - other->step) > 1e-9 * other->step)
        return one->step < other->step;
    return one->memory.total < other->memory.total;
}

static bool plan_is_smaller(const struct plan_outcome *one, const struct plan_outcome *other)
{
    return one->memory.total < other->memory.total;
}

typedef bool plan_order(const struct plan_outcome *one, const struct plan_outcome *other);

/* How a model is cut, and how many tokens a device has at once: four samples over two ranks are two
 * over one. What else a layout has (virtual stages, what is sharded) is worth the best of it only:
 * ten that differ by a thousandth tell nothing. */
static bool plan_is_cut_alike(const struct plan_layout *one, const struct plan_layout *other)
{
    return one->tensor == other->tensor && one->pipeline == other->pipeline &&
           one->expert == other->expert && one->recompute == other->recompute &&
           one->micro * other->context == other->micro * one->context;
}

/* Insertion into a short sorted list: thousands are tried, PLAN_KEPT are shown. One that is cut
 * alike and comes before stays in place of the candidate; one behind leaves its place. */
static void plan_keep(struct plan_kept *kept, const struct plan_candidate *candidate,
                      plan_order *is_before)
{
    size_t at = kept->count;
    size_t last = kept->count < PLAN_KEPT ? kept->count : PLAN_KEPT - 1; /* is overwritten */

    while (at > 0 && is_before(&candidate->outcome, &kept->candidates[at - 1].outcome))
        at--;
    for (size_t i = 0; i < kept->count; i++)
        if (plan_is_cut_alike(&kept->candidates[i].layout, &candidate->layout)) {
            if (i < at)
                return;
            last = i;
        }
    if (at == PLAN_KEPT)
        return;
    if (last == kept->count)
        kept->count++;
    memmove(&kept->candidates[at + 1], &kept->candidates[at], (last - at) * sizeof *candidate);
    kept->candidates[at] = *candidate;
}

/* A search on its way: what is laid out so far. */
struct plan_trial {
    struct plan_search *search;
    const struct plan_setting *setting;
    const struct plan_given *given;
    const struct plan_layout *fixed; /* that of `given` */
    int64_t devices;
    struct plan_layout layout;
    bool is_counted_only; /* whether there is a layout is all that is asked */
};

/* Recomputing attention's core, if no other part is said, saves nothing where its scores are not
 * kept. */
static bool plan_is_worth_trying(const struct plan_trial *trial, int recompute)
{
    if (trial->given->has_recompute)
        return recompute == (int)trial->fixed->recompute;
    return recompute != RECOMPUTE_SELECTIVE || trial->setting->attention == PLAN_UNFUSED ||
           trial->setting->recomputed != 0;
}

/* By how many times the device's memory a layout nearly fits. */
static const double NEARLY = 1.5;

/* Layouts too large are kept apart, by time as well: they say what more memory would bring. Nobody
 * finds several times as much, so that these are no answer. */
static void plan_try(struct plan_trial *trial)
{
    struct plan_candidate candidate = {.layout = trial->layout};
    double has = (double)trial->setting->device->memory_bytes;

    trial->search->planned++;
    if (trial->layout.pipeline > trial->search->stages)
        trial->search->stages = trial->layout.pipeline;
    if (trial->is_counted_only)
        return;
    candidate.outcome = plan_step(trial->setting, &trial->layout);
    if (has > 0.0 && candidate.outcome.memory.total > has) {
        plan_keep(&trial->search->smallest, &candidate, plan_is_smaller);
        if (candidate.outcome.memory.total <= NEARLY * has)
            plan_keep(&trial->search->too_large, &candidate, plan_is_better);
        return;
    }
    trial->search->fitting++;
    plan_keep(&trial->search->best, &candidate, plan_is_better);
}

/* With one rank of data and context there is nothing to shard over, so that only ZeRO 0 is
 * tried. */
static void plan_try_memory(struct plan_trial *trial)
{
    int first = trial->given->has_zero ? trial->fixed->zero : 0;
    int last = trial->given->has_zero ? trial->fixed->zero : 3;

    if (trial->layout.data * trial->layout.context == 1 && !trial->given->has_zero)
        last = 0;
    for (trial->layout.zero = first; trial->layout.zero <= last; trial->layout.zero++)
        for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute++) {
            trial->layout.recompute = (enum recompute)recompute;
            if (plan_is_worth_trying(trial, recompute) &&
                plan_check(trial->setting, &trial->layout, NULL))
                plan_try(trial);
        }
}

/* Where only whether there is a layout is asked, one is enough. */
static bool plan_is_answered(const struct plan_trial *trial)
{
    return trial->is_counted_only && trial->search->planned > 0;
}

/* All that divide the batch: 96 samples on 32 devices are passes of 3. */
static void plan_try_micro(struct plan_trial *trial)
{
    int64_t of_replica = trial->setting->batch / trial->layout.data;
    int64_t first = trial->fixed->micro > 0 ? trial->fixed->micro : 1;
    int64_t last = trial->fixed->micro > 0  ? trial->fixed->micro
                   : of_replica < MICRO_MAX ? of_replica
                                            : MICRO_MAX;

    if (trial->setting->batch % trial->layout.data != 0)
        return;
    for (trial->layout.micro = first; trial->layout.micro <= last; trial->layout.micro++)
        if (of_replica % trial->layout.micro == 0 && !plan_is_answered(trial))
            plan_try_memory(trial);
}

static int64_t plan_experts_of(const struct architecture *model)
{
    int64_t experts = 1;

    for (int i = 0; i < model->kind_count; i++)
        if (model->kinds[i].experts > experts)
            experts = model->kinds[i].experts;
    return experts;
}

/* Experts are spread over the ranks of one stage, and evenly: what does not divide them is no
 * layout. */
static void plan_try_expert(struct plan_trial *trial)
{
    int64_t experts = plan_experts_of(trial->setting->model);
    int64_t of_stage = trial->layout.tensor * trial->layout.context * trial->layout.data;
    int64_t fixed = trial->fixed->expert;

    for (int64_t expert = 1; expert <= experts && expert <= of_stage; expert++) {
        trial->layout.expert = fixed > 0 ? fixed : expert;
        if (of_stage % trial->layout.expert == 0 && experts % trial->layout.expert == 0)
            plan_try_micro(trial);
        if (fixed > 0)
            return;
    }
}

/* Of stages that may differ, chunks of whole layers. */
static bool plan_has_chunks(const struct plan_trial *trial)
{
    const struct plan_layout *layout = &trial->layout;
    int64_t of_stage = trial->setting->model->layers / layout->pipeline;

    if (trial->setting->is_uneven && trial->fixed->chunks == 0 && of_stage % layout->chunks != 0)
        return false;
    return plan_divides_layers(trial->setting, layout->pipeline * layout->chunks);
}

/* Virtual stages, as many as make equal parts of the layers. */
static void plan_try_chunks(struct plan_trial *trial)
{
    int64_t first = trial->fixed->chunks > 0 ? trial->fixed->chunks : 1;
    int64_t last = trial->fixed->chunks > 0 ? trial->fixed->chunks : CHUNKS_MAX;

    if (trial->layout.pipeline == 1 && trial->fixed->chunks == 0)
        last = 1;
    for (trial->layout.chunks = first; trial->layout.chunks <= last; trial->layout.chunks++)
        if (plan_has_chunks(trial))
            plan_try_expert(trial);
}

/* Only while a part of the sequence has TOKENS_OF_PART tokens: smaller ones cost more to exchange
 * than they save. What was given is tried all the same. */
static void plan_try_context(struct plan_trial *trial)
{
    int64_t left = trial->devices / trial->layout.tensor / trial->layout.pipeline;
    int64_t first = trial->fixed->context > 0 ? trial->fixed->context : 1;
    int64_t last = trial->fixed->context > 0 ? trial->fixed->context : CONTEXT_MAX;

    for (int64_t context = first; context <= last && context <= left; context++) {
        bool is_small = trial->setting->sequence / context < TOKENS_OF_PART;

        trial->layout.context = context;
        trial->layout.data = left / context;
        if (left % context != 0 || (is_small && context > first) ||
            (trial->fixed->data > 0 && trial->layout.data != trial->fixed->data))
            continue;
        plan_try_chunks(trial);
    }
}

/* Exhaustive over divisors: tensor ranks within a node that divide the heads, all stages that
 * divide the devices, of which plan_has_chunks leaves what the layers allow, then context, chunks,
 * experts, micro-batch, ZeRO and recomputation. Each is planned in microseconds, so some ten
 * thousand take less than a second, and none is pruned by a guess. */
static void plan_try_all(struct plan_trial *trial)
{
    const struct plan_layout *fixed = trial->fixed;
    const struct architecture *model = trial->setting->model;
    int64_t tensors = fixed->tensor > 0 ? fixed->tensor : trial->setting->node;
    int64_t stages = fixed->pipeline > 0 ? fixed->pipeline : model->layers;

    *trial->search = (struct plan_search){.planned = 0};
    tensors = tensors < trial->devices ? tensors : trial->devices;
    for (int64_t tensor = fixed->tensor > 0 ? fixed->tensor : 1; tensor <= tensors; tensor++)
        for (int64_t pipeline = fixed->pipeline > 0 ? fixed->pipeline : 1; pipeline <= stages;
             pipeline++) {
            trial->layout.tensor = tensor;
            trial->layout.pipeline = pipeline;
            if (trial->devices % (tensor * pipeline) == 0 && !plan_is_answered(trial) &&
                plan_check_heads(model, tensor, NULL))
                plan_try_context(trial);
        }
}

/* 61 layers, with the embedding for one more, are cut into 2 or 31 equal stages, and devices come
 * in neither 4 nor 16 of those: where there are so few, stages that differ by a layer are tried,
 * too. */
void plan_search(struct plan_search *search, const struct plan_setting *setting,
                 const struct plan_given *given, int64_t devices)
{
    enum { FEW_STAGES = 4 };
    struct plan_setting uneven = *setting;
    int64_t stages;
    struct plan_trial trial = {.search = search,
                               .setting = setting,
                               .given = given,
                               .fixed = &given->layout,
                               .devices = devices};

    plan_try_all(&trial);
    stages = search->stages;
    if (stages >= FEW_STAGES || search->planned == 0 || setting->is_uneven ||
        given->layout.pipeline > 0)
        return;
    uneven.is_uneven = true;
    trial.setting = &uneven;
    plan_try_all(&trial);
    search->is_uneven = search->stages > stages;
}

static bool plan_has_layout(struct plan_trial trial, int64_t devices, int64_t batch)
{
    struct plan_search search;
    struct plan_setting setting = *trial.setting;

    if (devices < 1 || batch < 1)
        return false;
    setting.batch = batch;
    trial.search = &search;
    trial.setting = &setting;
    trial.devices = devices;
    trial.is_counted_only = true;
    plan_try_all(&trial);
    return search.planned > 0;
}

/* How far is looked: by a node's devices and more, and by the samples that many have. */
enum { NEAREST_DEVICES = 256, NEAREST_BATCH = 4096 };

/* Fewer before more, as they are at hand. A sample for each device is a layout where nothing else
 * is given, however many they are. */
struct plan_nearest plan_search_nearest(const struct plan_setting *setting,
                                        const struct plan_given *given, int64_t devices)
{
    struct plan_trial trial = {.setting = setting, .given = given, .fixed = &given->layout};
    struct plan_nearest nearest = {.devices = 0};
    int64_t batch = setting->batch;
    int64_t of_each = plan_nearest_multiple(devices, batch);

    for (int64_t away = 1; away < NEAREST_DEVICES && nearest.devices == 0; away++)
        nearest.devices = plan_has_layout(trial, devices - away, batch)   ? devices - away
                          : plan_has_layout(trial, devices + away, batch) ? devices + away
                                                                          : 0;
    for (int64_t away = 1; away < NEAREST_BATCH && nearest.batch == 0; away++)
        nearest.batch = plan_has_layout(trial, devices, batch - away)   ? batch - away
                        : plan_has_layout(trial, devices, batch + away) ? batch + away
                                                                        : 0;
    if (nearest.batch == 0 && plan_has_layout(trial, devices, of_each))
        nearest.batch = of_each;
    return nearest;
}
