/* Sums ops by name. */
#include "cost/modules/op_totals.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "cost/flops/saturating.h"
#include "ledger/kernel_class.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* Device work that an op inside a counted one launched belongs to the counted one. */
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

/* The row of the op's name and reason, new where there is none. */
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

/* Products among the kernels of ops that are not counted, or of none. */
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
    return kernel_class_is_matrix(operator_class(op->name));
}

static bool lacks_products(const struct module_costs *costs, const struct op_survey *survey)
{
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

static void add_doubtful(struct module_costs *costs, const struct op_survey *survey, uint32_t i)
{
    const struct op_cost *cost = &survey->ops->costs[survey->ops->cost_of[i]];
    const char *name = trace_text(survey->trace, survey->trace->host[i].name);
    uint32_t module = survey->contexts->modules[i];
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

void list_ops(struct module_costs *costs, const struct op_survey *survey)
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
