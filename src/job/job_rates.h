/* Rates that a log tells of a job's steps: FLOP/s of a device, MFU, tokens a second. What cannot be
 * is set aside, and never averaged in. */
#ifndef FLOPLEDGER_JOB_JOB_RATES_H
#define FLOPLEDGER_JOB_JOB_RATES_H

#include "job/job_accounts.h"
#include "trace/job/job.h"

#include <stddef.h>
#include <stdint.h>

/* What no device can exceed, in FLOP/s; 0: not known. */
struct job_rate_limits {
    double peak;         /* of the job's own devices */
    double highest_peak; /* of any device there is */
};

enum job_rate_fault {
    RATE_ABOVE_PEAK, /* of the job's devices */
    RATE_ABOVE_ANY,  /* device's peak */
    RATE_MFU_ABOVE_ONE,
    RATE_OUT_OF_LINE, /* several times the median of the job */
    RATE_FAULT_COUNT
};

/* A rate is out of line above so many times the median, where at least so many entries tell one. */
enum { RATE_TIMES_MEDIAN = 3, RATE_ENTRIES_MIN = 5 };

struct job_rate_example {
    int64_t count; /* of entries with this fault */
    int64_t step;  /* of the first one */
    double flops_per_second;
    double mfu;
};

struct job_rates {
    double flops_per_second; /* of one device, over the kept steps; NAN: not told, as all below */
    double mfu;
    double tokens_per_second; /* of one device */
    double tokens_per_second_of_job;
    double median_flops_per_second;
    int64_t credible; /* entries with a rate that can be */
    struct job_rate_example faults[RATE_FAULT_COUNT];
};

/* Sets is_incredible of the job's steps, and fills the faults. */
void job_check_rates(struct job_rates *rates, struct job *job,
                     const struct job_rate_limits *limits);

/* After that: the means over kept steps, weighted by time where that is known, else by number. */
void job_rates_fill(struct job_rates *rates, const struct job *job,
                    const struct job_accounts *accounts);

#endif
