/* The tables of ops in the section module_cost: counted, not counted, doubtful. */
#include "sections/model/module_cost_sections.h"

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
