/* A trace with its ledger, its modules' costs and its efficiency: what every analysis reads. */
#ifndef FLOPLEDGER_PIPELINE_ANALYZED_RANK_H
#define FLOPLEDGER_PIPELINE_ANALYZED_RANK_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/worker_threads.h"
#include "cost/efficiency/efficiency.h"
#include "cost/efficiency/work_totals.h"
#include "cost/modules/model_description.h"
#include "cost/modules/module_costs.h"
#include "ledger/step_ledger.h"
#include "replay/replay_model.h"
#include "trace/trace.h"

#include <stdbool.h>

/* How a trace is analyzed, and against what it is measured. */
struct attribution_options {
    struct ledger_options ledger;
    struct peak_settings peaks;
    const struct architecture *architecture; /* of the model; NULL: what the capture says */
    unsigned threads;                        /* at the same time at most; 0: one */
    bool begins_replay; /* it will be asked for: with several threads it is begun at once */
};

/* Zeroed is empty. Its parts point to one another: not to be moved once analyzed. */
struct analyzed_rank {
    const struct trace *trace;
    struct model_description description;
    struct ledger ledger;
    struct module_costs costs;
    struct efficiency efficiency;
    struct work_totals work;
    struct replay_model simulation; /* see analyzed_rank_replay */
    bool has_replay;                /* it was asked for, and there is one */
    struct side_work replaying;     /* that makes it */
};

/* `analyzed` must be zeroed; `trace` must live as long as it. ERROR_NO_DATA where the trace has no
 * work of the device or none of the steps asked for: it says which it has. */
MUST_USE bool analyze_rank(struct analyzed_rank *analyzed, const struct trace *trace,
                           const struct attribution_options *plan, struct error *error);

/* The graph of the steps, for all who ask: made when it is asked for first. NULL: nothing ran on a
 * device. */
struct replay_model *analyzed_rank_replay(struct analyzed_rank *analyzed);

/* The same, but it may be on its way: side_work_end(&analyzed->replaying) waits for it. */
struct replay_model *analyzed_rank_begin_replay(struct analyzed_rank *analyzed, unsigned threads);

void analyzed_rank_clear(struct analyzed_rank *analyzed);

#endif
