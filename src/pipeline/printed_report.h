/* The report on one rank as a text, for formats that show it. */
#ifndef FLOPLEDGER_PIPELINE_PRINTED_REPORT_H
#define FLOPLEDGER_PIPELINE_PRINTED_REPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"

/* On rank `index` alone, as a terminal of 100 columns shows it, in memory that lives as long as the
 * results; NULL with `error` set where it can't be made. */
MUST_USE const char *print_rank_report(struct results *results, size_t index, struct error *error);

#endif
