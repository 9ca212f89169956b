/* Work of the device that the recording lacks: idle time next to it is not the program's. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_MISSING_WORK_H
#define FLOPLEDGER_SECTIONS_ADVICE_MISSING_WORK_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* What is lacking. The first that holds is told. */
enum missing_kind {
    MISSING_NOTHING,
    MISSING_DEVICE,     /* nothing of the device is recorded, though the program uses one */
    MISSING_EVENTS,     /* most events are left out: the operators' numbers have holes */
    MISSING_COLLECTIVE, /* collectives are called whose kernels are not there */
    MISSING_EARLIER,    /* work launched before the recording still ran when it began */
};

struct missing_work {
    enum missing_kind kind;
    int64_t launches;       /* MISSING_DEVICE: calls that put work on it */
    int64_t unread_tasks;   /* MISSING_DEVICE: its tasks are in the trace, in a form not read */
    int64_t kept, ids;      /* MISSING_EVENTS: operators in the file, and numbers in their range */
    const char *collective; /* MISSING_COLLECTIVE: a name of one, as written */
    int64_t earlier_range_ns[2]; /* MISSING_EARLIER: idle time before the first recorded work of a
                                    stream, that was launched in time; else empty */
};

/* Tasks of a device that are in the trace and not read: Ascend's trace_view.json has its device as
 * a process of that name, whose threads are streams, and no category says so. *stream is the name
 * of the first stream that has one; unchanged where there is none. */
int64_t count_unread_tasks(const struct trace *trace, const char **stream);

/* `late_ns`: work that starts so long after its launch was held up. */
struct missing_work find_missing_work(const struct trace *trace, const struct ledger *ledger,
                                      int64_t late_ns);

#endif
