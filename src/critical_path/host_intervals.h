/* What a host thread was in during certain stretches of time, event by event: the time of each
 * moment belongs to one recorded event, or to none. */
#ifndef FLOPLEDGER_CRITICAL_PATH_HOST_INTERVALS_H
#define FLOPLEDGER_CRITICAL_PATH_HOST_INTERVALS_H

#include "critical_path/task_path.h"
#include "ledger/host_activity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stretches of one thread, in order of time; they do not overlap. */
struct host_intervals {
    const struct path_piece *pieces;
    const uint32_t *chosen; /* [count]: indices in `pieces` */
    size_t count;
    int64_t base_ns; /* what times of pieces count from */
    uint32_t track;
};

/* A part of pieces[piece]. Its class is the first of those open (enum host_class is in that order);
 * `event` is the innermost open event of that class, in trace->host, NO_EVENT where none is. */
struct host_part {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t piece;
    uint32_t event;
    enum host_class class;
    bool is_first; /* of that event, or of where none is */
};

struct host_part_visitor {
    void (*visit)(void *context, const struct host_part *part);
    void *context;
};

/* Visits the parts of all stretches, those of one after the other; together they cover them. One
 * pass over the events of the thread. */
void split_host_intervals(struct host_activity *activity, const struct host_intervals *intervals,
                          const struct host_part_visitor *visitor);

#endif
