/* `flopledger memory` of recorded runs: traces with [memory] events, and the marks beside them. */
#ifndef FLOPLEDGER_PIPELINE_MEMORY_OF_CAPTURE_H
#define FLOPLEDGER_PIPELINE_MEMORY_OF_CAPTURE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "pipeline/memory_settings.h"

#include <stdbool.h>

/* Reads the traces (files, and folders of captures) and prints their page. */
MUST_USE bool print_memory_of_captures(char **paths, int count,
                                       const struct memory_settings *settings, struct error *error);

#endif
