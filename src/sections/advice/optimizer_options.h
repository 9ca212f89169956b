/* What the optimizers of torch.optim can be told, so that no advice names an option that one lacks.
 */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_OPTIMIZER_OPTIONS_H
#define FLOPLEDGER_SECTIONS_ADVICE_OPTIMIZER_OPTIONS_H

#include "sections/advice/advice_rule.h"

#include <stdbool.h>

struct optimizer_options {
    const char *name; /* of the class; NULL: none of torch.optim's, or not known */
    bool has_fused;
    bool has_foreach;
};

/* Of the optimizer whose ranges take most time in the steps. */
struct optimizer_options longest_optimizer(const struct advice_case *advice);

/* What to do about one that handles one tensor at a time; NULL where torch.optim's has no option.
 */
const char *optimizer_remedy(const struct optimizer_options *options, bool is_cpu);

#endif
