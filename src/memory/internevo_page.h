/* Which files InternEvo's own profiler leaves: memory.log, and beside it five pages with a sunburst
 * each, drawn here as SVG: they need no network and no script. */
#ifndef FLOPLEDGER_MEMORY_INTERNEVO_PAGE_H
#define FLOPLEDGER_MEMORY_INTERNEVO_PAGE_H

#include "memory/internevo_tree.h"
#include "memory/memory_run.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One record at the start, at each end of a forward and of a backward, at each end of a step, and
 * wherever the program asked for one. Write errors show in ferror(output). */
void internevo_log_write(FILE *output, const struct memory_run *run, int32_t device);

enum internevo_page {
    INTERNEVO_SUMMARY,
    INTERNEVO_PAGE_PARAMS,
    INTERNEVO_PAGE_GRADS,
    INTERNEVO_PAGE_OS,
    INTERNEVO_PAGE_ACTIVATION,
};
enum { INTERNEVO_PAGE_COUNT = INTERNEVO_PAGE_ACTIVATION + 1 };

const char *internevo_page_file(enum internevo_page page); /* "summary_sunburst.html" */

/* Parameters and optimizer state as at the end of the recording; gradients at the end of a backward
 * and activations at the end of a forward, where there are most of them. Write errors show in
 * ferror(output). */
void internevo_page_write(FILE *output, const struct memory_run *run, int32_t device,
                          enum internevo_page page);

#endif
