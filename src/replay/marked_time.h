/* When host threads were inside events of a kind: for asking how much of a stretch was. */
#ifndef FLOPLEDGER_REPLAY_MARKED_TIME_H
#define FLOPLEDGER_REPLAY_MARKED_TIME_H

#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

struct marked_interval {
    uint32_t track;
    int64_t start_ns;
    int64_t end_ns;
};

/* Sorted by track, then start; those of a track do not overlap. */
struct marked_time {
    struct marked_interval *intervals; /* [count] */
    size_t count;
};

/* `is_marked`: of trace->host; NULL: none. `time` must be zeroed. */
void find_marked_time(struct marked_time *time, const struct trace *trace,
                      const uint8_t *is_marked);

/* How much of range_ns[0] to range_ns[1] the thread was inside. */
int64_t marked_ns(const struct marked_time *time, uint32_t track, const int64_t range_ns[2]);

void marked_time_clear(struct marked_time *time);

#endif
