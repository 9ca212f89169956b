/* Where the course of the host threads that drive a device is cut: at the calls that launch work or
 * wait for it, and where one thread hands over to another. */
#ifndef FLOPLEDGER_REPLAY_HOST_CUTS_H
#define FLOPLEDGER_REPLAY_HOST_CUTS_H

#include "ledger/host_activity.h"
#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

enum cut_kind {
    CUT_LAUNCH,     /* a call that put work on the device */
    CUT_SYNC,       /* a call that waits for the device */
    CUT_HANDS_OVER, /* a moment: from here on another thread goes on */
    CUT_TAKES_OVER, /* a moment: goes on after `partner` */
    CUT_END,        /* a moment: the end of the last step */
};

struct host_cut {
    int64_t start_ns;
    int64_t end_ns;
    int64_t idle_since_ns; /* TAKES_OVER: when the thread fell silent */
    uint32_t track;
    uint32_t host_event; /* index in trace->host, NO_EVENT for moments */
    uint32_t partner;    /* TAKES_OVER: index of the HANDS_OVER */
    uint8_t kind;        /* enum cut_kind */
};

/* Sorted by track, then start. */
struct host_cuts {
    struct host_cut *cuts; /* [count] */
    size_t count;
};

/* The cuts from range_ns[0] to range_ns[1]. `is_chosen`: of the trace's device events, whose
 * launches count. `cuts` must be zeroed. */
void find_host_cuts(struct host_cuts *cuts, const struct ledger *ledger,
                    struct host_activity *activity, const int64_t range_ns[2],
                    const uint8_t *is_chosen);

void host_cuts_clear(struct host_cuts *cuts);

#endif
