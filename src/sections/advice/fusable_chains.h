/* Kernels that follow each other on a stream with nothing between that could not be fused with
 * them. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_FUSABLE_CHAINS_H
#define FLOPLEDGER_SECTIONS_ADVICE_FUSABLE_CHAINS_H

#include "sections/advice/advice_rule.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the kernels that a rule is about. */
typedef bool kernel_test(const struct advice_case *advice, uint32_t index);

/* Adds what the steps would not need if each chain were one kernel: of the kernels that `is_meant`
 * tells, all time but that of the chain's longest kernel, whose bytes any fused one moves, too. */
void claim_fused(const struct advice_case *advice, struct advice_claim *claim,
                 kernel_test *is_meant);

#endif
