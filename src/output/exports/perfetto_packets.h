/* A trace as packets of Perfetto: all that was recorded, in the words of torch.profiler, and the
 * ledger as tracks of a process of its own. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_PERFETTO_PACKETS_H
#define FLOPLEDGER_OUTPUT_EXPORTS_PERFETTO_PACKETS_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdint.h>
#include <stdio.h>

/* Where the packets of a trace go in a file that may hold several. */
struct perfetto_place {
    uint32_t index;     /* of the trace in the file */
    const char *prefix; /* of names of processes: "rank 3: ", or "" */
};

/* Write errors show in ferror(output). */
void perfetto_write_trace(FILE *output, const struct trace *trace, const struct ledger *ledger,
                          const struct perfetto_place *place);

#endif
