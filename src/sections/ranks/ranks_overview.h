/* All ranks of a run side by side. */
#ifndef FLOPLEDGER_SECTIONS_RANKS_RANKS_OVERVIEW_H
#define FLOPLEDGER_SECTIONS_RANKS_RANKS_OVERVIEW_H

#include "output/results/results.h"
#include "ranks/all_ranks.h"
#include "sections/ranks/ranks_tables.h"
#include "trace/trace.h"

#include <stdint.h>

/* The section that stands before those of single ranks. `top`: rows of long tables.
 * `changes`: what can be replayed, and with what. */
struct section *compare_ranks(struct results *results, const struct all_ranks *run, uint32_t top,
                              const struct ranks_changes *changes);

/* Labeled "rank 3", or with the file's name where the rank is not known. */
struct rank_results *results_add_trace(struct results *results, const struct trace *trace);

#endif
