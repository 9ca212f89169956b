/* Which events the tables count: those that start inside a step that the ledger holds; where the
 * trace has no steps, all. Nothing is clipped: an event that begins in a step counts with its whole
 * duration. */
#ifndef FLOPLEDGER_ANALYSES_CHOSEN_EVENTS_H
#define FLOPLEDGER_ANALYSES_CHOSEN_EVENTS_H

#include "ledger/step_ledger.h"
#include "results/results.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_STEP UINT32_MAX

/* Remembers the step of the last question: cheap for events in order of time. */
struct step_finder {
    const struct ledger *ledger;
    uint32_t last; /* index in ledger->steps */
};

/* Index of the step whose window holds `time_ns`, or NO_STEP. Without steps (WINDOW_WHOLE): always
 * 0. */
uint32_t step_finder_at(struct step_finder *finder, int64_t time_ns);

/* trace->device[index] is on the ledger's device and starts inside a step. */
bool is_chosen_device_event(struct step_finder *finder, const struct trace *trace, uint32_t index);

/* "Counted: what starts inside the 5 steps 1009 to 1013." Lives as long as the results. */
const char *chosen_events_text(struct results *results, const struct ledger *ledger);

/* "1009 to 1013", "3", "3, 5 and 7": the numbers of the steps. */
const char *step_numbers_text(struct results *results, const struct ledger *ledger);

/* "step", or "window" where the trace has no steps. */
const char *step_word(const struct ledger *ledger);

/* The sum of all windows, and of what lies in an account in all of them. */
int64_t ledger_total_ns(const struct ledger *ledger);
int64_t ledger_account_ns(const struct ledger *ledger, enum account account);

#endif
