/* Sums costs and times by module and phase. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/saturated.h"
#include "base/core/search.h"
#include "base/text/prefix.h"
#include "cost/flops/saturating.h"
#include "cost/modules/compiled_recompute.h"
#include "cost/modules/counted_ops.h"
#include "cost/modules/host_context.h"
#include "cost/modules/module_costs.h"
#include "ledger/kernel_class.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- totals of ops --------------------------------------------------------------------------- */

/* What lists are made of: of ops that are counted, of those that are not, and of doubtful ones. */
struct op_survey {
    const struct trace *trace;
    const struct counted_ops *ops;
    const struct host_contexts *contexts;
    const int64_t *own_ns;      /* [host_count] */
    const int64_t *device_ns;   /* [host_count]: launched by the event itself */
    const bool *is_chosen;      /* [host_count]: lies in the windows */
    int64_t unlaunched_kernels; /* kernels without an operator */
    int64_t unlaunched_ns;
};

static const char compiled_code[] = "compiled code (torch.compile)";
static const char why_compiled[] = "fused by torch.compile";

/* Rows of costs->uncounted: by the index of a cost, and by name and reason. */
struct uncounted_maps {
    struct hash_map by_cost;
    struct hash_map by_name;
};

/* Time and device time of an op and of all inside it that is counted with it. */
static void add_times_inside(struct op_total *total, const struct op_survey *survey, uint32_t i)
{
    total->host_ns += survey->trace->host[i].duration_ns;
    total->device_ns += survey->device_ns[i];
}

/* By name and kind, so that an op with two formulas by its arguments has two rows. */
static void add_counted(struct module_costs *costs, struct hash_map *by_name,
                        const struct op_survey *survey, uint32_t i)
{
    const struct op_cost *cost = &survey->ops->costs[survey->ops->cost_of[i]];
    uint32_t name = survey->trace->host[i].name;
    uint32_t index = hash_map_add(by_name, pair_key(name, (uint32_t)cost->kind), costs->op_count);
    struct op_total *total;

    if (index == costs->op_count) {
        ARRAY_ADD(costs->ops, costs->op_count,
                  (struct op_total){.name = trace_text(survey->trace, name), .kind = cost->kind});
    }
    total = &costs->ops[index];
    total->calls++;
    total->flops = plus(total->flops, cost->flops);
    total->macs = plus(total->macs, cost->macs);
    total->bytes = total->bytes < 0 || cost->bytes < 0 ? -1 : plus(total->bytes, cost->bytes);
    add_times_inside(total, survey, i);
}

/* The op that stands for all inside it, this op among them; NO_EVENT where it is not chosen. */
static uint32_t op_around(const struct op_survey *survey, uint32_t i)
{
    uint32_t above = survey->contexts->parents[i];

    while (above != NO_EVENT && survey->ops->states[above] == OP_INSIDE)
        above = survey->contexts->parents[above];
    return above == NO_EVENT || !survey->is_chosen[above] ? NO_EVENT : above;
}

/* Device work that an op inside a counted one launched belongs to the counted one. The counted
 * op's row exists already: it stands before what lies in it. */
static void add_device_time_inside(struct module_costs *costs, const struct hash_map *by_name,
                                   const struct op_survey *survey, uint32_t i)
{
    uint32_t above = survey->device_ns[i] == 0 ? NO_EVENT : op_around(survey, i);
    uint32_t index;

    if (above == NO_EVENT)
        return;
    index = hash_map_find(by_name,
                          pair_key(survey->trace->host[above].name,
                                   (uint32_t)survey->ops->costs[survey->ops->cost_of[above]].kind));
    if (index != NO_VALUE)
        costs->ops[index].device_ns += survey->device_ns[i];
}

/* The row of the op's name and reason, new where there is none. All ranges of compiled code
 * share one row: their names are hashes that say nothing. */
static uint32_t uncounted_index(struct module_costs *costs, struct uncounted_maps *maps,
                                const struct op_survey *survey, uint32_t i)
{
    const char *why = survey->ops->costs[survey->ops->cost_of[i]].why;
    uint32_t name = survey->trace->host[i].name;
    bool is_compiled = is_compiled_code(trace_text(survey->trace, name));
    uint64_t key = is_compiled ? UINT64_MAX : pair_key(name, (uint32_t)(uintptr_t)why);
    uint32_t index = hash_map_add(&maps->by_name, key, costs->uncounted_count);

    if (index < costs->uncounted_count)
        return index;
    ARRAY_ROOM(costs->uncounted, costs->uncounted_count);
    costs->uncounted[costs->uncounted_count] = (struct uncounted_op){
        .name = is_compiled ? compiled_code : trace_text(survey->trace, name),
        .why = is_compiled ? why_compiled : why,
    };
    return costs->uncounted_count++;
}

static void add_uncounted(struct module_costs *costs, struct uncounted_maps *maps,
                          const struct op_survey *survey, uint32_t i)
{
    uint32_t index = hash_map_find(&maps->by_cost, survey->ops->cost_of[i]);

    if (index == NO_VALUE)
        index = hash_map_add(&maps->by_cost, survey->ops->cost_of[i],
                             uncounted_index(costs, maps, survey, i));
    costs->uncounted[index].calls++;
    costs->uncounted[index].host_ns += survey->own_ns[i];
    costs->uncounted[index].device_ns += survey->device_ns[i];
}

/* What an op of sparse tensors does inside of it is its own. */
static void add_inside_uncounted(struct module_costs *costs, const struct uncounted_maps *maps,
                                 const struct op_survey *survey, uint32_t i)
{
    uint32_t above = op_around(survey, i);
    uint32_t index;

    if (above == NO_EVENT || survey->ops->states[above] != OP_NOT_COUNTED)
        return;
    index = hash_map_find(&maps->by_cost, survey->ops->cost_of[above]);
    costs->uncounted[index].host_ns += survey->own_ns[i];
    costs->uncounted[index].device_ns += survey->device_ns[i];
}

/* A range that computes nothing on the host may launch kernels all the same: an autograd function
 * written in Python around a kernel of its own. */
static void add_if_it_launches(struct module_costs *costs, struct uncounted_maps *maps,
                               const struct op_survey *survey, uint32_t i)
{
    if (survey->device_ns[i] > 0 && survey->ops->cost_of[i] != NO_EVENT &&
        survey->ops->costs[survey->ops->cost_of[i]].kind == COST_NOT_COUNTED &&
        !is_communication_op(trace_text(survey->trace, survey->trace->host[i].name)))
        add_uncounted(costs, maps, survey, i);
}

/* Whether kernels of a name are products, looked up once a name. */
static bool is_product(struct hash_map *known, const struct trace *trace, uint32_t name)
{
    uint32_t is = hash_map_find(known, name);

    if (is == NO_VALUE)
        is = hash_map_add(known, name,
                          kernel_class_is_matrix(kernel_class_of_name(trace_text(trace, name))));
    return is;
}

/* Products among the kernels of ops that are not counted, or of none. A matmul among uncounted
 * kernels makes the total FLOPs a lower bound; lacks_products says so in the report. */
static bool launches_products_uncounted(const struct op_survey *survey)
{
    const struct trace *trace = survey->trace;
    struct hash_map known = {0};
    bool is_any = false;

    for (uint32_t i = 0; i < trace->device_count && !is_any; i++) {
        uint32_t op = trace_operator_of(trace, i);

        if (trace->device[i].kind != EVENT_KERNEL ||
            (op == NO_EVENT ? survey->unlaunched_kernels == 0 : !survey->is_chosen[op]))
            continue;
        if (op != NO_EVENT && survey->ops->states[op] == OP_INSIDE)
            op = op_around(survey, op);
        if (op != NO_EVENT &&
            (survey->ops->states[op] == OP_COUNTED || survey->ops->states[op] == OP_DOUBTFUL))
            continue;
        is_any = is_product(&known, trace, trace->device[i].name);
    }
    hash_map_clear(&known);
    return is_any;
}

/* By name and reason; on a processor nothing tells what runs in compiled code. */
static bool may_be_product(const struct module_costs *costs, const struct uncounted_op *op)
{
    if (op->why == why_compiled)
        return !costs->has_device;
    return kernel_class_is_matrix(operator_class(op->name)) || is_library_call(costs, op);
}

/* A kernel that torch.compile wrote may compute a small product itself. */
static bool is_unknown_kernel(const struct module_costs *costs, const struct op_survey *survey,
                              const struct compiled_event *found)
{
    return found->sized && found->sized->flops < 0 && !strstr(found->sized->op, "::") &&
           survey->is_chosen[found->event] && survey->ops->states[found->event] == OP_NOT_COUNTED &&
           !costs->has_device;
}

static bool lacks_products(const struct module_costs *costs, const struct op_survey *survey)
{
    for (size_t i = 0; i < costs->compiled.event_count; i++)
        if (is_unknown_kernel(costs, survey, &costs->compiled.events[i]))
            return true;
    for (uint32_t i = 0; i < costs->uncounted_count; i++)
        if (may_be_product(costs, &costs->uncounted[i]))
            return true;
    return launches_products_uncounted(survey);
}

/* Kernels that no recorded op launched. */
static void add_unlaunched(struct module_costs *costs, const struct op_survey *survey)
{
    if (survey->unlaunched_kernels == 0)
        return;
    ARRAY_ADD(costs->uncounted, costs->uncounted_count,
              (struct uncounted_op){.name = "kernels without an op",
                                    .why = "their op is not in the trace",
                                    .calls = survey->unlaunched_kernels,
                                    .device_ns = survey->unlaunched_ns});
}

/* Linear in what is doubtful, which is a list for people to read. */
static void add_doubtful(struct module_costs *costs, const struct op_survey *survey, uint32_t i)
{
    const struct op_cost *cost = &survey->ops->costs[survey->ops->cost_of[i]];
    const char *name = trace_text(survey->trace, survey->trace->host[i].name);
    uint32_t module = module_of_host(survey->contexts, i);
    struct doubtful_op *op = NULL;

    for (uint32_t k = 0; k < costs->doubtful_count && !op; k++)
        if (costs->doubtful[k].module == module && strcmp(costs->doubtful[k].name, name) == 0)
            op = &costs->doubtful[k];
    if (!op) {
        ARRAY_ROOM(costs->doubtful, costs->doubtful_count);
        op = &costs->doubtful[costs->doubtful_count++];
        *op = (struct doubtful_op){.name = name, .module = module};
    }
    op->calls++;
    op->flops = plus(op->flops, cost->flops);
}

/* Matmuls first, then by FLOPs; names last, so that the order does not depend on the file. */
static int op_totals_compare_totals(const void *a, const void *b)
{
    const struct op_total *left = a;
    const struct op_total *right = b;

    if (left->kind != right->kind)
        return left->kind > right->kind ? -1 : 1;
    if (left->flops != right->flops)
        return left->flops > right->flops ? -1 : 1;
    if (left->host_ns != right->host_ns)
        return left->host_ns > right->host_ns ? -1 : 1;
    return strcmp(left->name, right->name);
}

static int compare_uncounted(const void *a, const void *b)
{
    const struct uncounted_op *left = a;
    const struct uncounted_op *right = b;

    if (left->device_ns != right->device_ns)
        return left->device_ns > right->device_ns ? -1 : 1;
    if (left->host_ns != right->host_ns)
        return left->host_ns > right->host_ns ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Fills ops, uncounted and doubtful of `costs`. One pass over host events: each is of one state,
 * so it is in one list at most. */
static void list_ops(struct module_costs *costs, const struct op_survey *survey)
{
    struct hash_map by_name = {0};
    struct uncounted_maps maps = {0};

    for (uint32_t i = 0; i < survey->trace->host_count; i++) {
        if (!survey->is_chosen[i])
            continue;
        switch ((enum op_state)survey->ops->states[i]) {
        case OP_COUNTED:
            add_counted(costs, &by_name, survey, i);
            break;
        case OP_INSIDE:
            add_device_time_inside(costs, &by_name, survey, i);
            add_inside_uncounted(costs, &maps, survey, i);
            break;
        case OP_NOT_COUNTED:
            add_uncounted(costs, &maps, survey, i);
            break;
        case OP_DOUBTFUL:
            add_doubtful(costs, survey, i);
            break;
        case OP_NO_OP:
            add_if_it_launches(costs, &maps, survey, i);
            break;
        }
    }
    costs->lacks_products = lacks_products(costs, survey);
    add_unlaunched(costs, survey);
    if (costs->op_count)
        qsort(costs->ops, costs->op_count, sizeof *costs->ops, op_totals_compare_totals);
    if (costs->uncounted_count)
        qsort(costs->uncounted, costs->uncounted_count, sizeof *costs->uncounted,
              compare_uncounted);
    hash_map_clear(&by_name);
    hash_map_clear(&maps.by_cost);
    hash_map_clear(&maps.by_name);
}

/* ---- measure module costs -------------------------------------------------------------------- */

/* Marks are looked for in so many events around a mark: no program nests deeper. */
enum { NESTING_MAX = 2000 };

struct measurement {
    struct module_costs *costs;
    const struct trace *trace;
    const struct module_cost_options *options;
    int64_t *own_ns;
    int64_t *device_ns; /* by host event: launched by it */
    bool *is_chosen;    /* by host event: starts in a window */
    int64_t unlaunched_kernels;
    int64_t unlaunched_ns;
};

/* Saturating: TOO_LARGE stays TOO_LARGE, so one impossible op makes a sum impossible and not
 * wrong. */
void phase_cost_add(struct phase_cost *to, const struct phase_cost *from)
{
    to->flops = plus(to->flops, from->flops);
    to->model_flops = plus(to->model_flops, from->model_flops);
    to->masked_flops = plus(to->masked_flops, from->masked_flops);
    to->macs = plus(to->macs, from->macs);
    to->pointwise_flops = plus(to->pointwise_flops, from->pointwise_flops);
    to->bytes = plus(to->bytes, from->bytes);
    to->matrix_bytes = plus(to->matrix_bytes, from->matrix_bytes);
    to->ops += from->ops;
    to->unsized_ops += from->unsized_ops;
    to->host_ns = plus(to->host_ns, from->host_ns);
    to->device_ns = plus(to->device_ns, from->device_ns);
    to->device_events += from->device_events;
}

/* The FLOPs of a part of it. */
static void phase_cost_take(struct phase_cost *from, const struct phase_cost *part)
{
    from->flops -= part->flops;
    from->model_flops -= part->model_flops;
    from->masked_flops -= part->masked_flops;
    from->macs -= part->macs;
}

/* Without the optimizer, whose FLOPs no convention calls the model's. */
struct phase_cost sum_of_phases(const struct phase_cost phases[PHASE_COUNT])
{
    struct phase_cost sum = {0};

    for (int phase = 0; phase < PHASE_COUNT; phase++)
        if (phase != PHASE_OPTIMIZER)
            phase_cost_add(&sum, &phases[phase]);
    return sum;
}

/* Windows are disjoint and in order. None means the whole trace. *last: the one of the last time,
 * which is near this one mostly. */
static bool is_in_windows(const struct time_window *windows, uint32_t count, int64_t time_ns,
                          uint32_t *last)
{
    if (count == 0)
        return true;
    if (*last == count || windows[*last].end_ns <= time_ns ||
        (*last > 0 && windows[*last - 1].end_ns > time_ns))
        *last = LOWER_BOUND(i, 0, count, windows[i].end_ns <= time_ns);
    return *last < count && windows[*last].start_ns <= time_ns;
}

static struct module_cost *cost_of_module(struct measurement *work, uint32_t module)
{
    return module == NO_MODULE ? &work->costs->outside : &work->costs->modules[module];
}

static struct phase_cost *phase_cost_of(struct measurement *work, uint32_t host_event)
{
    if (host_event == NO_EVENT)
        return &work->costs->outside.own[PHASE_FORWARD];
    return &cost_of_module(work, module_of_host(&work->costs->contexts, host_event))
                ->own[work->costs->contexts.phases[host_event]];
}

/* Matmul FLOPs and pointwise FLOPs stay apart: only the first are of the conventions. */
static void module_costs_add_op(struct phase_cost *to, const struct op_cost *cost)
{
    to->ops++;
    if (cost->bytes < 0)
        to->unsized_ops++;
    else
        to->bytes = plus(to->bytes, cost->bytes);
    if (cost->kind != COST_MATRIX) {
        to->pointwise_flops = plus(to->pointwise_flops, cost->flops);
        return;
    }
    to->flops = plus(to->flops, cost->flops);
    to->model_flops = plus(to->model_flops, cost->model_flops);
    to->masked_flops = plus(to->masked_flops, cost->masked_flops);
    to->macs = plus(to->macs, cost->macs);
    if (cost->bytes >= 0)
        to->matrix_bytes = plus(to->matrix_bytes, cost->bytes);
}

/* A call of a module inside a call of the same module is the same call. */
static bool is_inside_itself(const struct measurement *work, uint32_t i)
{
    const struct host_contexts *contexts = &work->costs->contexts;
    uint32_t name = work->trace->host[i].name;
    uint8_t phase = contexts->phases[i];

    i = contexts->parents[i];
    for (int depth = 0; i != NO_EVENT && contexts->phases[i] == phase && depth < NESTING_MAX;
         depth++, i = contexts->parents[i])
        if (work->trace->host[i].name == name)
            return true;
    return false;
}

/* Recomputation is a second call; its time is kept apart. What JAX marks in a backward are ops. */
static void module_costs_add_call(struct measurement *work, uint32_t i)
{
    struct module_cost *cost = cost_of_module(work, module_of_host(&work->costs->contexts, i));
    uint8_t phase = work->costs->contexts.phases[i];
    const struct event *call = &work->trace->host[i];
    int64_t duration_ns = work->trace->tracks[call->track].is_captured ? 0 : call->duration_ns;

    if (cost == &work->costs->outside || is_inside_itself(work, i) || phase == PHASE_BACKWARD)
        return;
    if (phase == PHASE_RECOMPUTE) {
        cost->recomputed_calls++;
        cost->recompute_ns += duration_ns;
    } else {
        cost->calls++;
        cost->forward_ns += duration_ns;
    }
}

static bool is_recorded_work(const struct event *event)
{
    return event->kind == EVENT_OPERATOR || event->kind == EVENT_RUNTIME_CALL ||
           event->kind == EVENT_ANNOTATION || event->kind == EVENT_PYTHON_FUNCTION;
}

static bool is_optimizer_range(const struct trace *trace, const struct event *event)
{
    return event->kind == EVENT_ANNOTATION &&
           has_prefix(trace_text(trace, event->name), "Optimizer.step#");
}

/* Its own time, that between what is inside of it: where a closure runs, that is not the
 * optimizer's. */
static void add_optimizer_range(struct measurement *work, uint32_t range)
{
    const struct host_contexts *contexts = &work->costs->contexts;
    const struct event *host = work->trace->host;
    const struct event *event = &host[range];
    int64_t own_ns = optimizer_time_between(&contexts->optimizer, event->track,
                                            (int64_t[2]){event->start_ns, event_end_ns(event)});

    for (uint32_t i = range + 1; i < work->trace->host_count && host[i].track == event->track &&
                                 host[i].start_ns < event_end_ns(event);
         i++)
        if (contexts->parents[i] == range &&
            is_optimizer_time(&contexts->optimizer, host[i].track, host[i].start_ns))
            own_ns -= host[i].duration_ns;
    if (own_ns < 0)
        own_ns = 0;
    if (own_ns > work->own_ns[range])
        own_ns = work->own_ns[range];
    work->costs->outside.own[PHASE_OPTIMIZER].host_ns += own_ns;
    work->costs->outside.own[PHASE_FORWARD].host_ns += work->own_ns[range] - own_ns;
}

/* Own time only: the time of children counts where they are, and sums over all are times of
 * the thread. */
static void module_costs_add_host_events(struct measurement *work)
{
    const struct trace *trace = work->trace;
    uint32_t last = 0;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        struct phase_cost *to = phase_cost_of(work, i);

        work->is_chosen[i] = is_in_windows(work->options->windows, work->options->window_count,
                                           event->start_ns, &last);
        if (!work->is_chosen[i])
            continue;
        if (is_optimizer_range(trace, event))
            add_optimizer_range(work, i);
        else if (is_recorded_work(event))
            to->host_ns += work->own_ns[i];
        if (work->costs->counted.states[i] == OP_COUNTED)
            module_costs_add_op(to, &work->costs->counted.costs[work->costs->counted.cost_of[i]]);
        if (module_of_mark(&work->costs->tree, event) != NO_MODULE)
            module_costs_add_call(work, i);
        else if (is_optimizer_range(trace, event))
            work->costs->optimizer_steps++;
        if (event->detail && trace->details[event->detail].input_shapes)
            work->costs->has_shapes = true;
    }
}

/* A kernel that computes products of several modules, or of two phases, stands in one: each gets
 * its own. */
static void spread_compiled_products(struct measurement *work, const struct compiled_model *model)
{
    const struct compiled_calls *calls = &work->costs->compiled;

    for (size_t i = 0; i < calls->event_count; i++) {
        const struct compiled_event *found = &calls->events[i];
        struct phase_cost *from = phase_cost_of(work, found->event);

        if (!found->sized || found->sized->flops < 0 || !work->is_chosen[found->event] ||
            from->flops == TOO_LARGE || work->costs->counted.states[found->event] != OP_COUNTED)
            continue;
        for (uint32_t k = 0; k < found->sized->product_count; k++) {
            const struct compiled_product *product = &found->sized->products[k];
            int phase = work->costs->contexts.phases[found->event];
            uint32_t module = compiled_module_at(model, found->base, &product->place);
            struct phase_cost *to =
                &cost_of_module(work, module)->own[product->is_again ? PHASE_RECOMPUTE : phase];
            const struct phase_cost part = {.flops = product->flops,
                                            .model_flops = product->flops,
                                            .masked_flops = product->flops,
                                            .macs = product->flops / 2};

            phase_cost_take(from, &part);
            phase_cost_add(to, &part);
        }
    }
}

/* Device work belongs where its launch call was made; where that is not known, to the operator the
 * event names. By the window in which the kernel starts, not its launch: device time is what the
 * ledger's windows have. */
static void module_costs_add_device_events(struct measurement *work)
{
    const struct trace *trace = work->trace;
    const struct time_window *windows =
        work->options->device_windows ? work->options->device_windows : work->options->windows;
    uint32_t last = 0;

    work->costs->has_device = trace->device_count > 0;
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        uint32_t operator_event = trace_operator_of(trace, i);
        struct phase_cost *to = phase_cost_of(work, trace_origin_of(trace, i));

        if (!is_in_windows(windows, work->options->window_count, event->start_ns, &last))
            continue;
        to->device_ns += event->duration_ns;
        to->device_events++;
        work->costs->device_ns += event->duration_ns;
        if (operator_event != NO_EVENT) {
            work->device_ns[operator_event] += event->duration_ns;
        } else if (event->kind == EVENT_KERNEL) {
            work->unlaunched_kernels++;
            work->unlaunched_ns += event->duration_ns;
        }
    }
}

/* Children first. Parents before children in `order`, so from its end each total is complete
 * when it is added upwards. A module that was never called itself (a ModuleList) has the time of
 * its children. */
static void module_costs_sum_modules(struct module_costs *costs)
{
    const struct module_tree *tree = &costs->tree;

    for (uint32_t i = tree->count; i-- > 0;) {
        uint32_t index = tree->order[i];
        struct module_cost *cost = &costs->modules[index];
        uint32_t parent = tree->modules[index].parent;

        for (int phase = 0; phase < PHASE_COUNT; phase++)
            phase_cost_add(&cost->total[phase], &cost->own[phase]);
        if (parent == NO_MODULE) {
            costs->forward_ns = saturated_sum(costs->forward_ns, cost->forward_ns);
            continue;
        }
        for (int phase = 0; phase < PHASE_COUNT; phase++)
            phase_cost_add(&costs->modules[parent].total[phase], &cost->total[phase]);
        if (!tree->modules[parent].is_called) {
            costs->modules[parent].forward_ns += cost->forward_ns;
            costs->modules[parent].recompute_ns += cost->recompute_ns;
        }
    }
}

static void sum_all(struct module_costs *costs)
{
    int64_t device_ns = 0;

    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        costs->outside.total[phase] = costs->outside.own[phase];
        costs->total[phase] = costs->outside.own[phase];
        for (uint32_t i = 0; i < costs->tree.count; i++)
            phase_cost_add(&costs->total[phase], &costs->modules[i].own[phase]);
        device_ns += costs->total[phase].device_ns;
    }
    require_invariant(device_ns == costs->device_ns,
                      "device times of all modules sum to that of the trace");
}

/* What could not be decided is in the model's count; the report says how much it is. */
static void sum_undecided(struct module_costs *costs, const struct measurement *work,
                          const bool *is_undecided)
{
    for (uint32_t i = 0; i < work->trace->host_count; i++) {
        if (work->is_chosen[i] &&
            ((is_undecided && is_undecided[i]) || is_product_of_no_phase(costs, work->trace, i))) {
            costs->undecided_calls++;
            costs->undecided_flops =
                plus(costs->undecided_flops, costs->counted.costs[costs->counted.cost_of[i]].flops);
        }
    }
}

/* In the order of what needs what: the tree, contexts in it, compiled calls that move ops to
 * modules, what counts, then phases that only counts can tell; sums last. */
void measure_module_costs(struct module_costs *costs, const struct trace *trace,
                          const struct module_cost_options *options)
{
    struct measurement work = {.costs = costs, .trace = trace, .options = options};
    uint32_t *parents = find_host_parents(trace);
    size_t count = trace->host_count + (size_t)1;
    struct compiled_model model = {.tree = &costs->tree, .description = options->description};
    struct op_surroundings around = {0};
    bool *is_undecided;

    module_tree_build(&costs->tree, trace, parents, options->description);
    find_host_contexts(&costs->contexts, trace, &costs->tree, parents);
    find_compiled_calls(&costs->compiled, &costs->contexts, trace, &model);
    find_compiled_runs(&costs->compiled, trace, &costs->contexts, &model);
    bind_compiled_sizes(&costs->compiled, trace, parents);
    find_op_surroundings(&around, trace, parents,
                         options->description ? options->description->architecture : NULL);
    count_ops(&costs->counted, trace, &costs->contexts,
              &(struct counting_options){options->user, &around});
    op_surroundings_clear(&around);
    count_compiled_calls(&costs->compiled, &costs->counted);
    leave_out_sparse(&costs->counted, trace, parents, options->user);
    is_undecided = find_compiled_recompute(&costs->contexts, trace, &costs->counted);
    set_compiled_phases(&costs->compiled, &costs->contexts, trace, is_undecided);
    host_contexts_keep_nodes(&costs->contexts, trace, &costs->tree);
    costs->modules = require_memory(calloc(costs->tree.count + (size_t)1, sizeof *costs->modules));
    work.own_ns = measure_own_times(trace, parents);
    work.device_ns = large_array_new(count * sizeof *work.device_ns);
    work.is_chosen = large_array_new(count * sizeof *work.is_chosen);
    module_costs_add_host_events(&work);
    spread_compiled_products(&work, &model);
    module_costs_add_device_events(&work);
    sum_undecided(costs, &work, is_undecided);
    module_costs_sum_modules(costs);
    sum_all(costs);
    list_ops(costs, &(struct op_survey){.trace = trace,
                                        .ops = &costs->counted,
                                        .contexts = &costs->contexts,
                                        .own_ns = work.own_ns,
                                        .device_ns = work.device_ns,
                                        .is_chosen = work.is_chosen,
                                        .unlaunched_kernels = work.unlaunched_kernels,
                                        .unlaunched_ns = work.unlaunched_ns});
    large_array_free(is_undecided);
    large_array_free(work.is_chosen);
    large_array_free(work.device_ns);
    large_array_free(work.own_ns);
}

void module_costs_clear(struct module_costs *costs)
{
    module_tree_clear(&costs->tree);
    host_contexts_clear(&costs->contexts);
    counted_ops_clear(&costs->counted);
    compiled_calls_clear(&costs->compiled);
    free(costs->modules);
    free(costs->ops);
    free(costs->uncounted);
    free(costs->doubtful);
    *costs = (struct module_costs){0};
}
