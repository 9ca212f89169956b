/* Claims of idle time that several rules share: slow calls, work that starts late, and what is left
 * out. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_WAITING_CLAIMS_H
#define FLOPLEDGER_SECTIONS_ADVICE_WAITING_CLAIMS_H

#include "sections/advice/advice_rule.h"

#include <stdint.h>

/* Adds the idle time in slow runtime calls, `own_only`: but for those that the profiler held up
 * and first uses of something;
 * returns how many there are, and sets `longest` to the one with the most of it. */
int64_t claim_slow_calls(struct advice_case *advice, struct advice_claim *claim, bool own_only,
                         const struct event **longest);

/* The part of a gap after the call that launched what ends it has returned, where that is long: the
 * work was held back on the device. 0: it was not. */
int64_t held_back_ns(const struct advice_case *advice, const struct idle_gap *gap);

/* Adds the idle time before work that was launched and starts late. */
void claim_held_back(const struct advice_case *advice, struct advice_claim *claim);

/* Takes off what is idle while work from before the recording ran. */
void leave_out_earlier_work(struct advice_case *advice, struct advice_claim *claim);

/* Takes off what is idle in the calls of `kind`: work of the host's own, a finding by itself. */
void leave_out_own_work(struct advice_case *advice, struct advice_claim *claim,
                        enum host_call_kind kind);

#endif
