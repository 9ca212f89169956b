/* `flopledger memory` of snapshots of the CUDA allocator. */
#ifndef FLOPLEDGER_PIPELINE_MEMORY_OF_SNAPSHOT_H
#define FLOPLEDGER_PIPELINE_MEMORY_OF_SNAPSHOT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "pipeline/memory_settings.h"

#include <stdbool.h>

/* True where the file can be read and begins as a pickle, packed or not; and of standard input. */
bool is_snapshot_file(const char *path);

/* Reads the files and prints their page. */
MUST_USE bool print_memory_of_snapshots(char **paths, int count,
                                        const struct memory_settings *settings,
                                        struct error *error);

#endif
