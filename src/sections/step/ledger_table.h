/* The table of the ledger: from 100 % of the device's peak down to what the model itself needs. */
#ifndef FLOPLEDGER_SECTIONS_STEP_LEDGER_TABLE_H
#define FLOPLEDGER_SECTIONS_STEP_LEDGER_TABLE_H

#include "sections/analysis.h"

#include <stdint.h>

/* The accounts of a group as bits: bit a for account a. */
uint32_t accounts_of_group(enum account_group group);

/* What a step holds in the accounts of the mask. */
int64_t accounts_ns(const struct step_ledger *step, uint32_t accounts);

/* Level B and Level C in one table: every nanosecond of a step in one line, and lines of one depth
 * sum exactly to the line above them. */
void add_ledger_table(struct results *results, struct section *section,
                      const struct analysis_input *input);

/* A line of that table. */
struct ledger_row {
    const char *key;
    const char *title;
    int depth;
    int64_t ns;        /* in all steps */
    const char *needs; /* not NULL: the time is not known */
};

enum { LEDGER_ROWS_MAX = 64 };

/* The lines for a ledger that was made otherwise than of a trace; `steps` are those of its
 * efficiency, `model_needs` is NULL where FLOPs are known. The first is the whole, those of depth 0
 * behind it add up to it, and so on. Returns how many. */
size_t list_ledger_rows(struct ledger_row rows[LEDGER_ROWS_MAX], const struct ledger *ledger,
                        const struct step_efficiency *steps, const char *model_needs);

#endif
