/* Which step holds a moment, and which device events the tables count: those that start inside a
 * step of the ledger. */
#ifndef FLOPLEDGER_LEDGER_STEP_FINDER_H
#define FLOPLEDGER_LEDGER_STEP_FINDER_H

#include "ledger/step_ledger.h"
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

/* Index of the step in whose mark the host does what it does at `time_ns`, or NO_STEP. By the
 * host's clock the same as step_finder_at. */
uint32_t step_finder_of_host(struct step_finder *finder, int64_t time_ns);

/* Index of the first step that ends after `time_ns`; step_count where none does. */
uint32_t first_step_after(const struct ledger *ledger, int64_t time_ns);

/* trace->device[index] is on the ledger's device and starts inside a step. */
bool is_chosen_device_event(struct step_finder *finder, const struct trace *trace, uint32_t index);

/* The sum of all windows, and of what lies in an account in all of them. */
int64_t ledger_total_ns(const struct ledger *ledger);
int64_t ledger_account_ns(const struct ledger *ledger, enum account account);

/* "step", or "window" where the trace has no steps. */
const char *step_word(const struct ledger *ledger);

#endif
