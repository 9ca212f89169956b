/* What each module of a traced model computes, in the steps asked for. */
#ifndef FLOPLEDGER_PIPELINE_MODULE_REPORT_H
#define FLOPLEDGER_PIPELINE_MODULE_REPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/flops/user_formula.h"
#include "output/results/results.h"
#include "pipeline/step_range.h"
#include "sections/model/module_cost_sections.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct module_report {
    struct module_cost_view view; /* depth, top, pattern and sort: the rest is filled in here */
    struct step_range steps;
    struct user_formulas formulas;
    int64_t depth_asked; /* as the user gave them, for DeepSpeed's text; -1: not given */
    int64_t top_asked;
    bool is_deepspeed;
};

/* For file_reading.use: adds a rank; `context` is a const struct module_report. */
MUST_USE bool add_module_report(struct results *results, const struct trace *trace,
                                const void *context, struct error *error);

#endif
