/* The results of one trace, as events of a run in TensorBoard. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_TENSORBOARD_RUN_H
#define FLOPLEDGER_OUTPUT_EXPORTS_TENSORBOARD_RUN_H

#include "output/results/results.h"

#include <stdio.h>

/* Adds to a file that event_file_begin began: the scalars of each step; the text `report` and the
 * advice; the run's settings, and how its scalars are charted. Write errors show in
 * ferror(output). */
void tensorboard_add_run(FILE *output, const struct rank_results *rank, const char *report);

/* When the first step of the trace began, in seconds since 1970; 0: not known. */
double tensorboard_run_start(const struct rank_results *rank);

#endif
