/* `flopledger memory` of recorded runs: traces with [memory] events, and the marks beside them. */
#ifndef FLOPLEDGER_COMMANDS_MEMORY_OF_CAPTURE_H
#define FLOPLEDGER_COMMANDS_MEMORY_OF_CAPTURE_H

#include "base/attributes.h"
#include "base/error.h"
#include "commands/memory_settings.h"

#include <stdbool.h>

/* Reads the traces (files, and folders of captures) and prints their page. */
MUST_USE bool print_memory_of_captures(char **paths, int count,
                                       const struct memory_settings *settings, struct error *error);

#endif
