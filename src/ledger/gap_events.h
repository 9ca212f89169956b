/* Which event of the host explains a gap. */
#ifndef FLOPLEDGER_LEDGER_GAP_EVENTS_H
#define FLOPLEDGER_LEDGER_GAP_EVENTS_H

#include "ledger/host_activity.h"
#include "ledger/step_ledger.h"

#include <stdint.h>

/* Fills in host_event of each gap, as step_ledger.h defines it. One pass over the threads that the
 * gaps name. */
void find_gap_events(struct host_activity *activity, struct idle_gap *gaps, uint32_t count);

#endif
