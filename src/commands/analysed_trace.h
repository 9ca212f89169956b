/* Every analysis of every trace: what the commands do that show or export all results. */
#ifndef FLOPLEDGER_COMMANDS_ANALYSED_TRACE_H
#define FLOPLEDGER_COMMANDS_ANALYSED_TRACE_H

#include "analyses/analysis.h"
#include "base/attributes.h"
#include "base/error.h"
#include "commands/booked_trace.h"
#include "results/results.h"

#include <stdbool.h>
#include <stdint.h>

/* What is done with each trace. */
struct analysis_plan {
    struct booking_plan booking;
    struct analysis_options analysis;
    bool with_memory; /* sections on its memory, too, where it was read with keeps_memory and has
                         memory events; what goes wrong there becomes a problem of the results */
};

/* For struct file_reading: `context` is a const struct analysis_plan *. */
MUST_USE bool analyse_trace(struct results *results, const struct trace *trace, const void *context,
                            struct error *error);

/* Leaves only rank `rank` in the results, behind the overview of all. ERROR_NO_DATA where none is
 * of that rank. */
MUST_USE bool choose_rank(struct results *results, int64_t rank, struct error *error);

#endif
