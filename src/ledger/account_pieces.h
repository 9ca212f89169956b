/* When each account of a step had its time: the ledger's sums, piece by piece. */
#ifndef FLOPLEDGER_LEDGER_ACCOUNT_PIECES_H
#define FLOPLEDGER_LEDGER_ACCOUNT_PIECES_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

/* Books the steps of `ledger` once more: the pieces of each step cover it without a gap, and those
 * of an account sum to its account_ns: what attribute_steps keeps where that was asked for.
 * `pieces` must be zeroed. */
void find_account_pieces(struct account_pieces *pieces, const struct trace *trace,
                         const struct ledger *ledger);

void account_pieces_clear(struct account_pieces *pieces);

#endif
