/* The lanes of a timeline and what lies in them: accounts, streams, modules, threads. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_LANES_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_LANES_H

#include "cost/modules/module_costs.h"
#include "ledger/account_pieces.h"
#include "ledger/host_activity.h"
#include "ledger/step_ledger.h"
#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/timeline/timeline_plan.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

/* A lane and where its pieces come from. */
struct lane_source {
    enum timeline_lane_kind kind;
    uint32_t track; /* NO_EVENT: the ledger */
    uint32_t row_count;
    int64_t hidden_count;
};

struct timeline_lanes {
    const struct trace *trace;
    const struct ledger *ledger;
    const struct module_costs *costs;
    struct lane_source *lanes; /* [count], in the order they are drawn */
    size_t count;
    uint32_t *lane_of_track; /* [track_count]: of a stream, or of a thread's operators; NO_EVENT */
    uint8_t *depths;         /* [host_count]: events of the same kind of lane around it */
    uint8_t *device_rows;    /* [device_count] */
    struct account_pieces accounts;
    struct host_activity activity;
    int64_t left_out_tracks;
    int64_t left_out_events;
};

/* The three are set, the rest is zeroed. */
void timeline_lanes_find(struct timeline_lanes *lanes);

/* Gives the pieces of all lanes to `sink`: lane by lane, those of a row by their starts. */
void timeline_lanes_walk(struct timeline_lanes *lanes, const struct piece_sink *sink);

/* "stream 7 of device 0", "thread 1234" */
const char *timeline_lane_title(struct results *results, const struct timeline_lanes *lanes,
                                const struct lane_source *lane);

void timeline_lanes_clear(struct timeline_lanes *lanes);

/* All classes that a piece may have, [*count]. */
const struct timeline_class *timeline_classes(struct results *results, size_t *count);

#endif
