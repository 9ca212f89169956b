/* How far the host runs ahead of the device, and by whose clock the steps are told. */
#ifndef FLOPLEDGER_SECTIONS_STEP_CLOCK_NUMBERS_H
#define FLOPLEDGER_SECTIONS_STEP_CLOCK_NUMBERS_H

#include "sections/analysis.h"

/* Adds nothing where all work of the steps ends inside their marks. */
void add_clock_numbers(struct results *results, struct section *section,
                       const struct ledger *ledger);

/* Why steps whose windows do not hold their work tell nothing of what costs time; NULL where they
 * do.
 */
const char *why_windows_mislead(struct results *results, const struct ledger *ledger);

#endif
