/* Findings sorted by what they cost, each with its price, what shows it and what to try. */
#ifndef FLOPLEDGER_ADVICE_GIVE_ADVICE_H
#define FLOPLEDGER_ADVICE_GIVE_ADVICE_H

#include "efficiency/efficiency.h"
#include "replay/replay_study.h"
#include "results/results.h"

#include <stddef.h>

struct advice_findings {
    struct finding *findings; /* [count], dearest first, then those without a price; live as long
                                 as the results */
    size_t count;
    size_t priced; /* of those, with a price */
};

/* Asks every rule of rule_list.def about the trace and the ledger of `efficiency`. No finding costs
 * more than its accounts hold, and none is there without something that shows it. `study` may be
 * NULL: then no change is replayed. */
struct advice_findings give_advice(struct results *results, const struct efficiency *efficiency,
                                   const struct replay_study *study);

#endif
