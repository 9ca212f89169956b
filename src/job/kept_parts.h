/* What the devices did in the kept steps of a job: the parts of the steps that a profiler recorded
 * in full, scaled to all the others. The rules are those of docs/metrics/kept-steps.md.
 *
 * What a part is, is the caller's business: its index is all that counts here. */
#ifndef FLOPLEDGER_JOB_KEPT_PARTS_H
#define FLOPLEDGER_JOB_KEPT_PARTS_H

#include "job/job_accounts.h"
#include "trace/job/job.h"

#include <stddef.h>
#include <stdint.h>

enum {
    KEPT_PARTS_MAX = 32,
    KEPT_FIXED_MAX = 4,
    KEPT_MEDIAN_STEPS = 10,   /* on either side of a step: those it is compared with */
    KEPT_WARM_UP_STEPS = 3,   /* of an attempt: no measure for the others */
    KEPT_ALIKE_PER_CENT = 10, /* steps that differ by no more are alike */
};

/* A step as one rank's window has it. */
struct traced_step {
    size_t attempt;                   /* index in job->attempts */
    int64_t number;                   /* as the process counts: process_step of the job's steps */
    int64_t part_ns[KEPT_PARTS_MAX];  /* add up to the window's length */
    int64_t fixed_ns[KEPT_FIXED_MAX]; /* what it has however long it takes: FLOPs at the peak */
};

struct traced_steps {
    const struct traced_step *steps; /* [count] */
    size_t count;
    size_t part_count;
    size_t fixed_count;
    size_t data_part;    /* the device waits for data: its time is known of every step */
    uint32_t host_parts; /* bits: what grows where the host is slower, as under a profiler. 0: all
                          */
};

/* A length of time in the life of the job, and that times the devices that the job had then. */
struct kept_amount {
    int64_t ns;
    double device_seconds; /* 0 where devices are not known */
};

/* Of the kept steps. parts + dilation + slow + not_known = kept, to the nanosecond. */
struct kept_parts {
    struct kept_amount kept; /* the account JOB_KEPT of the job */
    struct kept_amount parts[KEPT_PARTS_MAX];
    struct kept_amount dilation;  /* what traced steps took because they were traced */
    struct kept_amount slow;      /* of slow steps that were not traced: beyond the median */
    struct kept_amount not_known; /* of attempts that nothing was traced of, and no other like
                                     them; of logs */
    struct kept_amount fixed[KEPT_FIXED_MAX];
    int64_t steps;             /* kept */
    int64_t known_steps;       /* of them, those that the parts are of */
    int64_t traced_steps;      /* of them, those that were traced */
    int64_t slow_steps;        /* of those that were not */
    int64_t traced_ns;         /* what the traced ones took, dilation included */
    int64_t window_count;      /* traced steps of single ranks that were given, and fit */
    int64_t borrowed_attempts; /* that nothing was traced of: others of as many devices stand for
                                  them */
    /* Of all steps of attempts with windows, without data wait. 0: nothing to compare. */
    int64_t compared_steps; /* traced steps that have others around them */
    int64_t compared_ns;    /* what they took */
    int64_t reference_ns;   /* what the medians around them come to */
    int64_t other_steps;    /* kept, not traced, in attempts whose windows are compared */
    int64_t alike_steps;    /* of those: as long as the traced ones without dilation */
    int64_t traced_tokens;  /* per step, mean; 0: not known */
    int64_t other_tokens;
};

/* `accounts` are those of `job`. Ends the program when memory is out. */
void kept_parts_fill(struct kept_parts *kept, const struct job *job,
                     const struct job_accounts *accounts, const struct traced_steps *traced);

#endif
