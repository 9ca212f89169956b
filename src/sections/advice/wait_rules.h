/* What several rules ask of calls that make the host wait. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_WAIT_RULES_H
#define FLOPLEDGER_SECTIONS_ADVICE_WAIT_RULES_H

#include "sections/advice/advice_rule.h"

#include <stdint.h>

/* Adds the idle time in slow runtime calls, `own_only`: but for those that the profiler held up
 * and first uses of something;
 * returns how many there are, and sets `longest` to the one with the most of it. */
int64_t claim_slow_calls(struct advice_case *advice, struct advice_claim *claim, bool own_only,
                         const struct event **longest);

/* Adds the idle time before work that was launched and starts late. */
void claim_held_back(const struct advice_case *advice, struct advice_claim *claim);

/* Takes off what is idle while work from before the recording ran. */
void leave_out_earlier_work(struct advice_case *advice, struct advice_claim *claim);

/* Takes off what is idle in the calls of `kind`: work of the host's own, a finding by itself. */
void leave_out_own_work(struct advice_case *advice, struct advice_claim *claim,
                        enum host_call_kind kind);

#endif
