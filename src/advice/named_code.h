/* Idle time in which only a named range is open, told apart: ranges of model code, in which
 * operators run, and others. */
#ifndef FLOPLEDGER_ADVICE_NAMED_CODE_H
#define FLOPLEDGER_ADVICE_NAMED_CODE_H

#include "advice/advice_rule.h"

/* Adds what the steps hold in that account, as much of it as the longest gaps tell to lie in ranges
 * of model code, or (`of_model` false) in others; returns it. What none of them tells of is short:
 * model code. */
int64_t claim_named_code(const struct advice_case *advice, struct advice_claim *claim,
                         bool of_model);

/* The range of no model code in which the device idles longest; NULL where there is none. */
const char *busiest_named_range(const struct advice_case *advice);

#endif
