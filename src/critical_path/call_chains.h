/* What each communication kernel of a rank came after: the chain of work and waits from the end of
 * an earlier one, or from the start of the steps, to its start. So the critical path of all ranks
 * can be followed from call to call once the traces are gone. */
#ifndef FLOPLEDGER_CRITICAL_PATH_CALL_CHAINS_H
#define FLOPLEDGER_CRITICAL_PATH_CALL_CHAINS_H

#include "ledger/chain_part.h"
#include "replay/trace_graph.h"

#include <stddef.h>
#include <stdint.h>

struct call_chain {
    int32_t call; /* whose end it begins at, of the communication kernels of the device by start;
                     CHAIN_FROM_START, CHAIN_NOT_KNOWN */
    int64_t parts_ns[CHAIN_PART_COUNT]; /* sum to the time from there to the start of this call */
};

struct call_chains {
    struct call_chain *chains; /* [call_count + 1]: the last is that of the end of all work */
    size_t call_count;
    int64_t start_ns; /* of the chain that comes after none, on the trace's own clock */
    int64_t end_ns;
};

/* `chains` must be zeroed; the graph must not be circular. */
void find_call_chains(struct call_chains *chains, const struct trace_graph *graph);

void call_chains_clear(struct call_chains *chains);

#endif
