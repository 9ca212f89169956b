/* Which steps are unlike the others, and which account makes the difference. */
#ifndef FLOPLEDGER_LEDGER_STEP_OUTLIERS_H
#define FLOPLEDGER_LEDGER_STEP_OUTLIERS_H

#include "ledger/step_ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step_deviation {
    int64_t deviation_ns; /* duration less the median duration */
    bool is_outlier;      /* off by more than 5 % of the median and more than 3 * 1.4826 * MAD */
    enum account account; /* its deviation from its own median goes furthest in the same direction
                           */
    int64_t account_deviation_ns;
};

struct step_spread {
    int64_t median_ns;
    int64_t min_ns;
    int64_t max_ns;
    struct step_deviation *steps; /* [step_count] of the ledger; free() it */
    uint32_t outlier_count; /* with fewer than 3 steps, or steps that do different work, nothing is
                               called an outlier */
};

struct step_spread measure_step_spread(const struct ledger *ledger);

/* The step whose duration is nearest the median, of equal ones the first; 0 where there is none. */
uint32_t typical_step(const struct step_spread *spread, uint32_t step_count);

/* Rounded down between the two middle values; 0 where `count` is 0. Sorts `values`. */
int64_t median_of(int64_t *values, size_t count);

#endif
