/* What findings would bring, by replay: beside the ceiling of each. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_REPLAY_COSTS_H
#define FLOPLEDGER_SECTIONS_ADVICE_REPLAY_COSTS_H

#include "sections/advice/advice_rule.h"

#include <stddef.h>

/* Fills in `replay` of the prices of those findings whose rule has a line in scenario_list.def. */
void add_replay_costs(const struct advice_case *advice, struct finding *findings, size_t count);

#endif
