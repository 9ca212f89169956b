/* Results made by hand, to print. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_RESULTS_H
#define FLOPLEDGER_TESTS_SUPPORT_RESULTS_H

#include "output/results/results.h"

#include <stddef.h>

/* One section with two numbers, a table of three rows (out of 45), whose names are hostile, and two
 * findings; `results` must be zeroed. */
void make_results(struct results *results, size_t rank_count);

#endif
