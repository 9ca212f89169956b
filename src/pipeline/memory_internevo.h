/* `flopledger memory --format internevo`: the files of InternEvo's SimpleMemoryProfiler. */
#ifndef FLOPLEDGER_PIPELINE_MEMORY_INTERNEVO_H
#define FLOPLEDGER_PIPELINE_MEMORY_INTERNEVO_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "pipeline/memory_settings.h"

#include <stdbool.h>

/* Writes memory_trace/rank{r}_dp{d}_tp{t}/ for each trace, below the folder --output names
 * (default: here), and prints the names of the folders. */
MUST_USE bool write_internevo_folders(char **paths, int count,
                                      const struct memory_settings *settings, struct error *error);

#endif
