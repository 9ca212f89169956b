/* Rates of a job: what a log tells of its steps (FLOP/s of a device, MFU, tokens a second), where
 * what cannot be is set aside and never averaged in; what interruptions cost it; and what share of
 * its time could be expected to be useful with its own rate of failures, restarts and checkpoints.
 */
#ifndef FLOPLEDGER_JOB_JOB_RATES_H
#define FLOPLEDGER_JOB_JOB_RATES_H

#include "job/job_accounts.h"
#include "trace/job/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the same unit of time, or its inverse. */
struct ettr_model {
    double failures;   /* of the whole job per unit of time: number of nodes times r_f */
    double restart;    /* u0: from the last step before a failure to the first one after, but for
                          the steps that are made again */
    double checkpoint; /* w: for which training stands still for one */
    double interval;   /* between checkpoints */
};

/* E[ETTR] = (1 - failures * (restart + interval / 2)) / (1 + checkpoint / interval), of Meta's
 * "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (arXiv 2410.21680).
 * First order: holds where failures * (restart + interval / 2) is far below 1; 0 where it is 1 or
 * more. */
double expected_ettr(const struct ettr_model *model);

/* The interval at which it is highest: sqrt(2 * checkpoint / failures). */
double best_checkpoint_interval(const struct ettr_model *model);

struct job_failures {
    int64_t interruptions;   /* attempts that failed or were stopped */
    int64_t restarts;        /* attempts that follow one of these, with a step made */
    int64_t alive_ns;        /* of all attempts */
    int64_t restart_ns;      /* mean of the restarts: hang, down and startup; 0 without one */
    int64_t checkpoints;     /* that training stood still for, with a length told */
    int64_t checkpoint_ns;   /* mean of these */
    int64_t interval_ns;     /* mean time of steps between checkpoints; 0: none made */
    struct ettr_model model; /* in seconds, of the above */
    bool is_rate_known;      /* all times are told, and there was an interruption */
    bool is_model_known;     /* so are the others */
    bool is_beyond_model;    /* but the formula does not hold: restarts and lost work are as long as
                                the time between interruptions */
};

void job_failures_fill(struct job_failures *failures, const struct job *job,
                       const struct job_accounts *accounts);

/* What it cost that the attempt came after one that was interrupted: hang, down, startup, and the
 * steps of all attempts that were discarded for it. */
struct restart_loss {
    int64_t hang_ns;
    int64_t down_ns;
    int64_t startup_ns;
    int64_t discarded_ns;
};

struct restart_loss job_restart_loss(const struct job_accounts *accounts, size_t attempt);

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
