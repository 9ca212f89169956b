/* Every analysis of every trace: what the commands do that show or export all results. */
#ifndef FLOPLEDGER_COMMANDS_ANALYSED_TRACE_H
#define FLOPLEDGER_COMMANDS_ANALYSED_TRACE_H

#include "analyses/analysis.h"
#include "commands/booked_trace.h"
#include "results/results.h"

#include <stdbool.h>

/* What is done with each trace. */
struct analysis_plan {
    struct booking_plan booking;
    struct analysis_options analysis;
    bool with_memory; /* sections on its memory, too, where it was read with keeps_memory and has
                         memory events; what goes wrong there becomes a problem of the results */
};

/* Adds a rank to `results` with all that is known of it; `booked` is the trace, booked. */
void analyse_trace(struct results *results, const struct trace *trace, struct booked_trace *booked,
                   const struct analysis_plan *plan);

#endif
