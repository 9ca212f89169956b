/* `flopledger report` of a timeline of pipelines. */
#ifndef FLOPLEDGER_PIPELINE_PIPELINE_REPORT_H
#define FLOPLEDGER_PIPELINE_PIPELINE_REPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "pipeline/page.h"
#include "pipeline/step_range.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the file is such a timeline; a pipe never is. */
bool is_pipeline_timeline(const char *path);

struct pipeline_report {
    const struct page_settings *page;
    struct step_range steps;
    int64_t top; /* rows of long tables; 0: all, -1: as usual */
};

/* Prints what its stragglers cost. Errors: see read_pipeline_timeline and pipeline_replay_begin. */
MUST_USE bool print_pipeline_report(const char *path, const struct pipeline_report *wanted,
                                    struct error *error);

#endif
