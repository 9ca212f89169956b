/* What findings would bring, by replay: beside the ceiling of each. */
#ifndef FLOPLEDGER_ADVICE_REPLAY_PRICES_H
#define FLOPLEDGER_ADVICE_REPLAY_PRICES_H

#include "ledger/step_ledger.h"
#include "results/results.h"
#include "trace/trace.h"

#include <stddef.h>

/* Fills in `replay` of the prices of those findings whose rule has a line in scenario_list.def. */
void add_replay_prices(struct results *results, const struct trace *trace,
                       const struct ledger *ledger, struct finding *findings, size_t count);

#endif
