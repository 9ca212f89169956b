/* Idle time in which only a named range is open, told apart: ranges of model code, in which
 * operators run, and others; and Python that belongs to launching, and that does not. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_NAMED_CODE_H
#define FLOPLEDGER_SECTIONS_ADVICE_NAMED_CODE_H

#include "sections/advice/advice_rule.h"

enum named_kind {
    NAMED_OTHER_CODE, /* ranges in which nothing of the model runs */
    NAMED_MODEL_CODE, /* ranges of model code, between its operators */
    NAMED_PAUSES,     /* the same, where it takes long: no part of launching */
    NAMED_OPTIMIZER,  /* ranges of an optimizer that handles one tensor at a time: told as such */
};

/* Adds what the steps hold in that account, as much of it as the longest gaps tell to be of `kind`;
 * returns it. What none of them tells of is short: model code. */
int64_t claim_named_code(const struct advice_case *advice, struct advice_claim *claim,
                         enum named_kind kind);

/* Adds (`adds`), or takes off, what the steps hold of Python inside modules that does not take long
 * at a time, as far as the longest gaps tell: between operators it is a part of launching. */
void claim_short_pauses(const struct advice_case *advice, struct advice_claim *claim, bool adds);

/* The range of no model code in which the device idles longest; NULL where there is none. */
const char *busiest_named_range(const struct advice_case *advice);

#endif
