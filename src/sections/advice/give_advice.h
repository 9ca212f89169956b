/* Findings sorted by what they cost, each with its price, what shows it and what to try. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_GIVE_ADVICE_H
#define FLOPLEDGER_SECTIONS_ADVICE_GIVE_ADVICE_H

#include "cost/efficiency/efficiency.h"
#include "cost/modules/model_description.h"
#include "output/results/results.h"
#include "replay/replay_model.h"

#include <stdbool.h>
#include <stddef.h>

struct advice_findings {
    struct finding *findings; /* [count], dearest first, then those without a price; live as long
                                 as the results */
    size_t count;
    size_t costed; /* of those, with a price */
};

/* What the advice is asked about. */
struct advice_question {
    const struct efficiency *efficiency;
    const struct replay_model *simulation;       /* NULL: no change is replayed */
    const struct model_description *description; /* of the recorder; NULL: none */
    bool has_other_ranks;                        /* of the same run are shown with this one */
};

/* Asks every rule of rule_list.def about the trace and the ledger of `efficiency`. No finding costs
 * more than its accounts hold, and none is there without something that shows it. */
struct advice_findings give_advice(struct results *results, const struct advice_question *question);

#endif
