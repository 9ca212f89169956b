/* The tables of the section module_cost: modules, groups of modules; ops counted, not counted,
 * doubtful. */
#include "base/core/apportion.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/saturated.h"
#include "base/core/search.h"
#include "base/core/string_pool.h"
#include "output/results/metrics.h"
#include "sections/model/module_cost_sections.h"
#include "sections/tally.h"
#include "trace/recorder_words.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct value flops_per_step(const struct module_cost_view *view, int64_t flops)
{
    if (!view->costs->has_shapes)
        return value_not_known(recorder_words_for(view->trace)->needs_shapes);
    return (struct value){.unit = UNIT_FLOPS, .real = (double)flops / (double)view->steps};
}

struct value time_per_step(const struct module_cost_view *view, int64_t ns)
{
    return value_time_ns(rounded_mean(ns, view->steps));
}

struct value count_per_step(const struct module_cost_view *view, int64_t count)
{
    if (!view->costs->has_shapes)
        return value_not_known(recorder_words_for(view->trace)->needs_shapes);
    return value_count(rounded_mean(count, view->steps));
}

enum module_column {
    COLUMN_NAME,
    COLUMN_CLASS,
    COLUMN_PARAMETERS,
    COLUMN_FORWARD_FLOPS,
    COLUMN_FORWARD_SHARE,
    COLUMN_FORWARD_MACS,
    COLUMN_FORWARD_LATENCY,
    COLUMN_LATENCY_SHARE,
    COLUMN_FORWARD_RATE,
    COLUMN_BACKWARD_FLOPS,
    COLUMN_BACKWARD_LATENCY,
    COLUMN_RECOMPUTED_FLOPS,
    COLUMN_RECOMPUTE_LATENCY,
    COLUMN_DEVICE_TIME,
    COLUMN_DEVICE_SHARE,
    COLUMN_BYTES,
    COLUMN_INTENSITY,
    COLUMN_CALLS,
    COLUMN_MODULE,
    COLUMN_EXTRA_REPR,
    COLUMN_TRAINABLE,
    COLUMN_FORWARD_IN_ALL,
    COLUMN_BACKWARD_IN_ALL,
    COLUMN_RECOMPUTED_IN_ALL,
    COLUMN_MASKED_IN_ALL,
    COLUMN_MODEL_IN_ALL,
    COLUMN_MACS_IN_ALL,
    COLUMN_POINTWISE_IN_ALL,
    COLUMN_FORWARD_POINTWISE_IN_ALL,
    COLUMN_OWN_FORWARD_IN_ALL,
    COLUMN_OWN_BACKWARD_IN_ALL,
    COLUMN_OWN_RECOMPUTED_IN_ALL,
    COLUMN_OWN_DEVICE_IN_ALL,
    COLUMN_FORWARD_NS_IN_ALL,
    COLUMN_COUNT,
};

#define FOR_PROGRAMS(key, title)                             \
    {                                                        \
        key, title, UNIT_COUNT, PRIORITY_FOR_PROGRAMS, false \
    }

static const struct column module_columns[COLUMN_COUNT] = {
    [COLUMN_NAME] = {"name", "module", UNIT_TEXT, 0, BAR_NONE},
    [COLUMN_CLASS] = {METRIC_NAMES(MODULE_CLASS), METRIC_UNIT(MODULE_CLASS), 4, BAR_NONE},
    [COLUMN_PARAMETERS] = {"parameters", "parameters", UNIT_COUNT, 5, BAR_NONE},
    [COLUMN_FORWARD_FLOPS] = {"forward_flops", "forward FLOPs", UNIT_FLOPS, 0, BAR_NONE},
    [COLUMN_FORWARD_SHARE] = {"forward_share", "share", UNIT_FRACTION, 3, BAR_NONE},
    [COLUMN_FORWARD_MACS] = {"forward_macs", "forward MACs", UNIT_COUNT, 12, BAR_NONE},
    [COLUMN_FORWARD_LATENCY] = {"forward_latency", "forward latency", UNIT_TIME_NS, 1, BAR_NONE},
    [COLUMN_LATENCY_SHARE] = {"latency_share", "share of latency", UNIT_FRACTION, 7, BAR_NONE},
    [COLUMN_FORWARD_RATE] = {"forward_flops_per_second", "forward FLOP/s", UNIT_FLOPS_PER_SECOND, 8,
                             BAR_NONE},
    [COLUMN_BACKWARD_FLOPS] = {"backward_flops", "backward FLOPs", UNIT_FLOPS, 2, BAR_NONE},
    [COLUMN_BACKWARD_LATENCY] = {"backward_latency", "backward latency", UNIT_TIME_NS, 2, BAR_NONE},
    [COLUMN_RECOMPUTED_FLOPS] = {"recomputed_flops", "recomputed", UNIT_FLOPS, 3, BAR_NONE},
    [COLUMN_RECOMPUTE_LATENCY] = {"recompute_latency", "latency again", UNIT_TIME_NS, 9, BAR_NONE},
    [COLUMN_DEVICE_TIME] = {"device_time", "device time", UNIT_TIME_NS, 1, BAR_NONE},
    [COLUMN_DEVICE_SHARE] = {"device_share", "share of device time", UNIT_FRACTION, 6, BAR_NONE},
    [COLUMN_BYTES] = {"bytes", "bytes", UNIT_BYTES, 10, BAR_NONE},
    [COLUMN_INTENSITY] = {"arithmetic_intensity", "FLOPs per byte", UNIT_NUMBER, 11, BAR_NONE},
    [COLUMN_CALLS] = {"calls", "calls", UNIT_NUMBER, 13, BAR_NONE},
    [COLUMN_MODULE] = {"module", "full name", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    [COLUMN_EXTRA_REPR] = {"extra_repr", "settings", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    [COLUMN_TRAINABLE] = FOR_PROGRAMS("trainable_parameters", "trained parameters"),
    [COLUMN_FORWARD_IN_ALL] = FOR_PROGRAMS("forward_flops_in_all", "forward, all steps"),
    [COLUMN_BACKWARD_IN_ALL] = FOR_PROGRAMS("backward_flops_in_all", "backward, all steps"),
    [COLUMN_RECOMPUTED_IN_ALL] = FOR_PROGRAMS("recomputed_flops_in_all", "again, all steps"),
    [COLUMN_MASKED_IN_ALL] = FOR_PROGRAMS("masked_flops_in_all", "masked attention excluded"),
    [COLUMN_MODEL_IN_ALL] = FOR_PROGRAMS("model_flops_in_all", "FLOPs, none recomputed, all steps"),
    [COLUMN_MACS_IN_ALL] = FOR_PROGRAMS("forward_macs_in_all", "MACs, all steps"),
    [COLUMN_POINTWISE_IN_ALL] = FOR_PROGRAMS("pointwise_flops_in_all", "other ops, all steps"),
    [COLUMN_FORWARD_POINTWISE_IN_ALL] =
        FOR_PROGRAMS("forward_pointwise_flops_in_all", "other ops of the forward, all steps"),
    [COLUMN_OWN_FORWARD_IN_ALL] = FOR_PROGRAMS("own_forward_flops_in_all", "own forward"),
    [COLUMN_OWN_BACKWARD_IN_ALL] = FOR_PROGRAMS("own_backward_flops_in_all", "own backward"),
    [COLUMN_OWN_RECOMPUTED_IN_ALL] = FOR_PROGRAMS("own_recomputed_flops_in_all", "own again"),
    [COLUMN_OWN_DEVICE_IN_ALL] = {"own_device_time_in_all", "own device time", UNIT_TIME_NS,
                                  PRIORITY_FOR_PROGRAMS, BAR_NONE},
    [COLUMN_FORWARD_NS_IN_ALL] = {"forward_latency_in_all", "forward latency, all steps",
                                  UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE},
};

static struct value module_cost_tables_share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? value_fraction((double)part / (double)whole) : value_none();
}

/* The exact sums over all steps. */
static void fill_in_all(struct value *cells, const struct module_cost *cost)
{
    struct phase_cost sum = sum_of_phases(cost->total);

    cells[COLUMN_FORWARD_IN_ALL] = value_count(cost->total[PHASE_FORWARD].flops);
    cells[COLUMN_BACKWARD_IN_ALL] = value_count(cost->total[PHASE_BACKWARD].flops);
    cells[COLUMN_RECOMPUTED_IN_ALL] = value_count(cost->total[PHASE_RECOMPUTE].flops);
    cells[COLUMN_MASKED_IN_ALL] = value_count(sum.masked_flops);
    cells[COLUMN_MODEL_IN_ALL] = value_count(cost->total[PHASE_FORWARD].model_flops +
                                             cost->total[PHASE_BACKWARD].model_flops);
    cells[COLUMN_MACS_IN_ALL] = value_count(cost->total[PHASE_FORWARD].macs);
    cells[COLUMN_POINTWISE_IN_ALL] = value_count(sum.pointwise_flops);
    cells[COLUMN_FORWARD_POINTWISE_IN_ALL] =
        value_count(cost->total[PHASE_FORWARD].pointwise_flops);
    cells[COLUMN_OWN_FORWARD_IN_ALL] = value_count(cost->own[PHASE_FORWARD].flops);
    cells[COLUMN_OWN_BACKWARD_IN_ALL] = value_count(cost->own[PHASE_BACKWARD].flops);
    cells[COLUMN_OWN_RECOMPUTED_IN_ALL] = value_count(cost->own[PHASE_RECOMPUTE].flops);
    cells[COLUMN_OWN_DEVICE_IN_ALL] = value_time_ns(sum_of_phases(cost->own).device_ns);
    cells[COLUMN_FORWARD_NS_IN_ALL] = value_time_ns(cost->forward_ns);
}

/* A column of a phase that never ran stays empty in all rows: zeros there would look like a
 * result. */
static void fill_flops(struct value *cells, const struct module_cost_view *view,
                       const struct module_cost *cost)
{
    const struct phase_cost *total = cost->total;
    const struct phase_cost *all = view->costs->total;
    struct phase_cost sum = sum_of_phases(total);

    cells[COLUMN_FORWARD_FLOPS] = flops_per_step(view, total[PHASE_FORWARD].flops);
    cells[COLUMN_FORWARD_SHARE] =
        module_cost_tables_share_of(total[PHASE_FORWARD].flops, all[PHASE_FORWARD].flops);
    cells[COLUMN_FORWARD_MACS] = count_per_step(view, total[PHASE_FORWARD].macs);
    if (all[PHASE_BACKWARD].host_ns > 0)
        cells[COLUMN_BACKWARD_FLOPS] = flops_per_step(view, total[PHASE_BACKWARD].flops);
    if (all[PHASE_RECOMPUTE].host_ns > 0)
        cells[COLUMN_RECOMPUTED_FLOPS] = flops_per_step(view, total[PHASE_RECOMPUTE].flops);
    if (view->costs->has_shapes)
        cells[COLUMN_BYTES] = value_bytes(sum.bytes / view->steps);
    if (sum.matrix_bytes > 0)
        cells[COLUMN_INTENSITY] = value_number((double)sum.flops / (double)sum.matrix_bytes);
}

/* Rates without shapes would be of zero FLOPs: none is given. */
static void fill_times(struct value *cells, const struct module_cost_view *view,
                       const struct module_cost *cost)
{
    const struct phase_cost *total = cost->total;
    const struct phase_cost *all = view->costs->total;

    if (cost->forward_ns > 0) {
        cells[COLUMN_FORWARD_LATENCY] = time_per_step(view, cost->forward_ns);
        cells[COLUMN_LATENCY_SHARE] =
            module_cost_tables_share_of(cost->forward_ns, view->costs->forward_ns);
        cells[COLUMN_FORWARD_RATE] = (struct value){.unit = UNIT_FLOPS_PER_SECOND,
                                                    .real = (double)(total[PHASE_FORWARD].flops) /
                                                            ((double)cost->forward_ns / 1e9)};
    }
    if (!view->costs->has_shapes)
        cells[COLUMN_FORWARD_RATE] = value_none();
    if (all[PHASE_BACKWARD].host_ns > 0)
        cells[COLUMN_BACKWARD_LATENCY] = time_per_step(view, total[PHASE_BACKWARD].host_ns);
    if (all[PHASE_RECOMPUTE].host_ns > 0)
        cells[COLUMN_RECOMPUTE_LATENCY] = time_per_step(view, total[PHASE_RECOMPUTE].host_ns);
    if (view->costs->has_device) {
        int64_t device_ns = sum_of_phases(total).device_ns;

        cells[COLUMN_DEVICE_TIME] = time_per_step(view, device_ns);
        cells[COLUMN_DEVICE_SHARE] = module_cost_tables_share_of(device_ns, view->costs->device_ns);
    }
}

/* Class and parameters come from the recorder's description of the model; a trace has only
 * names of modules. One cell says what is needed, the others stay empty. */
static void fill_description(struct value *cells, struct results *results,
                             const struct described_module *described, const char *needs)
{
    if (!described) {
        cells[COLUMN_PARAMETERS] = value_not_known(needs);
        return;
    }
    cells[COLUMN_CLASS] = value_text(results_text(results, described->class_name));
    cells[COLUMN_PARAMETERS] = value_count(described->parameters);
    cells[COLUMN_TRAINABLE] = value_count(described->trainable);
    cells[COLUMN_EXTRA_REPR] = value_text(results_text(results, described->extra_repr));
}

static void module_cost_tables_add_module_row(struct results *results, struct table *table,
                                              const struct module_cost_view *view, uint32_t index,
                                              const char *needs_model)
{
    const struct module *module = &view->costs->tree.modules[index];
    const struct module_cost *cost = &view->costs->modules[index];
    /* without those around it a module goes by its full name */
    struct value *cells = table_add_row(results, table, view->pattern ? 0 : (int)module->depth);

    cells[COLUMN_NAME] =
        value_text(results_text(results, view->pattern ? module->name : module->own_name));
    cells[COLUMN_MODULE] = value_text(results_text(results, module->name));
    fill_description(cells, results, describe_module(view->description, module->name), needs_model);
    fill_flops(cells, view, cost);
    fill_times(cells, view, cost);
    if (module->is_called)
        cells[COLUMN_CALLS] = value_number((double)cost->calls / (double)view->steps);
    fill_in_all(cells, cost);
}

/* What belongs to no module: the loss, the optimizer, the loader. */
static void add_outside_row(struct results *results, struct table *table,
                            const struct module_cost_view *view)
{
    const struct module_cost *outside = &view->costs->outside;
    struct value *cells = table_add_row(results, table, 0);

    cells[COLUMN_NAME] = value_text("(outside of modules)");
    fill_flops(cells, view, outside);
    fill_times(cells, view, outside);
    fill_in_all(cells, outside);
}

/* Modules whose parameters are not known come last, as -1. */
static int64_t sort_value(const struct module_cost_view *view, uint32_t index)
{
    const struct module_cost *cost = &view->costs->modules[index];
    const struct described_module *described;
    struct phase_cost sum = sum_of_phases(cost->total);

    switch (view->sort) {
    case MODULE_SORT_FLOPS:
        return sum.flops;
    case MODULE_SORT_TIME:
        return view->costs->has_device ? sum.device_ns
                                       : cost->forward_ns + cost->total[PHASE_BACKWARD].host_ns;
    case MODULE_SORT_PARAMETERS:
        described = describe_module(view->description, view->costs->tree.modules[index].name);
        return described ? described->parameters : -1;
    case MODULE_SORT_MODEL:
    case MODULE_SORT_NAME:
        break;
    }
    return 0;
}

/* A module beside its siblings, ready to be sorted. */
struct sorted_module {
    uint32_t parent;
    uint32_t index;
    uint32_t position; /* in the model */
    int64_t value;
    const char *name;
};

/* Within one parent: a module must stay below the one it is in, whatever the order is by. Ties
 * by place in the model. */
static int compare_sorted(const void *a, const void *b)
{
    const struct sorted_module *left = a;
    const struct sorted_module *right = b;
    int by_name = left->name ? strcmp(left->name, right->name) : 0;

    if (left->parent != right->parent)
        return left->parent < right->parent ? -1 : 1;
    if (left->value != right->value)
        return left->value > right->value ? -1 : 1;
    if (by_name)
        return by_name;
    return left->position < right->position ? -1 : left->position > right->position;
}

/* All modules, those of one parent together and in the order asked for; the roots last. All
 * modules in one array sorted by parent first: children of any module are then a range, found by
 * binary search. */
static struct sorted_module *sort_siblings(const struct module_cost_view *view)
{
    const struct module_tree *tree = &view->costs->tree;
    struct sorted_module *all = require_memory(calloc(tree->count + (size_t)1, sizeof *all));

    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t index = tree->order[i];

        all[i] = (struct sorted_module){
            .parent = tree->modules[index].parent,
            .index = index,
            .position = i,
            .value = sort_value(view, index),
            .name = view->sort == MODULE_SORT_NAME ? tree->modules[index].own_name : NULL};
    }
    if (tree->count)
        qsort(all, tree->count, sizeof *all, compare_sorted);
    return all;
}

/* The first place behind the children of `parent`; where it has none, any place. */
static uint32_t end_of_children(const struct sorted_module *all, uint32_t count, uint32_t parent)
{
    return LOWER_BOUND(i, 0, count, all[i].parent <= parent);
}

/* Each module before its children, and these before its next sibling. Depth first with a stack
 * in an array: children are pushed last first, so the first comes out next. O(n log n), without
 * recursion. */
static void walk_sorted(const struct module_cost_view *view, uint32_t *order)
{
    uint32_t total = view->costs->tree.count;
    struct sorted_module *all = sort_siblings(view);
    uint32_t *waiting = require_memory(calloc(total + (size_t)1, sizeof *waiting)); /* next: last */
    uint32_t waiting_count = 0;
    uint32_t parent = NO_MODULE;

    for (uint32_t count = 0; count < total;) {
        for (uint32_t i = end_of_children(all, total, parent); i > 0; i--) {
            if (all[i - 1].parent != parent)
                break;
            waiting[waiting_count++] = all[i - 1].index;
        }
        if (waiting_count == 0)
            break;
        parent = order[count++] = waiting[--waiting_count];
    }
    free(waiting);
    free(all);
}

/* Modules, children sorted as the view asks, parents before children; [tree.count]. free() it. */
static uint32_t *sorted_modules(const struct module_cost_view *view)
{
    const struct module_tree *tree = &view->costs->tree;
    uint32_t *order = require_memory(calloc(tree->count + (size_t)1, sizeof *order));

    if (view->sort != MODULE_SORT_MODEL)
        walk_sorted(view, order);
    else if (tree->count)
        memcpy(order, tree->order, tree->count * sizeof *order);
    return order;
}

static bool module_cost_tables_is_shown(const struct module_cost_view *view, uint32_t index)
{
    const struct module *module = &view->costs->tree.modules[index];

    return module->depth <= view->depth &&
           (!view->pattern || fnmatch(view->pattern, module->name, 0) == 0);
}

/* Modules are shown by the pattern or by the depth asked for. What is outside of all modules
 * is a row too, as without it the column would not add up; with a pattern it would only
 * disturb. */
void add_module_table(struct results *results, struct section *section,
                      const struct module_cost_view *view)
{
    const char *needs_model = recorder_words_for(view->trace)->model;
    uint32_t *order;
    struct table *table;

    if (view->costs->tree.count == 0)
        return;
    table = section_add_table(results, section, "modules", "Modules", module_columns, COLUMN_COUNT);
    table->note = "Latency is time on the host, in the forward from entering a module to leaving "
                  "it, in the backward that of its autograd nodes.";
    order = sorted_modules(view);
    for (uint32_t i = 0; i < view->costs->tree.count; i++)
        if (module_cost_tables_is_shown(view, order[i]))
            module_cost_tables_add_module_row(results, table, view, order[i], needs_model);
    if (!view->pattern)
        add_outside_row(results, table, view);
    free(order);
}

/* ---- modules of one depth and class together ---- */

struct module_group {
    uint32_t depth;
    const char *name; /* class, or own name where the class is not known */
    int64_t modules;
    int64_t parameters; /* -1: not known */
    int64_t forward_ns;
    int64_t sort_value;
    struct module_cost cost;
};

struct module_groups {
    struct module_group *groups; /* [count], room for all modules */
    uint32_t count;
    struct string_pool names;
    struct hash_map by_key; /* depth and name */
};

static struct module_group *module_cost_tables_group_of(struct module_groups *groups,
                                                        uint32_t depth, const char *name)
{
    uint32_t id = string_pool_add(&groups->names, name, strlen(name)); /* which may be in there */
    uint32_t index = hash_map_add(&groups->by_key, pair_key(depth, id), groups->count);

    if (index == groups->count)
        groups->groups[groups->count++] = (struct module_group){.depth = depth, .name = name};
    return &groups->groups[index];
}

static int module_cost_tables_compare_groups(const void *a, const void *b)
{
    const struct module_group *left = a;
    const struct module_group *right = b;

    if (left->depth != right->depth)
        return left->depth < right->depth ? -1 : 1;
    if (left->sort_value != right->sort_value)
        return left->sort_value > right->sort_value ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* The class of a module of which nothing is described: of the profiler's frames the name without
 * the number. The profiler numbers modules of a class, "Linear_12". */
static const char *class_by_name(struct module_groups *groups, const struct module_cost_view *view,
                                 const char *name)
{
    size_t length = strlen(name);
    uint32_t id;

    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
        length--;
    if (!view->costs->tree.is_of_frames || length < 2 || name[length - 1] != '_')
        return name;
    id = string_pool_add(&groups->names, name, length - 1);
    return string_pool_text(&groups->names, id);
}

/* Parameters are a sum only where all of the group are described. */
static void group_modules(struct module_groups *groups, const struct module_cost_view *view)
{
    for (uint32_t i = 0; i < view->costs->tree.count; i++) {
        uint32_t index = view->costs->tree.order[i];
        const struct module *module = &view->costs->tree.modules[index];
        const struct described_module *described = describe_module(view->description, module->name);
        struct module_group *group;

        if (!module_cost_tables_is_shown(view, index))
            continue;
        group = module_cost_tables_group_of(groups, module->depth,
                                            described && *described->class_name
                                                ? described->class_name
                                                : class_by_name(groups, view, module->own_name));
        group->modules++;
        group->parameters = described && group->parameters >= 0
                                ? saturated_sum(group->parameters, described->parameters)
                                : -1;
        group->cost.forward_ns =
            saturated_sum(group->cost.forward_ns, view->costs->modules[index].forward_ns);
        group->sort_value = saturated_sum(
            group->sort_value, view->sort == MODULE_SORT_MODEL
                                   ? sum_of_phases(view->costs->modules[index].total).flops
                                   : sort_value(view, index));
        for (int phase = 0; phase < PHASE_COUNT; phase++)
            phase_cost_add(&group->cost.total[phase], &view->costs->modules[index].total[phase]);
    }
    if (groups->count)
        qsort(groups->groups, groups->count, sizeof *groups->groups,
              module_cost_tables_compare_groups);
}

#define DEPTHS_COLUMNS(COLUMN)                                                                     \
    COLUMN("class", "class", UNIT_TEXT, 0, BAR_NONE,                                               \
           value_text(results_text(results, group->name)))                                         \
    COLUMN("model_depth", "depth", UNIT_COUNT, 0, BAR_NONE, value_count(group->depth))             \
    COLUMN("modules", "modules", UNIT_COUNT, 4, BAR_NONE, value_count(group->modules))             \
    COLUMN("parameters", "parameters", UNIT_COUNT, 3, BAR_NONE,                                    \
           group->parameters >= 0 ? value_count(group->parameters) : value_not_known(needs_model)) \
    COLUMN("forward_flops", "forward FLOPs", UNIT_FLOPS, 1, BAR_NONE,                              \
           filled[COLUMN_FORWARD_FLOPS])                                                           \
    COLUMN("forward_macs", "forward MACs", UNIT_COUNT, 5, BAR_NONE, filled[COLUMN_FORWARD_MACS])   \
    COLUMN("forward_latency", "forward latency", UNIT_TIME_NS, 1, BAR_NONE,                        \
           filled[COLUMN_FORWARD_LATENCY])                                                         \
    COLUMN("backward_flops", "backward FLOPs", UNIT_FLOPS, 2, BAR_NONE,                            \
           filled[COLUMN_BACKWARD_FLOPS])                                                          \
    COLUMN("backward_latency", "backward latency", UNIT_TIME_NS, 2, BAR_NONE,                      \
           filled[COLUMN_BACKWARD_LATENCY])                                                        \
    COLUMN("device_time", "device time", UNIT_TIME_NS, 1, BAR_NONE, filled[COLUMN_DEVICE_TIME])

static void add_group_row(struct results *results, struct table *table,
                          const struct module_cost_view *view, const struct module_group *group,
                          const char *needs_model)
{
    struct value filled[COLUMN_COUNT] = {{0}};

    for (int i = 0; i < COLUMN_COUNT; i++)
        filled[i] = value_none();
    fill_flops(filled, view, &group->cost);
    fill_times(filled, view, &group->cost);
    FILL_ROW(table_add_row(results, table, 0), DEPTHS_COLUMNS);
}

/* As many rows as asked for at each depth, not of all together: else the deepest level would
 * take them all. */
void add_depth_table(struct results *results, struct section *section,
                     const struct module_cost_view *view)
{
    struct module_groups groups = {0};
    const char *needs_model = recorder_words_for(view->trace)->model;
    struct table *table;
    uint32_t shown = 0;

    if (view->costs->tree.count == 0)
        return;
    groups.groups = require_memory(calloc(view->costs->tree.count, sizeof *groups.groups));
    group_modules(&groups, view);
    table = section_add_table(results, section, "depths", "By depth in the model",
                              COLUMNS_OF(DEPTHS_COLUMNS));
    table->note = "Modules of one class at one depth, summed; a module holds those below it.";
    for (uint32_t i = 0; i < groups.count; i++) {
        const struct module_group *group = &groups.groups[i];

        shown = i > 0 && group->depth == groups.groups[i - 1].depth ? shown + 1 : 0;
        if (shown < view->top)
            add_group_row(results, table, view, group, needs_model);
    }
    table->rows_in_all = groups.count;
    free(groups.groups);
    string_pool_clear(&groups.names);
    hash_map_clear(&groups.by_key);
}

/* Ops that only make a view, and those of which nothing is counted, share the word: neither
 * adds to any sum. */
static const char *kind_title(enum cost_kind kind)
{
    switch (kind) {
    case COST_MATRIX:
        return "matrix";
    case COST_POINTWISE:
        return "other";
    case COST_MOVEMENT:
        return "movement";
    case COST_FREE:
    case COST_NOT_COUNTED:
        break;
    }
    return "none";
}

#define OPS_COLUMNS(COLUMN)                                                                       \
    COLUMN("op", "op", UNIT_TEXT, 0, BAR_NONE, value_text(results_text(results, op->name)))       \
    COLUMN("kind", "kind", UNIT_TEXT, 2, BAR_NONE, value_text(kind_title(op->kind)))              \
    COLUMN("calls", "calls", UNIT_NUMBER, 1, BAR_NONE,                                            \
           value_number((double)op->calls / (double)view->steps))                                 \
    COLUMN("flops", "FLOPs", UNIT_FLOPS, 0, BAR_NONE, flops_per_step(view, op->flops))            \
    COLUMN("bytes", "bytes", UNIT_BYTES, 3, BAR_NONE,                                             \
           op->bytes < 0 ? value_not_known("needs values that a trace does not have")             \
                         : value_bytes(op->bytes / view->steps))                                  \
    COLUMN("host_time", "host time", UNIT_TIME_NS, 1, BAR_NONE, time_per_step(view, op->host_ns)) \
    COLUMN("device_time", "device time", UNIT_TIME_NS, 1, BAR_NONE,                               \
           costs->has_device ? time_per_step(view, op->device_ns) : value_none())                 \
    COLUMN("flops_in_all", "FLOPs, all steps", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,       \
           value_count(op->flops))                                                                \
    COLUMN("calls_in_all", "calls, all steps", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,       \
           value_count(op->calls))

/* In a brief page modules tell the same, with names that a reader knows. */
static void add_counted_ops(struct results *results, struct section *section,
                            const struct module_cost_view *view)
{
    const struct module_costs *costs = view->costs;
    struct table *table;

    if (costs->op_count == 0 || (view->is_brief && costs->tree.count > 0))
        return;
    table =
        section_add_table(results, section, "ops", "Ops that are counted", COLUMNS_OF(OPS_COLUMNS));
    for (uint32_t i = 0; i < costs->op_count && i < view->top; i++) {
        const struct op_total *op = &costs->ops[i];

        FILL_ROW(table_add_row(results, table, 0), OPS_COLUMNS);
    }
    table->rows_in_all = costs->op_count;
}

#define NOT_COUNTED_COLUMNS(COLUMN)                                                         \
    COLUMN("op", "op", UNIT_TEXT, 0, BAR_NONE, value_text(results_text(results, op->name))) \
    COLUMN("calls", "calls", UNIT_NUMBER, 2, BAR_NONE,                                      \
           value_number((double)op->calls / (double)view->steps))                           \
    COLUMN("host_time", "own host time", UNIT_TIME_NS, 1, BAR_NONE,                         \
           time_per_step(view, op->host_ns))                                                \
    COLUMN("device_time", "device time", UNIT_TIME_NS, 1, BAR_NONE,                         \
           costs->has_device ? time_per_step(view, op->device_ns) : value_none())           \
    COLUMN("why", "why", UNIT_TEXT, 3, BAR_NONE, value_text(results_text(results, op->why)))

/* Always told where shapes are there: a sum that silently lacks an operator is the wrong
 * number this program is against. */
static void add_uncounted_ops(struct results *results, struct section *section,
                              const struct module_cost_view *view)
{
    const struct module_costs *costs = view->costs;
    struct table *table;

    if (costs->uncounted_count == 0 || (view->is_brief && !costs->has_shapes))
        return;
    table = section_add_table(results, section, "not_counted", "Ops that are not counted",
                              COLUMNS_OF(NOT_COUNTED_COLUMNS));
    table->note = "Their FLOPs are in no figure. A file of formulas (--formulas) counts them.";
    for (uint32_t i = 0; i < costs->uncounted_count && i < view->top; i++) {
        const struct uncounted_op *op = &costs->uncounted[i];

        FILL_ROW(table_add_row(results, table, 0), NOT_COUNTED_COLUMNS);
    }
    table->rows_in_all = costs->uncounted_count;
}

#define DOUBTFUL_COLUMNS(COLUMN)                                                            \
    COLUMN("op", "op", UNIT_TEXT, 0, BAR_NONE, value_text(results_text(results, op->name))) \
    COLUMN("module", "module", UNIT_TEXT, 1, BAR_NONE,                                      \
           op->module == NO_MODULE                                                          \
               ? value_none()                                                               \
               : value_text(results_text(results, costs->tree.modules[op->module].name)))   \
    COLUMN("calls", "calls", UNIT_COUNT, 2, BAR_NONE, value_count(op->calls))               \
    COLUMN("flops_in_all", "FLOPs, all steps", UNIT_COUNT, 0, BAR_NONE, value_count(op->flops))

/* The last op of a recomputation that stopped early was probably not carried out, which no
 * event says for certain: listed, so that nobody takes the sums for exact there. */
static void add_doubtful_ops(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    const struct module_costs *costs = view->costs;
    struct table *table;

    if (costs->doubtful_count == 0 || view->is_brief)
        return;
    table = section_add_table(results, section, "doubtful", "Recomputed ops that broke off",
                              COLUMNS_OF(DOUBTFUL_COLUMNS));
    for (uint32_t i = 0; i < costs->doubtful_count && i < view->top; i++) {
        const struct doubtful_op *op = &costs->doubtful[i];

        FILL_ROW(table_add_row(results, table, 0), DOUBTFUL_COLUMNS);
    }
    table->rows_in_all = costs->doubtful_count;
}

void add_op_tables(struct results *results, struct section *section,
                   const struct module_cost_view *view)
{
    add_counted_ops(results, section, view);
    add_uncounted_ops(results, section, view);
    add_doubtful_ops(results, section, view);
}
