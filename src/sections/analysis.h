/* What an analysis is: one question, answered from a trace and its ledger.
 *
 * To add one: write sections/<domain>/<name>.c with `const struct analysis <name>_analysis`, and
 * one line ANALYSIS(<name>) in list.def. Every report prints it at once.
 * docs/how-to/add-an-analysis.md walks through it. */
#ifndef FLOPLEDGER_SECTIONS_ANALYSIS_H
#define FLOPLEDGER_SECTIONS_ANALYSIS_H

#include "base/core/worker_threads.h"
#include "cost/architectures/architecture.h"
#include "cost/architectures/convention.h"
#include "cost/efficiency/efficiency.h"
#include "cost/efficiency/work_totals.h"
#include "cost/modules/model_description.h"
#include "cost/modules/module_costs.h"
#include "ledger/step_ledger.h"
#include "output/results/results.h"
#include "replay/replay_model.h"
#include "replay/scenario.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* SORT_TIME is the self time of operators, SORT_TOTAL that with everything inside. */
enum sort_order { SORT_TIME, SORT_COUNT, SORT_MEAN, SORT_MAX, SORT_NAME, SORT_TOTAL };

enum module_sort {
    MODULE_SORT_MODEL, /* as the model has them */
    MODULE_SORT_FLOPS,
    MODULE_SORT_TIME, /* on the device, or where there is none on the host; forward and backward */
    MODULE_SORT_PARAMETERS,
    MODULE_SORT_NAME,
};

struct analysis_options {
    uint32_t top; /* rows of a long table; UINT32_MAX for all */
    enum sort_order sort;
    enum module_sort module_sort;
    bool by_shape;                           /* operators by name and input shapes */
    bool also_by_shape;                      /* those, too, in a table of their own */
    const struct convention *convention;     /* of whom to print the MFU first; NULL: nobody */
    const struct architecture *architecture; /* of the model; NULL: what the capture says */
    bool all_modules;                        /* not only the upper ones */
    bool has_other_ranks;                    /* their traces are given with this one */
    const struct scenario *scenarios;        /* [scenario_count]: to replay the steps with */
    size_t scenario_count;
    int64_t timeline_blocks;  /* about as many may a timeline have; 0: none is made */
    unsigned threads;         /* analyses at the same time at most; 0: one */
    bool is_for_first_screen; /* no other page is made of the results */
};

struct steps_path;

struct analysis_input {
    const struct trace *trace;
    const struct ledger *ledger;
    const struct module_costs *costs;      /* of the ops in the ledger's steps */
    const struct efficiency *efficiency;   /* what the matrix time is made of */
    const struct work_totals *work;        /* the device's work by operator, class and module */
    const struct replay_model *simulation; /* of the steps: see replay_of, which waits for it; NULL:
                                              nothing ran on a device */
    struct side_work *replaying;           /* that makes it; NULL: it is made */
    struct steps_path *path;               /* for steps_path_of; NULL: nobody else asks for it */
    const struct model_description *description; /* of the model; zeroed where there is none */
    const struct analysis_options *options;
};

struct analysis {
    const char *name;    /* "gpu_idle", the section's key */
    const char *summary; /* the question in one line, for --help and docs */
    /* Adds nothing and returns NULL where the question does not apply to this trace. Runs beside
     * the others: it only reads `input`, and has `results` for itself. */
    struct section *(*run)(struct results *results, const struct analysis_input *input);
    /* For a section that the first screen only names: it has no finding, and no number that stands
     * there. True where a short look shows that `run` would make it, which is then not called where
     * nothing but that screen is printed. NULL: it always is. */
    bool (*has_section)(const struct analysis_input *input);
};

/* ---- runs every analysis of list.def on one trace ---- */

/* Adds a rank to `results` with one section for each analysis that has something to say. */
void run_analyses(struct results *results, const struct analysis_input *input);

/* NULL-terminated, in the order they run. */
const struct analysis *const *all_analyses(void);

#endif
