/* What the costs of a traced model's modules look like in a report. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_MODULE_COST_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MODEL_MODULE_COST_SECTIONS_H

#include "cost/modules/model_description.h"
#include "cost/modules/module_costs.h"
#include "output/results/results.h"
#include "sections/analysis.h"

#include <stdbool.h>
#include <stdint.h>

struct module_cost_view {
    const struct trace *trace; /* NULL: of a model alone */
    const struct module_costs *costs;
    const struct model_description *description; /* may be empty */
    int64_t steps;                               /* the sums are over so many; at least 1 */
    const char *step_note;                       /* what a step is here */
    bool is_brief;                               /* part of a longer report */
    uint32_t depth;                              /* deepest modules shown; UINT32_MAX: all */
    uint32_t top;                                /* rows of other tables; UINT32_MAX: all */
    const char *pattern; /* of names of modules shown, as for the shell; NULL: all */
    enum module_sort sort;
};

/* The section module_cost. */
struct section *describe_module_costs(struct results *results, const struct module_cost_view *view);

/* Parts of it. */
void add_module_table(struct results *results, struct section *section,
                      const struct module_cost_view *view);
void add_depth_table(struct results *results, struct section *section,
                     const struct module_cost_view *view);
void add_op_tables(struct results *results, struct section *section,
                   const struct module_cost_view *view);

/* Per step. */
struct value flops_per_step(const struct module_cost_view *view, int64_t flops);
struct value time_per_step(const struct module_cost_view *view, int64_t ns);
struct value count_per_step(const struct module_cost_view *view, int64_t count);

#endif
