/* A recorded step in another layout: what two plans of its model, before and after, differ by. */
#include "cost/plan/plan.h"
#include "ledger/step_finder.h"
#include "sections/model/scaled_parts.h"

#include <math.h>

/* Accounts of a plan that a part of a recorded step stands for. */
static const enum plan_account layout_matrix[] = {PLAN_USEFUL, PLAN_RATE, PLAN_TILES,
                                                  PLAN_ATTENTION, PLAN_RECOMPUTE};
static const enum plan_account layout_other[] = {PLAN_MEMORY};
static const enum plan_account layout_gradients[] = {PLAN_GRADIENTS, PLAN_SHARDS};
/* What comes with a layout: its time is added, or taken away. */
static const enum plan_account layout_added[] = {PLAN_TENSOR, PLAN_CONTEXT, PLAN_EXPERT};
/* What the bubble is a share of: the work of a device on its micro-batches. */
static const enum plan_account layout_work[] = {
    PLAN_USEFUL, PLAN_RATE,      PLAN_TILES,  PLAN_ATTENTION, PLAN_MEMORY,
    PLAN_LAUNCH, PLAN_RECOMPUTE, PLAN_TENSOR, PLAN_CONTEXT,   PLAN_EXPERT};

static const struct {
    enum scaled_part part;
    const enum plan_account *accounts;
    size_t count;
} layout_parts[] = {
#define LAYOUT_PART(part, accounts)                            \
    {                                                          \
        part, accounts, sizeof(accounts) / sizeof(accounts)[0] \
    }
    LAYOUT_PART(SCALED_MATRIX, layout_matrix),
    LAYOUT_PART(SCALED_OTHER, layout_other),
    LAYOUT_PART(SCALED_COMMUNICATION, layout_gradients),
#undef LAYOUT_PART
};

#define LAYOUT_SUM(outcome, accounts) \
    layout_sum(outcome, accounts, sizeof(accounts) / sizeof(accounts)[0])

static double layout_sum(const struct plan_outcome *outcome, const enum plan_account *accounts,
                         size_t count)
{
    double seconds = 0.0;

    for (size_t i = 0; i < count; i++)
        seconds += outcome->accounts[accounts[i]];
    return seconds;
}

static int64_t layout_at_least_one(int64_t number)
{
    return number > 0 ? number : 1;
}

/* The recording tells devices and tensor parallelism; what it does not tell is 1. */
static struct plan_layout layout_recorded(const struct analysis_input *input,
                                          const struct scaled_steps *steps)
{
    int64_t devices = layout_at_least_one(steps->recorded_devices);
    int64_t tensor = layout_at_least_one(input->description->tensor_size);

    return (struct plan_layout){.tensor = tensor,
                                .pipeline = 1,
                                .chunks = 1,
                                .context = 1,
                                .expert = 1,
                                .data = layout_at_least_one(devices / tensor),
                                .micro = steps->change.to.samples,
                                .recompute = RECOMPUTE_NONE};
}

/* The batch follows the replicas. */
static struct plan_outcome layout_plan(struct plan_setting setting,
                                       const struct plan_layout *layout, int64_t passes)
{
    setting.batch = layout->data * layout->micro * passes;
    return plan_step(&setting, layout);
}

static int64_t layout_passes(const struct analysis_input *input)
{
    const struct described_step *step =
        describe_ledger_step(input->description, input->ledger, &input->ledger->steps[0]);

    return step ? layout_at_least_one(step->micro_batches) : 1;
}

/* What is not asked for stays as recorded; data parallelism takes the devices that are left. */
static bool layout_set(struct plan_setting *setting, struct plan_layout *to,
                       const struct scaled_request *request, const struct scaled_steps *steps,
                       struct error *error)
{
    int64_t devices = request->devices > 0 ? request->devices : steps->recorded_devices;
    int64_t of_replica;
    int64_t passes;

    if (request->tensor > 0)
        to->tensor = request->tensor;
    if (request->pipeline > 0)
        to->pipeline = request->pipeline;
    if (request->chunks > 0)
        to->chunks = request->chunks;
    of_replica = to->tensor * to->pipeline;
    /* One recorded device stands for each of those that a layout takes. */
    if (devices <= 1 && request->devices == 0)
        devices = of_replica;
    if (!plan_check_model(setting, to, error) || !plan_check_devices(to, devices, false, error))
        return false;
    to->data = devices / of_replica;
    passes = steps->layout_passes;
    setting->batch = request->step_batch > 0 ? request->step_batch : to->data * to->micro * passes;
    return plan_check(setting, to, error);
}

/* Recorded collectives are of the recorded layout only: those of another have to be planned,
 * which needs the model's sizes and the links' rates. */
static bool layout_needs(const struct analysis_input *input, const struct scaled_request *request,
                         const struct scaled_steps *steps, struct error *error)
{
    if (!request->model && !input->description->architecture)
        return error_set(error, ERROR_USAGE,
                         "%s needs the model's sizes, which this recording does not tell: give "
                         "--model config.json, too",
                         request->tensor > 0 ? "--tp" : "--pp");
    if (!steps->recorded_device)
        return error_set(error, ERROR_USAGE,
                         "%s needs a recording of a device that the table knows, for the rates of "
                         "its links: leave it out",
                         request->tensor > 0 ? "--tp" : "--pp");
    if (steps->change.to.samples <= 0 || steps->change.to.sequence <= 0)
        return error_set(error, ERROR_USAGE,
                         "%s needs the samples of a pass and their tokens, which this recording "
                         "does not tell: record it with 'flopledger run'",
                         request->tensor > 0 ? "--tp" : "--pp");
    return true;
}

/* Two plans of another model would change the recording by what it never had: FLOPs that differ by
 * more than a half tell, where all of the recorded ones are known. */
static bool layout_is_of_model(const struct analysis_input *input, const struct scaled_steps *steps,
                               const struct plan_outcome *planned, struct error *error)
{
    const struct pass_change *change = &steps->change;
    double tokens = (double)(change->from.samples * change->from.sequence) /
                    (double)(change->to.samples * change->to.sequence);
    double of_model = planned->hardware_flops / planned->devices * tokens;
    double recorded = input->efficiency->total.window_flops / (double)input->ledger->step_count;

    if (!efficiency_has_model(input->efficiency) || efficiency_is_least(input->efficiency) ||
        fabs(log2(of_model / recorded)) < 1.0)
        return true;
    return error_set(error, ERROR_USAGE,
                     "a training step of the model has %.3g FLOPs on a device, and a recorded one "
                     "%.3g: give the config.json of the model that was trained, as --model",
                     of_model, recorded);
}

/* By how much each part changes, of as many passes as were recorded: only the ratio of the two
 * plans scales what was measured, so that a plan's common error cancels. */
static void layout_set_factors(struct scaled_layout *layout, const struct plan_outcome *before,
                               const struct plan_outcome *after)
{
    for (size_t i = 0; i < sizeof layout_parts / sizeof layout_parts[0]; i++) {
        double was = layout_sum(before, layout_parts[i].accounts, layout_parts[i].count);
        double will = layout_sum(after, layout_parts[i].accounts, layout_parts[i].count);

        if (was > 0.0)
            layout->factors[layout_parts[i].part] = will / was;
        else if (layout_parts[i].part == SCALED_COMMUNICATION)
            layout->added_ns += 1e9 * will; /* of one replica: nothing was reduced */
    }
    /* Kernels of the optimizer follow the parameters of a device; what a step takes besides is on
     * the host, and recorded. */
    layout->factors[SCALED_OPTIMIZER] = after->optimizer_bytes / before->optimizer_bytes;
}

/* What a layout adds has no measured time and is added as planned; the bubble is a share of the
 * work of a device, and follows what that was measured to take. */
bool find_scaled_layout(struct scaled_layout *layout, const struct analysis_input *input,
                        const struct scaled_request *request, struct scaled_steps *steps,
                        struct error *error)
{
    struct plan_setting setting = {.splits_sequence = true, .hides_gradients = true};
    struct plan_layout from;
    struct plan_layout *to = &steps->layout;
    struct plan_outcome before;
    struct plan_outcome after;
    int64_t recorded_passes = layout_passes(input);

    *layout = (struct scaled_layout){.passes = 1.0};
    for (int i = 0; i < SCALED_PART_COUNT; i++)
        layout->factors[i] = 1.0;
    if (request->tensor == 0 && request->pipeline == 0)
        return true;
    if (!layout_needs(input, request, steps, error))
        return false;
    setting.model = request->model ? request->model : input->description->architecture;
    setting.device = request->device ? request->device : steps->recorded_device;
    setting.precision = PEAK_BF16;
    if (request->rates && measured_rates_check_device(request->rates, setting.device->name, NULL))
        setting.measured = request->rates;
    setting.sequence = steps->change.to.sequence;
    plan_defaults(&setting);
    from = layout_recorded(input, steps);
    *to = from;
    steps->layout_passes = recorded_passes;
    if (!layout_set(&setting, to, request, steps, error))
        return false;
    steps->layout_passes = setting.batch / (to->data * to->micro);
    layout->passes = (double)steps->layout_passes / (double)recorded_passes;
    before = layout_plan(setting, &from, recorded_passes);
    if (!layout_is_of_model(input, steps, &before, error))
        return false;
    after = layout_plan(setting, to, recorded_passes);
    layout_set_factors(layout, &before, &after);
    after = layout_plan(setting, to, steps->layout_passes);
    layout->work_added_ns = 1e9 * fmax(LAYOUT_SUM(&after, layout_added) -
                                           layout->passes * LAYOUT_SUM(&before, layout_added),
                                       0.0);
    layout->added_ns += layout->work_added_ns + 1e9 * after.accounts[PLAN_STAGES];
    layout->bubble = after.accounts[PLAN_BUBBLE] / LAYOUT_SUM(&after, layout_work);
    return true;
}

/* `exposed_ns`: communication that a recorded step shows. What a step takes once (the optimizer and
 * the exchange of gradients) stays; its passes are as many as asked for. */
void lay_out_scaled_steps(struct scaled_steps *steps, const struct scaled_layout *layout,
                          double exposed_ns)
{
    double once_ns =
        steps->after_ns[SCALED_OPTIMIZER] + exposed_ns * layout->factors[SCALED_COMMUNICATION];
    double work_ns = layout->passes * fmax(steps->planned_ns - once_ns, 0.0);

    if (steps->layout.pipeline == 0)
        return;
    for (int part = 0; part < SCALED_PART_COUNT; part++)
        if (part != SCALED_OPTIMIZER && part != SCALED_COMMUNICATION)
            steps->after_ns[part] *= layout->passes;
    steps->after_ns[SCALED_COMMUNICATION] += layout->added_ns;
    steps->after_ns[SCALED_BUBBLE] = layout->bubble * (work_ns + layout->work_added_ns);
    steps->planned_ns = once_ns + work_ns + layout->added_ns + steps->after_ns[SCALED_BUBBLE];
}
