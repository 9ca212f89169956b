/* `flopledger export chrome`: the traces themselves, with what the ledger says of them as tracks.
 */
#ifndef FLOPLEDGER_PIPELINE_EXPORT_CHROME_H
#define FLOPLEDGER_PIPELINE_EXPORT_CHROME_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/input_files.h"

#include <stdint.h>

struct chrome_plan {
    struct attribution_options attribution;
    int64_t rank; /* only this one; -1: all */
    unsigned threads;
};

/* All events of the files as they stand there, and ours behind those of each; of several files,
 * numbers of processes and of flows are moved apart, and times onto one clock. `path`: packed with
 * gzip where it ends in ".gz". Errors: a file that is no trace of torch.profiler, or whose text is
 * needed twice and can't be had twice (standard input). ERROR_PARTIAL where some of it was damaged.
 */
MUST_USE bool export_chrome(const char *path, const struct input_files *files,
                            const struct chrome_plan *plan, struct error *error);

/* `flopledger export perfetto`: all events of all ranks of the files, whatever recorded them, in
 * Perfetto's own format. Packed with gzip where `path` ends in ".gz". */
MUST_USE bool export_perfetto(const char *path, const struct input_files *files,
                              const struct chrome_plan *plan, struct error *error);

#endif
