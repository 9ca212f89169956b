/* What several rules ask of calls that make the host wait. */
#ifndef FLOPLEDGER_ADVICE_WAIT_RULES_H
#define FLOPLEDGER_ADVICE_WAIT_RULES_H

#include "advice/advice_rule.h"

#include <stdint.h>

/* Adds the idle time in slow runtime calls, `own_only`: but for those that the profiler held up;
 * returns how many there are, and sets `longest` to the one with the most of it. */
int64_t claim_slow_calls(struct advice_case *advice, struct advice_claim *claim, bool own_only,
                         const struct event **longest);

#endif
