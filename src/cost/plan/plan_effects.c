/* Which choices of a plan change nothing: told, so that nobody takes the plan for one of them. */
#include "cost/plan/plan.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* A switch of the setting, as it is where nobody asks, and where it changes a step. */
struct plan_switch {
    size_t offset;
    bool is_default;
    struct plan_idle_choice idle;
};

#define SWITCH(field, is_default_, option_, needs_)        \
    {                                                      \
        offsetof(struct plan_setting, field), is_default_, \
        {                                                  \
            option_, needs_                                \
        }                                                  \
    }

static const struct plan_switch switches[] = {
    SWITCH(splits_sequence, true, "--no-sequence-parallel", "tensor parallelism (--tp)"),
    SWITCH(hides_gradients, true, "--no-overlap",
           "gradients of --zero 0 to 2 that several devices reduce"),
    SWITCH(hides_weights, false, "--overlap-gather",
           "weights of --zero 1 or 2 that several devices gather"),
    SWITCH(gathers_each_pass, false, "--reshard", "--zero 3 in stages of a pipeline (--pp)"),
    SWITCH(reduces_whole, false, "--all-reduce-gradients",
           "gradients of --zero 1 or 2 that several devices reduce"),
    SWITCH(broadcasts_weights, false, "--broadcast-weights",
           "weights of --zero 1 or 2 that several nodes gather"),
    SWITCH(hides_tensor, false, "--overlap-tp", "collectives of tensor parallelism (--tp)"),
    SWITCH(hides_exchange, false, "--overlap-ep", "tokens that devices exchange (--ep)"),
    SWITCH(sends_copies, false, "--dispatcher alltoall", "tokens that devices exchange (--ep)"),
    SWITCH(rotates_apart, false, "--unfused-rotation", "attention"),
    SWITCH(fuses_experts, false, "--fused-experts", "experts"),
    SWITCH(crosses_by_one_card, false, "--no-pxn",
           "groups of every second or fourth device across nodes that share network cards"),
    SWITCH(delays_weights, false, "--zero-bubble", "stages of a pipeline (--pp)"),
    SWITCH(is_uneven, false, "--uneven-stages", "layers that --pp does not divide"),
};

static const struct plan_idle_choice modules[] = {
#define PLAN_MODULE(id, name, needs) {"--recompute-modules " name, needs},
#include "cost/plan/plan_module_list.def"
#undef PLAN_MODULE
};

/* Same to the last bit but for rounding: both are sums of the same terms in the same order. */
static bool plan_is_same(double one, double other)
{
    return fabs(one - other) <= 1e-12 * fmax(fabs(one), fabs(other));
}

/* A layout that is none without the choice needs it, which is an effect. Memory is held beside the
 * time: some choices are of it alone. */
static bool plan_changes_nothing(const struct plan_setting *other, const struct plan_layout *layout,
                                 const struct plan_outcome *outcome)
{
    struct plan_outcome without;

    if (!plan_check(other, layout, NULL))
        return false;
    without = plan_step(other, layout);
    for (int i = 0; i < PLAN_ACCOUNT_COUNT; i++)
        if (!plan_is_same(without.accounts[i], outcome->accounts[i]))
            return false;
    return plan_is_same(without.memory.total, outcome->memory.total) &&
           plan_is_same(without.memory.least, outcome->memory.least) &&
           plan_is_same(without.hardware_flops, outcome->hardware_flops);
}

/* A step has a few such choices; what is beyond the room is left untold, not written over. */
static void plan_add_idle(struct plan_idle_choices *idle, struct plan_idle_choice choice)
{
    if (idle->count < PLAN_IDLE_MAX)
        idle->choices[idle->count++] = choice;
}

/* One after the other, each beside all others as they were asked for: two that undo each other are
 * not told, as each has an effect. */
static void plan_add_idle_switches(struct plan_idle_choices *idle,
                                   const struct plan_setting *setting,
                                   const struct plan_layout *layout,
                                   const struct plan_outcome *outcome)
{
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        const struct plan_switch *choice = &switches[i];
        struct plan_setting other = *setting;
        bool asked;

        memcpy(&asked, (const char *)setting + choice->offset, sizeof asked);
        if (asked == choice->is_default)
            continue;
        memcpy((char *)&other + choice->offset, &choice->is_default, sizeof asked);
        if (plan_changes_nothing(&other, layout, outcome))
            plan_add_idle(idle, choice->idle);
    }
}

/* Each module without which the others do the same. */
static void plan_add_idle_modules(struct plan_idle_choices *idle,
                                  const struct plan_setting *setting,
                                  const struct plan_layout *layout,
                                  const struct plan_outcome *outcome)
{
    for (int i = 0; i < PLAN_MODULE_COUNT; i++) {
        struct plan_setting other = *setting;
        struct plan_layout plain = *layout;

        if (!(setting->recomputed & 1U << i) || layout->recompute != RECOMPUTE_SELECTIVE)
            continue;
        other.recomputed &= ~(1U << i);
        if (other.recomputed == 0) /* which would be the core of attention */
            plain.recompute = RECOMPUTE_NONE;
        if (plan_changes_nothing(&other, &plain, outcome))
            plan_add_idle(idle, modules[i]);
    }
}

/* Choices with a number or a name: held beside what is taken where they are not given. */
static void plan_add_idle_numbers(struct plan_idle_choices *idle,
                                  const struct plan_setting *setting,
                                  const struct plan_layout *layout,
                                  const struct plan_outcome *outcome)
{
    struct plan_setting usual = *setting;
    struct plan_setting other = *setting;
    struct plan_layout whole = *layout;

    usual.node = 0;
    usual.network = 0.0;
    plan_defaults(&usual);
    other.node = usual.node;
    if (setting->node != usual.node && plan_changes_nothing(&other, layout, outcome))
        plan_add_idle(idle, (struct plan_idle_choice){"--node", "more devices than a node has"});
    other = *setting;
    other.network = 2.0 * setting->network;
    if (!plan_is_same(setting->network, usual.network) &&
        plan_changes_nothing(&other, layout, outcome))
        plan_add_idle(idle, (struct plan_idle_choice){"--network", "groups across nodes"});
    other = *setting;
    other.attention = setting->attention == PLAN_FLASH ? PLAN_UNFUSED : PLAN_FLASH;
    if (setting->attention != PLAN_FLASH && plan_changes_nothing(&other, layout, outcome))
        plan_add_idle(idle, (struct plan_idle_choice){"--attention", "attention"});
    other = *setting;
    other.shard_devices = 0;
    if (setting->shard_devices > 0 && plan_changes_nothing(&other, layout, outcome))
        plan_add_idle(idle,
                      (struct plan_idle_choice){"--shard-devices", "more data ranks than that"});
    whole.recompute = RECOMPUTE_NONE;
    if (layout->recompute == RECOMPUTE_SELECTIVE && setting->recomputed == 0 &&
        plan_changes_nothing(setting, &whole, outcome))
        plan_add_idle(idle, (struct plan_idle_choice){"--recompute selective", "attention"});
    whole = *layout;
    whole.zero = 0;
    if (layout->zero > 0 && plan_changes_nothing(setting, &whole, outcome))
        plan_add_idle(idle, (struct plan_idle_choice){"--zero", "several data ranks"});
}

/* Each choice costs a plan of its own, a few microseconds: only those that were made are tried.
 * Whether a choice could matter is not reckoned by rules beside the plan's own, which would have to
 * follow them. */
struct plan_idle_choices plan_idle_choices_of(const struct plan_setting *setting,
                                              const struct plan_layout *layout,
                                              const struct plan_outcome *outcome)
{
    struct plan_idle_choices idle = {.count = 0};

    plan_add_idle_switches(&idle, setting, layout, outcome);
    plan_add_idle_modules(&idle, setting, layout, outcome);
    plan_add_idle_numbers(&idle, setting, layout, outcome);
    return idle;
}

/* A server's step is held beside those of one request, which reduce what larger ones do, too. */
static bool plan_serves_alike(const struct plan_setting *one, const struct plan_setting *other,
                              int64_t tensor, int64_t context)
{
    const struct plan_requests decode = {1, 1, context, true};
    const struct plan_requests prefill = {1, context, context, false};

    return plan_is_same(plan_serving_step(one, tensor, decode).seconds,
                        plan_serving_step(other, tensor, decode).seconds) &&
           plan_is_same(plan_serving_step(one, tensor, prefill).seconds,
                        plan_serving_step(other, tensor, prefill).seconds);
}

struct plan_idle_choices plan_idle_choices_of_server(const struct plan_setting *setting,
                                                     int64_t tensor, int64_t context)
{
    struct plan_idle_choices idle = {.count = 0};
    struct plan_setting usual = *setting;
    struct plan_setting other = *setting;

    usual.node = 0;
    usual.network = 0.0;
    plan_defaults(&usual);
    other.reduces_by_nccl = false;
    if (setting->reduces_by_nccl && plan_serves_alike(setting, &other, tensor, context))
        plan_add_idle(&idle, (struct plan_idle_choice){"--allreduce nccl",
                                                       "several devices of one node (--tp)"});
    other = *setting;
    other.node = usual.node;
    if (setting->node != usual.node && plan_serves_alike(setting, &other, tensor, context))
        plan_add_idle(&idle, (struct plan_idle_choice){"--node", "more devices than a node has"});
    other = *setting;
    other.network = 2.0 * setting->network;
    if (!plan_is_same(setting->network, usual.network) &&
        plan_serves_alike(setting, &other, tensor, context))
        plan_add_idle(&idle, (struct plan_idle_choice){"--network", "groups across nodes"});
    return idle;
}
