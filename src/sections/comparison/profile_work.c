/* What device and host did in each step, by name: kernels, operators, copies, launches; products by
 * size; modules, on the device, or where there is none on the host; what memory held. */
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/text/prefix.h"
#include "cost/efficiency/matrix_calls.h"
#include "cost/flops/product_sizes.h"
#include "cost/flops/saturating.h"
#include "cost/modules/host_context.h"
#include "ledger/kernel_class.h"
#include "ledger/step_finder.h"
#include "sections/comparison/profile_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct product_name {
    char characters[160];
};

/* The smaller outer size first: A by B and its transpose are one product. */
static bool name_product(struct product_name *name, struct op_call *call, const struct trace *trace,
                         const struct event *op)
{
    uint32_t shapes = trace->details[op->detail].input_shapes;
    struct product_sizes sizes;
    char times[32] = "";

    if (shapes == 0 ||
        !product_sizes_of(&sizes, call, trace_text(trace, op->name), trace_text(trace, shapes)))
        return false;
    if (sizes.count != 1)
        snprintf(times, sizeof times, "%" PRId64 " times ", sizes.count);
    snprintf(name->characters, sizeof name->characters,
             "%s[%" PRId64 ", %" PRId64 "] by [%" PRId64 ", %" PRId64 "]", times, sizes.smaller,
             sizes.shared, sizes.shared, sizes.larger);
    return true;
}

/* A product belongs to the step in which its longest kernel began, not where it was called:
 * the host may be a step ahead. */
void profile_matmuls(struct run_profile *profile, const struct profile_source *source,
                     const uint32_t *row_of_step)
{
    const struct matrix_calls *calls = &source->efficiency->calls;
    const struct trace *trace = source->trace;
    struct step_finder finder = {.ledger = source->ledger};
    struct op_call call = {0};

    for (uint32_t i = 0; i < calls->count; i++) {
        const struct matrix_call *each = &calls->calls[i];
        const struct event *op = &trace->host[each->op];
        const struct event *begun = each->longest == NO_EVENT ? op : &trace->device[each->longest];
        uint32_t step = step_finder_at(&finder, begun->start_ns);
        struct measure *measure;
        struct product_name name;

        if (!each->is_matrix || step == NO_STEP || row_of_step[step] == NO_STEP ||
            !name_product(&name, &call, trace, op))
            continue;
        measure = profile_measure(profile, MEASURE_MATMUL, name.characters, "");
        measure_has_calls(profile, measure);
        measure->values[row_of_step[step]] =
            plus(measure->values[row_of_step[step]], each->kernel_ns);
        measure->calls[row_of_step[step]]++;
    }
    op_call_clear(&call);
}

static const struct memory_step *profile_memory_find_step(const struct memory_run *memory,
                                                          int64_t number)
{
    for (uint32_t i = 0; i < memory->step_count; i++)
        if (memory->steps[i].number == number)
            return &memory->steps[i];
    return NULL;
}

static void set_bytes(struct run_profile *profile, const char *name, const char *title,
                      int64_t bytes, uint32_t row)
{
    struct measure *measure = profile_measure(profile, MEASURE_MEMORY, name, "");

    measure->title = title;
    measure->unit = UNIT_BYTES;
    measure->values[row] = bytes;
}

/* What makes up the peak is taken at the moment of that step's own peak, so that its kinds add
 * up to it; peaks of each kind alone would not, as they are at different moments. */
void profile_memory(struct run_profile *profile, const struct profile_source *source)
{
    for (uint32_t row = 0; row < profile->step_count; row++) {
        const struct memory_step *step =
            profile_memory_find_step(source->memory, profile->numbers[row]);
        struct memory_peak peak;
        struct memory_sums sums;

        if (!step)
            continue;
        peak = memory_peak_between(source->memory, source->memory_device, step->first_change,
                                   step->last_change);
        sums = memory_alive(source->memory, source->memory_device, peak.change_count);
        set_bytes(profile, "peak", "at the peak", peak.bytes, row);
        for (int kind = 0; kind < MEMORY_KIND_COUNT; kind++)
            set_bytes(profile, memory_kind_key((enum memory_kind)kind),
                      memory_kind_title((enum memory_kind)kind), sums.bytes[kind], row);
    }
}

/* One pass over the events. */
struct work_walk {
    struct run_profile *profile;
    const struct profile_source *source;
    const uint32_t *rows;
    struct step_finder finder;
    bool *has_launched; /* [host_count]: the call was counted */
};

static void profile_work_add_call(struct work_walk *walk, struct measure *measure, uint32_t row,
                                  int64_t value)
{
    measure_has_calls(walk->profile, measure);
    measure->values[row] = plus(measure->values[row], value);
    measure->calls[row]++;
}

/* Numbers of the run as a whole. */
struct amount {
    const char *name;
    const char *title;
    enum unit unit;
};

static const struct amount kernels = {"kernels", "kernels", UNIT_COUNT};
static const struct amount launches = {"launches", "launch calls", UNIT_COUNT};
static const struct amount copied_bytes = {"copied_bytes", "bytes copied", UNIT_BYTES};
static const struct amount operators = {"operators", "operator calls", UNIT_COUNT};

static void add_amount(struct work_walk *walk, const struct amount *what, uint32_t row,
                       int64_t amount)
{
    struct measure *measure = profile_measure(walk->profile, MEASURE_WORK, what->name, "");

    measure->title = what->title;
    measure->unit = what->unit;
    measure->values[row] = plus(measure->values[row], amount);
}

/* The row of a step, as a finder tells it. */
static uint32_t profile_work_row_of(const struct work_walk *walk, uint32_t step)
{
    return step == NO_STEP ? NO_STEP : walk->rows[step];
}

static const char *operator_name(const struct trace *trace, uint32_t device_event)
{
    uint32_t operator_event = trace_operator_of(trace, device_event);

    return operator_event == NO_EVENT ? NULL : trace_text(trace, trace->host[operator_event].name);
}

/* By name and shapes: the same operator on other sizes is other work. */
static void profile_work_add_operator(struct work_walk *walk, uint32_t device_event, uint32_t row,
                                      uint8_t class)
{
    const struct trace *trace = walk->source->trace;
    uint32_t operator_event = trace_operator_of(trace, device_event);
    const struct event *event;
    struct measure *measure;

    if (operator_event == NO_EVENT)
        return;
    event = &trace->host[operator_event];
    measure = profile_measure(walk->profile, MEASURE_OPERATOR, trace_text(trace, event->name),
                              trace_text(trace, trace->details[event->detail].input_shapes));
    measure->class = class;
    profile_work_add_call(walk, measure, row, trace->device[device_event].duration_ns);
}

/* The first operator that launched the name is its owner: only names that the other run lacks
 * are joined by owner, and one owner is enough to find their like. */
static void profile_work_add_kernel(struct work_walk *walk, uint32_t index, uint32_t row,
                                    uint8_t class)
{
    const struct trace *trace = walk->source->trace;
    const struct event *event = &trace->device[index];
    struct measure *measure =
        profile_measure(walk->profile, MEASURE_KERNEL, trace_text(trace, event->name), "");
    const char *owner = operator_name(trace, index);

    measure->class = class;
    if (!measure->owner && owner)
        measure->owner = profile_text(walk->profile, owner);
    profile_work_add_call(walk, measure, row, event->duration_ns);
    measure = profile_measure(walk->profile, MEASURE_CLASS,
                              kernel_class_key((enum kernel_class) class), "");
    measure->title = kernel_class_title((enum kernel_class) class);
    profile_work_add_call(walk, measure, row, event->duration_ns);
    add_amount(walk, &kernels, row, 1);
}

/* The calls that launched work; one call may launch many kernels (a CUDA graph). */
static void profile_work_add_launch(struct work_walk *walk, uint32_t index, uint32_t row)
{
    uint32_t launch = walk->source->trace->launch[index];

    if (launch == NO_EVENT || walk->has_launched[launch])
        return;
    walk->has_launched[launch] = true;
    add_amount(walk, &launches, row, 1);
}

/* The ledger's device alone: what a second one did would be counted in the same steps. */
static void profile_work_add_device_events(struct work_walk *walk)
{
    const struct trace *trace = walk->source->trace;
    const struct ledger *ledger = walk->source->ledger;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        uint32_t row;

        if (trace->tracks[event->track].device != ledger->device)
            continue;
        row = profile_work_row_of(walk, step_finder_at(&walk->finder, event->start_ns));
        if (row == NO_STEP)
            continue;
        profile_work_add_launch(walk, i, row);
        profile_work_add_operator(walk, i, row, ledger->classes[i]);
        if (event->kind == EVENT_KERNEL)
            profile_work_add_kernel(walk, i, row, ledger->classes[i]);
        else if (event->kind == EVENT_MEMCPY && trace->details[event->detail].bytes > 0)
            add_amount(walk, &copied_bytes, row, trace->details[event->detail].bytes);
    }
}

/* Torch 1.8 wrote its steps as operators. */
static bool is_step_mark(const struct trace *trace, const struct event *event)
{
    return has_prefix(trace_text(trace, event->name), "ProfilerStep#");
}

/* Own time, without what is recorded inside: else an operator would count again in each one
 * around it. */
static void profile_work_add_host_events(struct work_walk *walk)
{
    const struct trace *trace = walk->source->trace;
    int64_t *own_ns = measure_own_times(trace, walk->source->costs->contexts.parents);

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        const char *shapes;
        struct measure *measure;
        uint32_t row;

        if (event->kind != EVENT_OPERATOR || is_step_mark(trace, event))
            continue;
        row = profile_work_row_of(walk, step_finder_of_host(&walk->finder, event->start_ns));
        if (row == NO_STEP)
            continue;
        shapes = trace_text(trace, trace->details[event->detail].input_shapes);
        measure = profile_measure(walk->profile, MEASURE_HOST_OPERATOR,
                                  trace_text(trace, event->name), shapes);
        profile_work_add_call(walk, measure, row, own_ns[i]);
        add_amount(walk, &operators, row, 1);
    }
    large_array_free(own_ns);
}

/* One bit per host event: a call that puts several kernels on the device (a graph) is one
 * launch. */
void profile_work(struct run_profile *profile, const struct profile_source *source,
                  const uint32_t *row_of_step)
{
    struct work_walk walk = {.profile = profile,
                             .source = source,
                             .rows = row_of_step,
                             .finder = {.ledger = source->ledger}};

    walk.has_launched =
        require_memory(calloc(source->trace->host_count + (size_t)1, sizeof *walk.has_launched));
    profile_work_add_device_events(&walk);
    profile_work_add_host_events(&walk);
    free(walk.has_launched);
}

struct module_walk {
    struct run_profile *profile;
    const struct profile_source *source;
    const uint32_t *rows;
    struct step_finder finder;
    uint32_t *measure_of; /* [tree.count]: index in profile->measures + 1 */
};

static struct measure *measure_of_module(struct module_walk *walk, uint32_t module)
{
    return &walk->profile->measures[walk->measure_of[module] - 1];
}

/* To the module alone; it and those that it is in get a measure. `step`: where the time lies, or
 * NO_STEP. Measures move when one is added, so their places are kept, not pointers. */
static void profile_modules_add_time(struct module_walk *walk, uint32_t module, uint32_t step,
                                     int64_t time_ns)
{
    const struct module_tree *tree = &walk->source->costs->tree;
    int64_t *value;

    if (module == NO_MODULE || step == NO_STEP || walk->rows[step] == NO_STEP)
        return;
    for (uint32_t above = module; above != NO_MODULE && walk->measure_of[above] == 0;
         above = tree->modules[above].parent)
        walk->measure_of[above] = 1 + (uint32_t)(profile_measure(walk->profile, MEASURE_MODULE,
                                                                 tree->modules[above].name, "") -
                                                 walk->profile->measures);
    value = &measure_of_module(walk, module)->values[walk->rows[step]];
    *value = plus(*value, time_ns);
}

/* Each module's time to the one that it is in: the innermost first. Innermost first, so each
 * module's sum is whole when it goes to the one around it: one pass. */
static void add_time_of_children(struct module_walk *walk)
{
    const struct module_tree *tree = &walk->source->costs->tree;

    for (uint32_t i = tree->count; i-- > 0;) {
        uint32_t module = tree->order[i], parent = tree->modules[module].parent;
        const int64_t *from;
        int64_t *to;

        if (walk->measure_of[module] == 0 || parent == NO_MODULE)
            continue;
        from = measure_of_module(walk, module)->values;
        to = measure_of_module(walk, parent)->values;
        for (uint32_t row = 0; row < walk->profile->step_count; row++)
            to[row] = plus(to[row], from[row]);
    }
}

/* Device time goes to the module of the host event that launched it, and to the step in which
 * it ran. */
static void profile_modules_add_device_time(struct module_walk *walk)
{
    const struct trace *trace = walk->source->trace;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        uint32_t from = trace_origin_of(trace, i);

        if (from != NO_EVENT && trace->tracks[event->track].device == walk->source->ledger->device)
            profile_modules_add_time(walk, module_of_host(&walk->source->costs->contexts, from),
                                     step_finder_at(&walk->finder, event->start_ns),
                                     event->duration_ns);
    }
}

static void add_host_time(struct module_walk *walk)
{
    const struct trace *trace = walk->source->trace;
    int64_t *own_ns = measure_own_times(trace, walk->source->costs->contexts.parents);

    for (uint32_t i = 0; i < trace->host_count; i++)
        profile_modules_add_time(walk, module_of_host(&walk->source->costs->contexts, i),
                                 step_finder_of_host(&walk->finder, trace->host[i].start_ns),
                                 own_ns[i]);
    large_array_free(own_ns);
}

/* Own times first, then children are added to parents: each moment is added once per level
 * however deep the tree is. A CPU alone has no device time; there a module's time is that of
 * the host. */
void profile_modules(struct run_profile *profile, const struct profile_source *source,
                     const uint32_t *row_of_step)
{
    struct module_walk walk = {.profile = profile,
                               .source = source,
                               .rows = row_of_step,
                               .finder = {.ledger = source->ledger}};
    uint32_t count = source->costs->tree.count;

    if (count == 0)
        return;
    walk.measure_of = require_memory(calloc(count, sizeof *walk.measure_of));
    if (source->ledger->is_cpu_only)
        add_host_time(&walk);
    else
        profile_modules_add_device_time(&walk);
    add_time_of_children(&walk);
    free(walk.measure_of);
}
