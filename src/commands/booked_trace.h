/* A trace with its ledger, its modules' costs and its efficiency: what every analysis reads. */
#ifndef FLOPLEDGER_COMMANDS_BOOKED_TRACE_H
#define FLOPLEDGER_COMMANDS_BOOKED_TRACE_H

#include "base/attributes.h"
#include "base/error.h"
#include "efficiency/efficiency.h"
#include "efficiency/work_totals.h"
#include "ledger/step_ledger.h"
#include "modules/model_description.h"
#include "modules/module_costs.h"
#include "replay/replay_study.h"
#include "trace/trace.h"

#include <stdbool.h>

/* How a trace is booked, and against what it is measured. */
struct booking_plan {
    struct ledger_options ledger;
    struct peak_settings peaks;
};

/* Zeroed is empty. Its parts point to one another: not to be moved once booked. */
struct booked_trace {
    const struct trace *trace;
    struct model_description description;
    struct ledger ledger;
    struct module_costs costs;
    struct efficiency efficiency;
    struct work_totals work;
    struct replay_study study; /* see booked_trace_study */
    bool has_study;            /* it was asked for, and there is one */
};

/* `booked` must be zeroed; `trace` must live as long as it. ERROR_NO_DATA where the trace has no
 * work of the device or none of the steps asked for: it says which it has. */
MUST_USE bool book_trace(struct booked_trace *booked, const struct trace *trace,
                         const struct booking_plan *plan, struct error *error);

/* The graph of the steps, for all who ask: made when it is asked for first. NULL: nothing ran on a
 * device. */
struct replay_study *booked_trace_study(struct booked_trace *booked);

void booked_trace_clear(struct booked_trace *booked);

#endif
