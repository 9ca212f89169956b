/* The table of the ledger: from 100 % of the device's peak down to what the model itself needs. */
#ifndef FLOPLEDGER_ANALYSES_LEDGER_TABLE_H
#define FLOPLEDGER_ANALYSES_LEDGER_TABLE_H

#include "analyses/analysis.h"

#include <stdint.h>

/* The accounts of a group as bits: bit a for account a. */
uint32_t accounts_of_group(enum account_group group);

/* What a step holds in the accounts of the mask. */
int64_t accounts_ns(const struct step_ledger *step, uint32_t accounts);

/* Level B and Level C in one table: every nanosecond of a step in one line, and lines of one depth
 * sum exactly to the line above them. */
void add_ledger_table(struct results *results, struct section *section,
                      const struct analysis_input *input);

#endif
