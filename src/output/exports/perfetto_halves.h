/* Begins and ends of a trace's events in the order of their times, such that on each track they
 * nest: where events of a thread or stream do not, they are on tracks beside each other. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_PERFETTO_HALVES_H
#define FLOPLEDGER_OUTPUT_EXPORTS_PERFETTO_HALVES_H

#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

struct packet_half {
    int64_t time_ns;
    const struct event *event; /* of the trace */
    uint32_t lane;
    bool is_end;
    uint64_t order; /* as they were laid out */
};

/* Zeroed is empty. */
struct perfetto_halves {
    struct packet_half *halves; /* [count]: by time; of one lane in the order of nesting */
    size_t count;
    uint32_t *lanes; /* [lane_count]: for each the track of the trace */
    uint32_t lane_count;
};

void find_perfetto_halves(struct perfetto_halves *halves, const struct trace *trace);
void perfetto_halves_clear(struct perfetto_halves *halves);

#endif
