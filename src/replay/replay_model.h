/* What changes would bring: the steps of a trace replayed with them, unless the replay without any
 * is too far from the recording to tell. */
#ifndef FLOPLEDGER_REPLAY_REPLAY_MODEL_H
#define FLOPLEDGER_REPLAY_REPLAY_MODEL_H

#include "base/core/attributes.h"
#include "ledger/step_ledger.h"
#include "replay/scenario.h"
#include "replay/trace_graph.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    REPLAYED_WORK_MAX = 100000,  /* kernels, copies and memsets; the graph has about 600 bytes each
                                  */
    REPLAYED_STEP_MAX = 1000000, /* a single step with more than that is not replayed */
};

struct replayed_part {
    struct ledger ledger; /* of these steps: borrows the whole ledger's arrays, not to be cleared */
    uint32_t first;       /* the first of them, in the whole ledger */
    bool is_all;          /* and may be replayed */
    bool is_too_large;    /* one step alone is more than REPLAYED_STEP_MAX */
};

/* Consecutive steps around the typical one that hold about `work_max` pieces of work on average, at
 * least one step; all of them where that is enough. The ledger must have a step. */
struct replayed_part choose_replayed_part(const struct trace *trace, const struct ledger *ledger,
                                          uint32_t work_max);

/* A replay that is further from the recording tells nothing. */
#define REPLAY_ERROR_MAX 0.02

struct replay_model {
    const struct ledger *ledger; /* of all steps; not owned */
    struct replayed_part part;   /* the steps in the graph */
    struct trace_graph graph;    /* empty where the part is too large */
    struct trace_replay unchanged;
    double length_error; /* of the replay without a change, as a share of what was recorded */
    double start_error;  /* mean error of the device's starts, as a share of a step */
    bool is_refused;     /* one of the two is above REPLAY_ERROR_MAX, tasks wait in a circle, or
                            the part is too large */
};

struct replay_estimate {
    int64_t step_ns;      /* mean */
    double speedup;       /* how many times as fast; 0: nothing is left of the step */
    bool is_range;        /* the trace alone does not tell, and step and speedup are what is had at
                             least: the data loader's work moves to other processes */
    double least_speedup; /* = speedup */
    double most_speedup;  /* of a range; else speedup */
};

/* `simulation` must be zeroed, and stay where it is; trace and ledger must outlive it. The ledger
 * must have a step, and device work. */
void replay_model_begin(struct replay_model *simulation, const struct recorded_steps *steps);

/* False where the study is refused, and where the change is about the other ranks ("waiting"). */
MUST_USE bool replay_model_try(const struct replay_model *simulation,
                               const struct scenario *scenario, struct replay_estimate *estimate);

void replay_model_clear(struct replay_model *simulation);

#endif
