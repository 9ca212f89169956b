/* The tables of ops in the section module_cost: counted, not counted, doubtful. */
#include "analyses/module_cost_sections.h"

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

static void add_counted_ops(struct results *results, struct section *section,
                            const struct module_cost_view *view)
{
    static const struct column columns[] = {
        {"op", "op", UNIT_TEXT, 0, false},
        {"kind", "kind", UNIT_TEXT, 2, false},
        {"calls", "calls", UNIT_NUMBER, 1, false},
        {"flops", "FLOPs", UNIT_FLOPS, 0, false},
        {"bytes", "bytes", UNIT_BYTES, 3, false},
        {"host_time", "host time", UNIT_TIME_NS, 1, false},
        {"device_time", "device time", UNIT_TIME_NS, 1, false},
        {"flops_in_all", "FLOPs, all steps", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, false},
        {"calls_in_all", "calls, all steps", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, false},
    };
    const struct module_costs *costs = view->costs;
    struct table *table;

    if (costs->op_count == 0 || (view->is_brief && costs->tree.count > 0))
        return;
    table = section_add_table(results, section, "ops", "Ops that are counted", columns,
                              sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < costs->op_count && i < view->top; i++) {
        const struct op_total *op = &costs->ops[i];
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_text(results_text(results, op->name));
        cells[1] = value_text(kind_title(op->kind));
        cells[2] = value_number((double)op->calls / (double)view->steps);
        cells[3] = flops_per_step(view, op->flops);
        cells[4] = op->bytes < 0 ? value_not_known("needs values that a trace does not have")
                                 : value_bytes(op->bytes / view->steps);
        cells[5] = time_per_step(view, op->host_ns);
        if (costs->has_device)
            cells[6] = time_per_step(view, op->device_ns);
        cells[7] = value_count(op->flops);
        cells[8] = value_count(op->calls);
    }
    table->rows_in_all = costs->op_count;
}

static void add_uncounted_ops(struct results *results, struct section *section,
                              const struct module_cost_view *view)
{
    static const struct column columns[] = {
        {"op", "op", UNIT_TEXT, 0, false},
        {"calls", "calls", UNIT_NUMBER, 2, false},
        {"host_time", "own host time", UNIT_TIME_NS, 1, false},
        {"device_time", "device time", UNIT_TIME_NS, 1, false},
        {"why", "why", UNIT_TEXT, 3, false},
    };
    const struct module_costs *costs = view->costs;
    struct table *table;

    if (costs->uncounted_count == 0 || (view->is_brief && !costs->has_shapes))
        return;
    table = section_add_table(results, section, "not_counted", "Ops that are not counted", columns,
                              sizeof columns / sizeof columns[0]);
    table->note = "Their FLOPs are in no figure. A file of formulas (--formulas) counts them.";
    for (uint32_t i = 0; i < costs->uncounted_count && i < view->top; i++) {
        const struct uncounted_op *op = &costs->uncounted[i];
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_text(results_text(results, op->name));
        cells[1] = value_number((double)op->calls / (double)view->steps);
        cells[2] = time_per_step(view, op->host_ns);
        if (costs->has_device)
            cells[3] = time_per_step(view, op->device_ns);
        cells[4] = value_text(results_text(results, op->why));
    }
    table->rows_in_all = costs->uncounted_count;
}

static void add_doubtful_ops(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    static const struct column columns[] = {
        {"op", "op", UNIT_TEXT, 0, false},
        {"module", "module", UNIT_TEXT, 1, false},
        {"calls", "calls", UNIT_COUNT, 2, false},
        {"flops_in_all", "FLOPs, all steps", UNIT_COUNT, 0, false},
    };
    const struct module_costs *costs = view->costs;
    struct table *table;

    if (costs->doubtful_count == 0 || view->is_brief)
        return;
    table = section_add_table(results, section, "doubtful", "Recomputed ops that broke off",
                              columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < costs->doubtful_count && i < view->top; i++) {
        const struct doubtful_op *op = &costs->doubtful[i];
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_text(results_text(results, op->name));
        cells[1] = op->module == NO_MODULE
                       ? value_none()
                       : value_text(results_text(results, costs->tree.modules[op->module].name));
        cells[2] = value_count(op->calls);
        cells[3] = value_count(op->flops);
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
