/* The graph of recorded steps with each task where it was recorded.
 *
 * A replay starts work as soon as the rules of the graph let it, some microseconds before or after
 * the recording. Here each piece of device work starts, and each task of the host ends, when it
 * did: what the rules do not explain becomes a delay of its own. So a path through the tasks is as
 * long as the recording, to the nanosecond. */
#ifndef FLOPLEDGER_CRITICAL_PATH_PINNED_STEPS_H
#define FLOPLEDGER_CRITICAL_PATH_PINNED_STEPS_H

#include "critical_path/task_path.h"
#include "replay/trace_graph.h"

#include <stdint.h>

struct pinned_steps {
    const struct trace_graph *graph; /* not owned; finished, not circular */
    int64_t *durations_ns;           /* all [tasks] */
    int64_t *delays_ns; /* negative where clocks let a task start before what it waited for ended */
    int64_t *ends_ns;   /* from graph->start_ns */
};

/* `pinned` must be zeroed. */
void pin_steps(struct pinned_steps *pinned, const struct trace_graph *graph);

struct timed_tasks pinned_tasks(const struct pinned_steps *pinned);

void pinned_steps_clear(struct pinned_steps *pinned);

#endif
