/* All ranks side by side. */
#ifndef FLOPLEDGER_ANALYSES_RANKS_OVERVIEW_H
#define FLOPLEDGER_ANALYSES_RANKS_OVERVIEW_H

#include "results/results.h"
#include "trace/trace.h"

/* A table of all ranks in `results`, taken from their sections `step_ledger` and `run`. */
struct section *compare_ranks(struct results *results);

/* "rank 3", or the file's name without its folder where the rank is not known. */
const char *rank_label(struct results *results, const struct trace *trace);

#endif
