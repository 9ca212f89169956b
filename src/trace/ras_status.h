/* What NCCL's RAS says of the communicators of a job, and the step records of its ranks: one look
 * at a job that runs. */
#ifndef FLOPLEDGER_TRACE_RAS_STATUS_H
#define FLOPLEDGER_TRACE_RAS_STATUS_H

#include "base/core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAS_OPERATIONS_MAX = 16 };

enum ras_rank_state {
    RAS_RANK_RUNS,
    RAS_RANK_STARTS, /* its communicator is being made */
    RAS_RANK_ENDS,   /* it has begun to destroy it */
    RAS_RANK_ABORTS,
    RAS_RANK_FAILED, /* `error` says of what */
    RAS_RANK_LEFT,   /* its process answers, and has no such communicator */
    RAS_RANK_SILENT, /* its process does not answer */
    RAS_RANK_DEAD,   /* and has not for a minute */
};

struct ras_rank {
    int64_t rank; /* in its communicator; -1: not told */
    int64_t pid;  /* likewise */
    int64_t gpu;
    const char *host; /* "": not told */
    enum ras_rank_state state;
    int64_t error;                     /* of RAS_RANK_FAILED: ncclResult_t; 0: not told */
    int64_t calls[RAS_OPERATIONS_MAX]; /* of each operation; -1: not told */
};

/* The most calls of an operation by any rank, and how many ranks have made fewer. */
struct ras_operation {
    int64_t most;         /* -1: not told */
    int64_t behind_count; /* ranks */
};

struct ras_communicator {
    const char *name;       /* its hash: "0x1a2b" */
    int64_t size;           /* ranks; -1: not told */
    struct ras_rank *ranks; /* [rank_count]: all of them, or those that the text names */
    size_t rank_count;
    struct ras_operation operations[RAS_OPERATIONS_MAX];
};

/* Zeroed is empty; all lives in the arena that it was read into. */
struct ras_status {
    const char *nccl_version;                   /* "": not told */
    const char *operations[RAS_OPERATIONS_MAX]; /* names: "AllReduce" */
    size_t operation_count;
    struct ras_communicator *communicators; /* [communicator_count] */
    size_t communicator_count;
    int64_t silent_processes; /* that nothing more is told of; of the text alone */
    int64_t dead_processes;
    bool names_all_ranks; /* the answer was JSON */
};

/* A rank by its step record. */
struct live_rank {
    int64_t rank;
    int64_t pid;
    int64_t step;     /* the last that ended; 0: none */
    int64_t since_ns; /* how long ago; -1: not known, on another machine */
    int64_t usual_ns; /* the median of its newest steps; 0: not known */
    bool lives;
    const char *stacks; /* of its threads in Python, as faulthandler prints them; NULL: not known */
    const char *no_stacks; /* why not; NULL: not looked at */
};

/* A rank that ends no step for so many of its usual steps, and 5 s, is not only slow. */
enum { STALE_STEPS = 10 };
static inline bool live_rank_is_stale(const struct live_rank *rank)
{
    return rank->lives && rank->since_ns > INT64_C(5000000000) &&
           rank->since_ns > STALE_STEPS * rank->usual_ns;
}

/* Two looks at one job. */
struct live_job {
    const char *capture;             /* NULL: there are no step records */
    const struct ras_status *before; /* NULL: RAS did not answer */
    const struct ras_status *now;
    const char *ras_problem; /* why not; NULL */
    double apart_s;          /* between the looks */
    struct live_rank *ranks; /* [rank_count] */
    size_t rank_count;
};

#endif
