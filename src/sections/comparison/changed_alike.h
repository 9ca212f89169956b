/* Did nearly everything get slower, or faster, at once? Then the cause is rarely in the program. */
#ifndef FLOPLEDGER_SECTIONS_COMPARISON_CHANGED_ALIKE_H
#define FLOPLEDGER_SECTIONS_COMPARISON_CHANGED_ALIKE_H

#include "sections/comparison/run_comparison.h"

#include <stdbool.h>

/* Of kernels, or on a CPU of operators, that both runs have. */
struct changed_alike {
    bool is_alike; /* factor is 5 % or more from 1, and share 80 % or more */
    double factor; /* their time in B / in A */
    double share;  /* of their time in A: those that went the same way, a third as far or further */
};

struct changed_alike measure_changed_alike(const struct run_comparison *comparison);

#endif
