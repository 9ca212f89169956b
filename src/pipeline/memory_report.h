/* What `flopledger memory` prints: of snapshots of the CUDA allocator, of the allocations in
 * traces, and the files that InternEvo writes of them. */
#ifndef FLOPLEDGER_PIPELINE_MEMORY_REPORT_H
#define FLOPLEDGER_PIPELINE_MEMORY_REPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "pipeline/memory_settings.h"

#include <stdbool.h>

/* Writes memory_trace/rank{r}_dp{d}_tp{t}/ for each trace, below the folder --output names
 * (default: here), and prints the names of the folders. */
MUST_USE bool write_internevo_folders(char **paths, int count,
                                      const struct memory_settings *settings, struct error *error);

/* Reads the traces (files, and folders of captures) and prints their page. */
MUST_USE bool print_memory_of_captures(char **paths, int count,
                                       const struct memory_settings *settings, struct error *error);

/* True where the file can be read and begins as a pickle, packed or not; and of standard input. */
bool is_snapshot_file(const char *path);

/* Reads the files and prints their page. */
MUST_USE bool print_memory_of_snapshots(char **paths, int count,
                                        const struct memory_settings *settings,
                                        struct error *error);

#endif
