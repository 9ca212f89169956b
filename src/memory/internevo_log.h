/* memory.log, as InternEvo's SimpleMemoryProfiler writes it, with what memory was really for. */
#ifndef FLOPLEDGER_MEMORY_INTERNEVO_LOG_H
#define FLOPLEDGER_MEMORY_INTERNEVO_LOG_H

#include "memory/memory_run.h"

#include <stdint.h>
#include <stdio.h>

/* One record at the start, at each end of a forward and of a backward, at each end of a step, and
 * wherever the program asked for one. Write errors show in ferror(output). */
void internevo_log_write(FILE *output, const struct memory_run *run, int32_t device);

#endif
