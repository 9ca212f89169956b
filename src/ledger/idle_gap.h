/* Why a device was idle: each gap split by cause. */
#ifndef FLOPLEDGER_LEDGER_IDLE_GAP_H
#define FLOPLEDGER_LEDGER_IDLE_GAP_H

#include "ledger/host_activity.h"
#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdint.h>

/* The device's work in the order of its starts, and what launched it. */
struct device_work {
    const struct trace *trace;
    uint32_t *events; /* [count], indices in trace->device */
    uint32_t count;
    uint8_t *is_in_graph;          /* of `events`: a node of a graph launch that is not its first */
    uint32_t main_thread;          /* the thread that launches most of it, or NO_EVENT */
    uint32_t found;                /* index in `events` of the work that ended the gap before */
    struct account_pieces *pieces; /* where the parts of gaps go, too; NULL: nowhere */
};

/* `device` -1 gives no work at all. */
void device_work_init(struct device_work *work, const struct trace *trace, int32_t device);
void device_work_clear(struct device_work *work);

/* The host thread with the most events, or NO_EVENT: it explains the gaps of a trace without
 * devices, where no step names another. */
uint32_t busiest_thread(const struct trace *trace);

/* When the work was launched that ends the gap: before gap->start_ns where it waited on the device,
 * gap->end_ns where no launch is known. Fills in `gap` but for host_event; of a gap that waited for
 * the host main_account is that of the launch's latency. `step_track`: of the step, or NO_EVENT. */
int64_t find_gap_launch(struct idle_gap *gap, struct device_work *work, uint32_t step_track);

/* Splits the idle stretch gap->start_ns ... gap->end_ns of `step` by cause: adds to
 * step->account_ns and its facts, and fills in the rest of `gap` but host_event. */
void attribute_idle_gap(struct step_ledger *step, struct idle_gap *gap, struct device_work *work,
                        struct host_activity *activity);

/* The account that idle time of `class` belongs to. */
enum account account_of_host_class(enum host_class class);

#endif
