/* The critical path through the recorded steps: the one chain of work and waits that decided when
 * they ended, each nanosecond of it booked to one link.
 *
 * It ends when the last step and all its work have ended, and goes back from each piece to the
 * latest of what that waited for. What of it lies in a step adds up to that step. */
#ifndef FLOPLEDGER_CRITICAL_PATH_STEPS_PATH_H
#define FLOPLEDGER_CRITICAL_PATH_STEPS_PATH_H

#include "base/core/hash_map.h"
#include "critical_path/path_kind.h"
#include "critical_path/pinned_steps.h"
#include "replay/trace_graph.h"

#include <stddef.h>
#include <stdint.h>

/* A piece of the path, on the trace's own clock. */
struct path_link {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t track; /* the stream or thread; of a launch's latency the stream; NO_EVENT: between
                       threads */
    uint32_t event; /* in trace->device: the work, or what waits for its start; NO_EVENT: none */
    uint8_t kind;   /* enum path_kind; of a thread that did several things, what took longest */
};

/* All links of one kind, name and track, inside the steps. */
struct path_sum {
    int64_t total_ns;
    int64_t count;
    uint32_t name; /* in trace.strings; 0: the kind says all */
    uint32_t track;
    uint8_t kind;
};

struct steps_path {
    const struct trace_graph *graph; /* not owned */
    struct pinned_steps pinned;
    int64_t *slacks_ns;                   /* [tasks]: how much longer each could take */
    struct task_path pieces;              /* its links: in order of time, without gaps */
    int64_t (*kinds_ns)[PATH_KIND_COUNT]; /* [step_count]: each sums to the length of the step */
    struct path_sum *sums;                /* [sum_count] */
    size_t sum_count;
    struct hash_map sum_of; /* (name, track) and kind to the place in `sums` */
};

/* `path` must be zeroed; the graph, its trace and its ledger must outlive it. The graph must not be
 * circular. */
void find_steps_path(struct steps_path *path, const struct trace_graph *graph);

/* pieces.pieces[index]. */
struct path_link steps_path_link(const struct steps_path *path, size_t index);

/* The sum that links of trace->device[event] are in; NO_VALUE: none of its name, stream and kind is
 * on the path. */
uint32_t steps_path_sum_of_event(const struct steps_path *path, uint32_t event);

/* How much of range_ns[0] to range_ns[1] lies inside the steps. `*last`: 0 at first, then where the
 * last question was answered, so that questions in order of time are cheap. */
int64_t time_in_steps_ns(const struct ledger *ledger, const int64_t range_ns[2], uint32_t *last);

void steps_path_clear(struct steps_path *path);

#endif
