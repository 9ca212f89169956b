/* Which events the tables count: those that start inside a step that the ledger holds; where the
 * trace has no steps, all. Nothing is clipped: an event that begins in a step counts with its whole
 * duration. */
#ifndef FLOPLEDGER_SECTIONS_CHOSEN_EVENTS_H
#define FLOPLEDGER_SECTIONS_CHOSEN_EVENTS_H

#include "ledger/step_finder.h"
#include "ledger/step_ledger.h"
#include "output/results/results.h"
#include "trace/trace.h"

/* "Counted: what starts inside the 5 steps 1009 to 1013." Lives as long as the results. */
const char *chosen_events_text(struct results *results, const struct ledger *ledger);

/* "1009 to 1013", "3", "3, 5 and 7": the numbers of the steps. */
const char *step_numbers_text(struct results *results, const struct ledger *ledger);

/* Whether there is one on the ledger's device of these kinds and classes, each as a mask. */
bool has_chosen_event(const struct trace *trace, const struct ledger *ledger, uint32_t kinds,
                      uint32_t classes);

#endif
