/* Runtime calls that take long because something of the device is used for the first time: its
 * context, a library's handle, the module that holds a kernel. They are paid once, not each step.
 */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_FIRST_USE_H
#define FLOPLEDGER_SECTIONS_ADVICE_FIRST_USE_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct host_calls;

/* Zeroed is empty. */
struct first_uses {
    uint32_t *events; /* [count]: indices in trace->host, ascending */
    uint32_t count;
};

/* Of the calls in `calls` that take `slow_ns` or more: see first_use.c for which of them. */
void find_first_uses(struct first_uses *uses, const struct trace *trace,
                     const struct ledger *ledger, const struct host_calls *calls, int64_t slow_ns);
void first_uses_clear(struct first_uses *uses);

bool is_first_use(const struct first_uses *uses, uint32_t event);

#endif
