/* All ranks of a run side by side. */
#ifndef FLOPLEDGER_ANALYSES_RANKS_OVERVIEW_H
#define FLOPLEDGER_ANALYSES_RANKS_OVERVIEW_H

#include "ranks/all_ranks.h"
#include "results/results.h"
#include "trace/trace.h"

#include <stdint.h>

/* The section that stands before those of single ranks. `top`: rows of long tables. */
struct section *compare_ranks(struct results *results, const struct all_ranks *run, uint32_t top);

/* "rank 3", or the file's name without its folder where the rank is not known. */
const char *rank_label(struct results *results, const struct trace *trace);

#endif
