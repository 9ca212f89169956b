/* Makes a profile of one booked rank. */
#ifndef FLOPLEDGER_SECTIONS_COMPARISON_PROFILE_TRACE_H
#define FLOPLEDGER_SECTIONS_COMPARISON_PROFILE_TRACE_H

#include "cost/efficiency/efficiency.h"
#include "cost/modules/model_description.h"
#include "cost/modules/module_costs.h"
#include "ledger/step_ledger.h"
#include "memory/memory_run.h"
#include "sections/comparison/run_profile.h"
#include "trace/trace.h"

#include <stdint.h>

struct profile_source {
    const struct trace *trace;
    const struct ledger *ledger;
    const struct module_costs *costs;
    const struct efficiency *efficiency;
    const struct model_description *description;
    const struct memory_run *memory; /* NULL: none was recorded */
    int32_t memory_device;
};

/* `profile` must be zeroed; nothing in it points into the source. A step that the end of the file
 * cuts is left out, unless it is the only one. */
void profile_trace(struct run_profile *profile, const struct profile_source *source);

/* The parts of it: what device and host did, by name; products by size; by module; what memory
 * held. `row_of_step`: for each step of the ledger its place in the profile, or NO_STEP. */
void profile_work(struct run_profile *profile, const struct profile_source *source,
                  const uint32_t *row_of_step);
void profile_matmuls(struct run_profile *profile, const struct profile_source *source,
                     const uint32_t *row_of_step);
void profile_modules(struct run_profile *profile, const struct profile_source *source,
                     const uint32_t *row_of_step);
void profile_memory(struct run_profile *profile, const struct profile_source *source);

#endif
