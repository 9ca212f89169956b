/* Recorded steps, planned with another batch, sequence or device. */
#include "base/core/array.h"
#include "base/core/large_array.h"
#include "cost/flops/count_flops.h"
#include "cost/flops/product_sizes.h"
#include "cost/plan/plan_operators.h"
#include "cost/plan/scaled_shapes.h"
#include "ledger/collective_call.h"
#include "ledger/step_finder.h"
#include "sections/model/scaled_parts.h"
#include "sections/model/trained_batch.h"
#include "sections/step/steps_replay.h"
#include "trace/recorder_words.h"

#include <math.h>
#include <string.h>

/* ---- times by shapes ---- */

enum { SHAPES_ROOM = 1 << 16 };

/* While factors are looked for; one of equal names and arguments. */
struct scaling {
    const struct analysis_input *input;
    const struct scaled_request *request;
    struct scaled_steps *steps;
    struct plan_setting from; /* of the two devices, for rates by shape */
    struct plan_setting to;
    double *of_cost; /* [cost_count]; 0: not asked yet */
    struct op_call call;
    struct scaled_layout layout;
    char *scaled; /* [SHAPES_ROOM] */
};

static const struct plan_layout one_device = {1, 1, 1, 1, 1, 1, 1, 0, RECOMPUTE_NONE};

static bool has_peak(const struct device_peak *device, enum peak_type type)
{
    return !device || device_peak_state(device, type) == PEAK_KNOWN;
}

/* The number format that most of the recorded matrix time is of: devices differ more in 32 bits
 * than in 16. Of what is not known, or has no peak on one of both devices, 16 bits. */
static enum peak_type scaling_precision(const struct scaling *scaling,
                                        const struct device_peak *from,
                                        const struct device_peak *to)
{
    const struct precision_total *totals = scaling->input->efficiency->precisions;
    enum peak_type most = PEAK_TYPE_COUNT;

    for (int type = 0; type < PEAK_TYPE_COUNT; type++)
        if (totals[type].kernel_ns > (most < PEAK_TYPE_COUNT ? totals[most].kernel_ns : 0) &&
            has_peak(from, (enum peak_type)type) && has_peak(to, (enum peak_type)type))
            most = (enum peak_type)type;
    return most < PEAK_TYPE_COUNT                                 ? most
           : has_peak(from, PEAK_BF16) && has_peak(to, PEAK_BF16) ? PEAK_BF16
           : has_peak(from, PEAK_FP16) && has_peak(to, PEAK_FP16) ? PEAK_FP16
                                                                  : PEAK_FP32;
}

/* Without a device of the table nothing is set: such a setting is never asked for rates. */
static void scaling_set_device(struct plan_setting *setting, const struct device_peak *device,
                               enum peak_type precision)
{
    *setting = (struct plan_setting){.device = device};
    if (!device)
        return;
    setting->precision = precision;
    plan_defaults(setting);
}

/* The ratio of two planned times is what scales the measured one: errors of the plan that both
 * have fall out of it. */
static double scaling_product(const struct plan_setting *setting, const struct product_sizes *sizes)
{
    struct plan_context context = plan_context_of(setting, &one_device);
    double in_tiles;

    return plan_product_seconds(&context,
                                (struct plan_product){.m = (double)sizes->smaller,
                                                      .n = (double)sizes->larger,
                                                      .k = (double)sizes->shared,
                                                      .batch = (double)sizes->count,
                                                      .is_low = true},
                                &in_tiles);
}

/* Of a product of matrices on devices of the table: tiles and waves count. 0: it is none. A
 * product's time grows in steps, as tiles fill the multiprocessors in waves: 1 % more rows may
 * be 10 % more time. The same model on both sides, so only the ratio counts. */
static double scaling_by_tiles(struct scaling *scaling, const char *name, const char *shapes)
{
    struct product_sizes before;
    struct product_sizes after;
    double seconds;

    if (!scaling->from.device || scaling->from.device->multiprocessors == 0 ||
        !product_sizes_of(&before, &scaling->call, name, shapes) ||
        !product_sizes_of(&after, &scaling->call, name, scaling->scaled))
        return 0.0;
    seconds = scaling_product(&scaling->from, &before);
    return seconds > 0.0 ? scaling_product(&scaling->to, &after) / seconds : 0.0;
}

/* Of processors, which no table knows, both have to be measured. PyTorch computes in 32 bits there
 * unless it is told otherwise. */
static double scaling_by_processor(const struct scaled_request *request, bool is_matrix)
{
    const struct measured_rates *from = request->recorded_rates;
    const struct measured_rates *to = request->rates;

    if (!from || !to)
        return 1.0;
    return is_matrix ? from->peaks[PEAK_FP32] / to->peaks[PEAK_FP32]
                     : from->memory_bytes_per_second / to->memory_bytes_per_second;
}

/* What another device makes of a time, whose shapes are as before. Matrix work by the matrix
 * rates, attention by what its kernels reach, all else by the memory's rate. */
static double scaling_by_device(const struct scaling *scaling, bool is_matrix, bool is_attention)
{
    struct plan_context from;
    struct plan_context to;

    if (scaling->steps->is_of_processor)
        return scaling_by_processor(scaling->request, is_matrix || is_attention);
    if (!scaling->to.device || scaling->to.device == scaling->from.device)
        return 1.0;
    from = plan_context_of(&scaling->from, &one_device);
    to = plan_context_of(&scaling->to, &one_device);
    if (is_attention && bytes_of_peak_type(scaling->to.precision) <= 2.0)
        return from.peak_16 * from.rates->flash_1 / (to.peak_16 * to.rates->flash_1);
    return is_matrix || is_attention ? from.peak * from.matrix / (to.peak * to.matrix)
                                     : from.memory_rate / to.memory_rate;
}

/* What is not known on either side changes nothing. */
static double scaling_ratio(double after, double before)
{
    return before > 0.0 && after >= 0.0 ? after / before : 1.0;
}

/* What becomes of the time of the operator's own work. The best that is known of an operator:
 * tiles, FLOPs of matrix work, bytes, and else elements. */
static double scaling_of_shapes(struct scaling *scaling, uint32_t op)
{
    const struct trace *trace = scaling->input->trace;
    const struct event_detail *detail = &trace->details[trace->host[op].detail];
    const char *name = trace_text(trace, trace->host[op].name);
    const char *shapes = detail->input_shapes ? trace_text(trace, detail->input_shapes) : NULL;
    enum kernel_class class = operator_class(name);
    struct op_call_text text = {.name = name,
                                .shapes = shapes,
                                .types = trace_text(trace, detail->input_types),
                                .values = trace_text(trace, detail->concrete_inputs)};
    double of_device =
        scaling_by_device(scaling, kernel_class_is_matrix(class), class == KERNEL_ATTENTION);
    struct scaled_elements elements;
    struct op_cost before;
    struct op_cost after;
    double by_tiles;

    /* Shapes that the change does not touch: only the device can make the op another. */
    if (!scale_shapes(shapes, &scaling->steps->change, scaling->scaled, SHAPES_ROOM, &elements))
        return of_device;
    by_tiles = scaling_by_tiles(scaling, name, shapes);
    if (by_tiles > 0.0)
        return by_tiles;
    before = count_flops_of_text(&scaling->call, &text, NULL);
    text.shapes = scaling->scaled;
    after = count_flops_of_text(&scaling->call, &text, NULL);
    /* By FLOPs where they are known on both sides; a kind that changed with the sizes has no
     * ratio. */
    if (before.kind == COST_MATRIX && after.kind == COST_MATRIX)
        return of_device * scaling_ratio((double)after.flops, (double)before.flops);
    /* A view costs its launch, whatever its size. */
    if (before.kind == COST_FREE)
        return of_device;
    if (before.kind != COST_NOT_COUNTED && before.bytes > 0 && after.bytes > 0)
        return of_device * scaling_ratio((double)after.bytes, (double)before.bytes);
    return of_device * scaling_ratio(elements.after, elements.before);
}

static bool scaling_is_optimizer(const struct scaling *scaling, uint32_t op)
{
    return scaling->input->costs->contexts.phases[op] == PHASE_OPTIMIZER;
}

/* Equal calls share a cost, so each is asked once; 0 is "not asked", which no factor is. The
 * optimizer works on weights, whose sizes do not change with the batch. */
static double scaling_of_op(struct scaling *scaling, uint32_t op)
{
    uint32_t cost;

    if (op == NO_EVENT || scaling_is_optimizer(scaling, op))
        return scaling_by_device(scaling, false, false);
    cost = scaling->input->costs->counted.cost_of[op];
    if (cost == NO_EVENT)
        return scaling_by_device(scaling, false, false);
    if (scaling->of_cost[cost] == 0.0)
        scaling->of_cost[cost] = scaling_of_shapes(scaling, op);
    return scaling->of_cost[cost];
}

/* ---- on the processor ---- */

static enum scaled_part scaled_part_of_op(const struct scaling *scaling, uint32_t op)
{
    const struct trace *trace = scaling->input->trace;
    const char *name = trace_text(trace, trace->host[op].name);

    if (scaling_is_optimizer(scaling, op))
        return SCALED_OPTIMIZER;
    if (is_communication_op(name))
        return SCALED_COMMUNICATION;
    return kernel_class_is_matrix(operator_class(name)) ? SCALED_MATRIX : SCALED_OTHER;
}

/* Of each operator, the time of those right inside it. Ranges between operators are climbed
 * over: only operators' own times add up to the thread's. */
static int64_t *scaling_inner_ns(const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    const uint32_t *parents = input->costs->contexts.parents;
    int64_t *inner_ns = large_array_new((trace->host_count + 1) * sizeof *inner_ns);

    for (uint32_t i = 0; i < trace->host_count; i++) {
        uint32_t above = parents[i];

        if (trace->host[i].kind != EVENT_OPERATOR)
            continue;
        while (above != NO_EVENT && trace->host[above].kind != EVENT_OPERATOR)
            above = parents[above];
        if (above != NO_EVENT)
            inner_ns[above] += trace->host[i].duration_ns;
    }
    return inner_ns;
}

/* What an operator takes that has no work to do: the mean of those that only make a view. */
static double scaling_fixed_ns(const struct scaling *scaling, const int64_t *inner_ns)
{
    const struct trace *trace = scaling->input->trace;
    const struct counted_ops *counted = &scaling->input->costs->counted;
    double sum_ns = 0.0;
    double count = 0.0;

    for (uint32_t i = 0; i < trace->host_count; i++)
        if (trace->host[i].kind == EVENT_OPERATOR && counted->cost_of[i] != NO_EVENT &&
            counted->costs[counted->cost_of[i]].kind == COST_FREE) {
            sum_ns += (double)(trace->host[i].duration_ns - inner_ns[i]);
            count += 1.0;
        }
    return count > 0.0 ? sum_ns / count : 0.0;
}

/* Operators of a thread follow one another: the step changes by as much as they do together. What
 * a tensor costs that is of no size stays, however large the batch. */
static void scale_on_processor(struct scaling *scaling)
{
    const struct trace *trace = scaling->input->trace;
    struct scaled_steps *steps = scaling->steps;
    struct step_finder finder = {.ledger = scaling->input->ledger};
    int64_t *inner_ns = scaling_inner_ns(scaling->input);
    double fixed_ns = scaling_fixed_ns(scaling, inner_ns);

    steps->fixed_ns = fixed_ns;
    for (uint32_t i = 0; i < trace->host_count; i++) {
        double own_ns = (double)(trace->host[i].duration_ns - inner_ns[i]);
        enum scaled_part part;
        double fixed;

        if (trace->host[i].kind != EVENT_OPERATOR || own_ns <= 0.0 ||
            step_finder_of_host(&finder, trace->host[i].start_ns) == NO_STEP)
            continue;
        part = scaled_part_of_op(scaling, i);
        fixed = fmin(own_ns, fixed_ns);
        steps->before_ns[part] += own_ns;
        steps->after_ns[part] += fixed + (own_ns - fixed) * scaling_of_op(scaling, i);
    }
    large_array_free(inner_ns);
}

/* ---- on a device ---- */

/* A collective of all devices, of which there are more or fewer; and one of activations. By the
 * same model of links on both sides. Groups that are not of all devices keep their size. */
static double scaling_of_collective(struct scaling *scaling, uint32_t event)
{
    const struct scaled_request *request = scaling->request;
    struct collective_call call = describe_collective(scaling->input->trace, event);
    uint32_t op = trace_operator_of(scaling->input->trace, event);
    bool is_of_all = call.group_size == scaling->steps->recorded_devices;
    enum plan_collective kind = call.kind == COLLECTIVE_ALL_REDUCE     ? PLAN_ALL_REDUCE
                                : call.kind == COLLECTIVE_ALL_TO_ALL   ? PLAN_ALL_TO_ALL
                                : call.kind == COLLECTIVE_SEND_RECEIVE ? PLAN_SEND
                                                                       : PLAN_ALL_GATHER;
    double bytes = (double)collective_bytes(&call);
    double by_shape = 1.0;
    struct plan_context from = plan_context_of(&scaling->from, &one_device);
    struct plan_context to = plan_context_of(&scaling->to, &one_device);
    double before;
    double after;

    if (op != NO_EVENT) {
        const struct event_detail *detail =
            &scaling->input->trace->details[scaling->input->trace->host[op].detail];
        struct scaled_elements elements;

        if (detail->input_shapes &&
            scale_shapes(trace_text(scaling->input->trace, detail->input_shapes),
                         &scaling->steps->change, scaling->scaled, SHAPES_ROOM, &elements))
            by_shape = scaling_ratio(elements.after, elements.before);
    }
    /* Without size or group the links cannot be asked; the shape alone is what is left. */
    if (bytes <= 0.0 || call.group_size <= 0)
        return by_shape;
    before = plan_collective_seconds(&from, kind, bytes, (struct plan_group){call.group_size, 1});
    after = plan_collective_seconds(
        &to, kind, bytes,
        (struct plan_group){is_of_all && request->devices > 0 ? request->devices : call.group_size,
                            1});
    return by_shape * scaling_ratio(after, before);
}

/* What `op` does not tell of the device's part: of replayed graphs and of libraries' own ops the
 * kernel's name alone says that it is matrix work. */
static double scaling_of_kernel(const struct scaling *scaling, uint32_t op, bool is_updating,
                                enum kernel_class class)
{
    const struct trace *trace = scaling->input->trace;

    if (is_updating || !kernel_class_is_matrix(class) ||
        (op != NO_EVENT && scaling->input->costs->counted.cost_of[op] != NO_EVENT &&
         kernel_class_is_matrix(operator_class(trace_text(trace, trace->host[op].name)))))
        return 1.0;
    return scaling_by_device(scaling, true, class == KERNEL_ATTENTION) /
           scaling_by_device(scaling, false, false);
}

/* By what the kernel is first, by who launched it second: an all-reduce inside the optimizer
 * is communication. */
static double scaling_of_event(struct scaling *scaling, uint32_t event, enum scaled_part *part)
{
    enum kernel_class class = (enum kernel_class)scaling->input->ledger->classes[event];
    uint32_t op = trace_operator_of(scaling->input->trace, event);
    bool is_updating = op != NO_EVENT && scaling_is_optimizer(scaling, op);

    *part = class == KERNEL_COMMUNICATION                    ? SCALED_COMMUNICATION
            : class == KERNEL_COPY || class == KERNEL_MEMSET ? SCALED_COPIES
            : is_updating || class == KERNEL_OPTIMIZER       ? SCALED_OPTIMIZER
            : kernel_class_is_matrix(class)                  ? SCALED_MATRIX
                                                             : SCALED_OTHER;
    if (*part == SCALED_COMMUNICATION)
        return scaling->from.device ? scaling_of_collective(scaling, event) : 1.0;
    return scaling_of_op(scaling, op) * scaling_of_kernel(scaling, op, is_updating, class);
}

/* Kernels of libraries that call the driver themselves lie in no operator. */
static bool scaling_has_shapes(const struct scaling *scaling, uint32_t event)
{
    const struct trace *trace = scaling->input->trace;
    uint32_t op = trace_operator_of(trace, event);

    return op != NO_EVENT && trace->details[trace->host[op].detail].input_shapes != 0;
}

/* The recorded step is scaled by the ratio of two replays, so that the replay's own error
 * cancels. */
static double scaled_replay_ns(const struct scaling *scaling, const double *factors, double host)
{
    const struct replay_model *replay = replay_of(scaling->input);
    struct replay_terms terms = {.host_slowdown = host, .event_factors = factors};

    return scaling->steps->recorded_ns *
           (double)trace_graph_replay(&replay->graph, &terms).length_ns /
           (double)replay->unchanged.length_ns;
}

/* Two paces that are as near each other are one; a step that changes by less does not change. */
static const double PACE_NEAR = 0.01;

/* Recording slows the host and leaves the device's work as it is: host times are scaled until the
 * recorded steps, replayed, take what the run's other steps took. Of all paces at which they do the
 * slowest: where the device is what they wait for, a faster host would not show. Steps that are
 * shorter than the device's own work are of another kind, and tell nothing. */
static void find_host_pace(struct scaling *scaling)
{
    const struct analysis_input *input = scaling->input;
    struct scaled_steps *steps = scaling->steps;
    struct plain_steps plain =
        input->description ? input->description->plain : (struct plain_steps){0};
    double shortest_ns = scaled_replay_ns(scaling, NULL, 0.0);
    double slow = 1.0;
    double fast = 0.0;

    steps->pace = 1.0;
    if (plain.count == 0 || input->ledger->source != WINDOW_PROFILER_STEP ||
        shortest_ns > (1.0 + PACE_NEAR) * (double)plain.median_ns)
        return;
    steps->plain_ns = plain.median_ns;
    if (steps->recorded_ns > (double)plain.median_ns) {
        while (slow - fast > PACE_NEAR / 10.0) {
            steps->pace = (slow + fast) / 2.0;
            *(scaled_replay_ns(scaling, NULL, steps->pace) > (double)plain.median_ns ? &slow
                                                                                     : &fast) =
                steps->pace;
        }
    }
    /* With a host as fast again they would be shorter: it is the host that they wait for. */
    steps->is_pace_known = scaled_replay_ns(scaling, NULL, steps->pace / 2.0) <
                           (1.0 - 2.0 * PACE_NEAR) * (double)plain.median_ns;
}

/* Kernels get their factors and the recorded graph is replayed: what overlapped may no longer,
 * and what was hidden may show. */
static bool scale_on_device(struct scaling *scaling, struct error *error)
{
    const struct analysis_input *input = scaling->input;
    const struct replay_model *replay = replay_of(input);
    struct scaled_steps *steps = scaling->steps;
    struct step_finder finder = {.ledger = input->ledger};
    double *factors;
    double stages = steps->layout.pipeline > 0 ? (double)steps->layout.pipeline : 1.0;

    if (!replay || replay->is_refused)
        return error_set(error, ERROR_NO_DATA,
                         "a replay of these steps is too far from the recording to plan with: "
                         "record whole steps of one rank, or choose some with --steps");
    factors = large_array_new((input->trace->device_count + 1) * sizeof *factors);
    for (uint32_t i = 0; i < input->trace->device_count; i++) {
        enum scaled_part part;
        double ns = (double)input->trace->device[i].duration_ns;

        /* Also outside of the chosen steps: the replay runs over the whole graph. */
        factors[i] = scaling_of_event(scaling, i, &part);
        factors[i] *= scaling->layout.factors[part];
        if (!is_chosen_device_event(&finder, input->trace, i))
            continue;
        steps->before_ns[part] += ns;
        steps->after_ns[part] += ns * factors[i];
        if ((part == SCALED_MATRIX || part == SCALED_OTHER) && !scaling_has_shapes(scaling, i))
            steps->unshaped_ns += ns;
    }
    find_host_pace(scaling);
    /* A stage launches the kernels of its own layers only. */
    steps->planned_ns = scaled_replay_ns(scaling, factors, steps->pace / stages);
    steps->device_share = scaled_replay_ns(scaling, factors, 0.0) / steps->planned_ns;
    large_array_free(factors);
    return true;
}

/* ---- together ---- */

/* One step tells nothing of how steps differ, so that it gives no bounds. */
static void scale_measure_steps(struct scaled_steps *steps, const struct ledger *ledger)
{
    double count = (double)ledger->step_count;
    double shortest = INFINITY;
    double longest = 0.0;

    steps->recorded_ns = (double)ledger_total_ns(ledger) / count;
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_window *window = &ledger->steps[i].window;
        double ns = (double)(window->end_ns - window->start_ns);

        shortest = fmin(shortest, ns);
        longest = fmax(longest, ns);
    }
    if (ledger->step_count < 2)
        return;
    steps->shortest = shortest / steps->recorded_ns;
    steps->longest = longest / steps->recorded_ns;
}

/* Sums over all steps become those of the mean one; what the parts leave is the rest. Parts are
 * summed kernel times, the step is a wall clock: the rest is what makes both agree, and may be
 * negative where kernels run side by side. */
static void scale_finish(struct scaled_steps *steps, const struct ledger *ledger,
                         const struct scaled_layout *layout)
{
    double step_count = (double)ledger->step_count;
    double exposed_ns = (double)ledger_account_ns(ledger, ACCOUNT_COMMUNICATION) / step_count;
    double before_ns = 0.0;
    double after_ns = 0.0;

    /* A processor's collectives run on threads of their own: what shows of them is what the ledger
     * has, and not what their calls take. */
    if (steps->is_of_processor)
        steps->before_ns[SCALED_COMMUNICATION] = steps->after_ns[SCALED_COMMUNICATION] =
            fmax(steps->before_ns[SCALED_COMMUNICATION], exposed_ns * step_count);
    for (int i = 0; i < SCALED_REST; i++) {
        steps->before_ns[i] /= step_count;
        steps->after_ns[i] /= step_count;
        before_ns += steps->before_ns[i];
        after_ns += steps->after_ns[i];
    }
    steps->unshaped_ns /= step_count;
    steps->before_ns[SCALED_REST] = steps->recorded_ns - before_ns;
    if (steps->is_of_processor)
        steps->planned_ns = after_ns + steps->before_ns[SCALED_REST];
    lay_out_scaled_steps(steps, layout, exposed_ns);
    after_ns = 0.0;
    for (int i = 0; i < SCALED_REST; i++)
        after_ns += steps->after_ns[i];
    steps->after_ns[SCALED_REST] = steps->planned_ns - after_ns;
}

static bool scaling_check_processor(const struct measured_rates *rates, struct error *error)
{
    double measured;

    if (!rates->is_processor)
        return error_set(error, ERROR_USAGE,
                         "'%s' was measured on %s, and the recording is of a processor: give rates "
                         "of a processor",
                         rates->path, rates->device);
    if (rates->memory_bytes_per_second <= 0.0)
        return error_set(error, ERROR_USAGE,
                         "'%s' tells no rate of the memory: measure again ('flopledger device "
                         "--measure')",
                         rates->path);
    return measured_rates_peak(rates, PEAK_FP32, &measured, error);
}

/* One file is not enough for a processor: by what the recorded one reached it is that times are
 * scaled. */
static bool scaling_find_processors(const struct scaled_request *request, struct error *error)
{
    if (!request->rates && !request->recorded_rates)
        return true;
    if (!request->rates || !request->recorded_rates)
        return error_set(error, ERROR_USAGE,
                         "%s is missing: a recording of a processor is scaled by what it and the "
                         "other were measured to reach ('flopledger device --measure' on each)",
                         request->rates ? "--recorded-rates FILE" : "--rates FILE");
    return scaling_check_processor(request->rates, error) &&
           scaling_check_processor(request->recorded_rates, error);
}

/* Gives the rates to the setting whose device they are of, or to both. */
static bool scaling_take_rates(struct scaling *scaling, const struct measured_rates *rates,
                               bool is_of_recorded, struct error *error)
{
    struct plan_setting *const settings[] = {&scaling->to, &scaling->from};
    bool is_taken = false;
    double measured;

    if (!rates)
        return true;
    for (size_t i = is_of_recorded ? 1 : 0; i < 2; i++)
        if (measured_rates_check_device(rates, settings[i]->device->name, NULL)) {
            if (!measured_rates_peak(rates, settings[i]->precision, &measured, error))
                return false;
            settings[i]->measured = rates;
            is_taken = true;
        }
    return is_taken ||
           error_set(error, ERROR_USAGE,
                     "'%s' was measured on %s%s, and %s is %s: give the rates of that, or none",
                     rates->path, rates->is_processor ? "the processor " : "", rates->device,
                     is_of_recorded ? "the recording" : "what is planned for",
                     settings[is_of_recorded]->device->name);
}

/* A measured time can be scaled by two devices' rates only where the first is known. */
static bool scaling_find_devices(struct scaling *scaling, struct error *error)
{
    const struct scaled_request *request = scaling->request;
    struct scaled_steps *steps = scaling->steps;
    const struct device_peak *device =
        steps->is_of_processor ? NULL : scaling->input->efficiency->peaks.device;
    const struct device_peak *to = request->device ? request->device : device;
    enum peak_type precision;

    if ((request->step_batch > 0 || request->chunks > 0) && request->tensor == 0 &&
        request->pipeline == 0)
        return error_set(error, ERROR_USAGE,
                         "%s is of a recording in another layout: give --tp or --pp, too, or "
                         "--batch for the samples of a pass",
                         request->step_batch > 0 ? "--global-batch" : "--vp");
    steps->recorded_device = device;
    steps->recorded_devices = scaling->input->trace->facts.world_size;
    if (scaling->input->description && scaling->input->description->world_size > 0)
        steps->recorded_devices = scaling->input->description->world_size;
    if (steps->is_of_processor && !scaling_find_processors(request, error))
        return false;
    if ((request->device || request->devices > 0 || (request->rates && !steps->is_of_processor) ||
         (request->recorded_rates && !steps->is_of_processor)) &&
        !device)
        return error_set(error, ERROR_USAGE,
                         "%s needs a recording of a device that the table knows, and this one is "
                         "of %s: leave it out",
                         request->device        ? "--device"
                         : request->devices > 0 ? "--devices"
                                                : "--rates",
                         steps->is_of_processor ? "a processor" : "another");
    if (request->devices > 0 && request->tensor == 0 && request->pipeline == 0 &&
        steps->recorded_devices <= 1)
        return error_set(error, ERROR_USAGE,
                         "--devices needs a recording of several: this one has %s, and so no "
                         "collective whose time could be scaled",
                         steps->recorded_devices == 1 ? "one rank" : "no word of how many");
    precision = scaling_precision(scaling, device, to);
    scaling_set_device(&scaling->from, device, precision);
    scaling_set_device(&scaling->to, to, precision);
    return steps->is_of_processor ||
           (scaling_take_rates(scaling, request->rates, false, error) &&
            scaling_take_rates(scaling, request->recorded_rates, true, error));
}

/* What can be refused is refused before the times are scaled. That an optimizer lacks shows
 * only behind: a plan of a training without one would be too short, and nothing would say so. */
bool scale_steps(struct scaled_steps *steps, const struct analysis_input *input,
                 const struct scaled_request *request, struct error *error)
{
    struct scaling scaling = {.input = input, .request = request, .steps = steps};
    const struct ledger *ledger = input->ledger;
    bool is_done = true;

    *steps = (struct scaled_steps){.is_of_processor = ledger->is_cpu_only};
    if (!input->costs->has_shapes)
        return error_set(error, ERROR_NO_DATA,
                         "the recording tells no shapes, by which times could be scaled: %s",
                         recorder_words_for(input->trace)->needs_shapes);
    if (!find_pass_change(&steps->change, input, request, error) ||
        !scaling_find_devices(&scaling, error) ||
        !find_scaled_layout(&scaling.layout, input, request, steps, error))
        return false;
    steps->is_ambiguous = pass_is_ambiguous(input, &steps->change);
    scale_measure_steps(steps, ledger);
    scaling.scaled = array_resize(NULL, SHAPES_ROOM, 1);
    scaling.of_cost =
        large_array_new((input->costs->counted.cost_count + 1) * sizeof *scaling.of_cost);
    if (steps->is_of_processor)
        scale_on_processor(&scaling);
    else
        is_done = scale_on_device(&scaling, error);
    /* Asked of the sums, as only they tell whether any kernel of an optimizer ran in the
     * steps. */
    if (is_done && (request->tensor > 0 || request->pipeline > 0) &&
        steps->before_ns[SCALED_OPTIMIZER] <= 0.0)
        is_done = error_set(error, ERROR_USAGE,
                            "%s plans a training, and the recorded steps have no optimizer: leave "
                            "it out",
                            request->tensor > 0 ? "--tp" : "--pp");
    if (is_done)
        scale_finish(steps, ledger, &scaling.layout);
    steps->samples = pass_samples_of_step(input, &steps->change);
    if (steps->layout.pipeline > 0)
        steps->samples = (double)(steps->layout_passes * steps->layout.micro) /
                         (double)(steps->layout.tensor * steps->layout.pipeline);
    /* Attention alone is not in proportion to the tokens. Another layout has another device's. */
    if (steps->layout.pipeline == 0 && steps->change.from.sequence == steps->change.to.sequence)
        steps->flops =
            input->efficiency->total.window_flops / (double)ledger->step_count *
            scaling_ratio((double)steps->change.to.samples, (double)steps->change.from.samples);
    steps->waited_ns = mean_core_wait_ns(input);
    steps->tokens = steps->samples * (double)steps->change.to.sequence;
    large_array_free(scaling.of_cost);
    free(scaling.scaled);
    op_call_clear(&scaling.call);
    return is_done;
}
